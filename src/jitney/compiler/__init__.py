"""Compiles jaxprs to machine code; `pipeline` lists the stages."""
