"""The native core: arrays' storage and operators, calls of compiled functions, threads."""
