"""LLVM: values and instructions as text, targets, and compilation of text to machine code."""
