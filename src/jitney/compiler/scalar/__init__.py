"""Scalar functions as LLVM code: jitney's own vector math library."""
