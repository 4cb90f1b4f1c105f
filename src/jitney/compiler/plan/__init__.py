"""Programs as plans: kernels and library calls on buffers, in order, with native loops and branches."""
