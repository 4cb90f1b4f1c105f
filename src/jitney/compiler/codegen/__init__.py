"""Code generation: from kernels and plans to LLVM IR, and from LLVM IR to machine code."""
