"""Kernels and plans as LLVM code, and LLVM as machine code."""
