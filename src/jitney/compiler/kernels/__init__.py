"""The kernel IR, loop nests with scalar bodies, and its construction and optimization."""
