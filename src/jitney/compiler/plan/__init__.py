"""Plans: programs as sequences of kernels and library calls, with buffers, loops and branches."""
