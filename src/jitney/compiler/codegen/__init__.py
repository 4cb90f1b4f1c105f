"""Code generation: kernels and plans to LLVM, and LLVM to machine code."""
