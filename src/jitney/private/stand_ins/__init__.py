"""What is private in JAX, used by packages, and of no use to jitney itself."""
