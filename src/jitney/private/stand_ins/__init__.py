"""Objects that are private in JAX, used by packages, and not needed by jitney itself."""
