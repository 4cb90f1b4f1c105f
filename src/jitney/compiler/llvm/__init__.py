"""LLVM: values and instructions as text, targets, and from text to machine code."""
