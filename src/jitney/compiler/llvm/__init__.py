"""LLVM: values and instructions as text, targets, and the compilation of text to machine code."""
