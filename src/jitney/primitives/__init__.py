"""Primitives, one family per module, each with all of its rules, and the `jax.lax` functions."""

# These modules look up rules by slot, so they declare the slots before primitives fill them.
from jitney.compiler import lower
from jitney.transforms import batch, jet, jvp, partial, transpose
