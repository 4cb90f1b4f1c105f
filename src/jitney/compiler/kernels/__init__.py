"""The kernel IR: loop nests with scalar bodies."""
