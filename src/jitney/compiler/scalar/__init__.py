"""Scalar functions as LLVM code: the compiler's vector math library."""
