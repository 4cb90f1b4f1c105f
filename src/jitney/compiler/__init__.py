"""From jaxprs to machine code; the stages are listed in `pipeline`."""
