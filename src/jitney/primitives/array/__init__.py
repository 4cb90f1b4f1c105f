"""Shapes, creation and concatenation of arrays, and operations that return their operand."""
