"""Primitives, one family per module, each with all of its rules, and the `jax.lax` functions."""

# These modules look up rules by slot, so they declare the slots before primitives fill them.
from jitney.compiler import lower as lower
from jitney.transforms import (
    batch as batch,
    jet as jet,
    jvp as jvp,
    partial as partial,
    transpose as transpose,
)
