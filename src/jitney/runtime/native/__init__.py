"""The native core: storage and operators of arrays, calls of compiled functions, threads."""
