"""Objects that are private in JAX and used by packages, but not needed by jitney itself."""
