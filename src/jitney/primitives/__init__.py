"""Primitives with all of their rules, and the `jax.lax` functions; one module per family."""

# These modules declare the slots of rules, so they must be imported before the primitives.
from jitney.compiler import lower as lower
from jitney.transforms import (
    batch as batch,
    jet as jet,
    jvp as jvp,
    partial as partial,
    transpose as transpose,
)
