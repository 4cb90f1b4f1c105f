"""Compilation of programs when they are first called, and loading of the compiler for it."""
