"""Plans: programs as kernels and library calls on buffers, with native loops and branches."""
