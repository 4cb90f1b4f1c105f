"""The primitives: one family a file, each primitive with all its rules, and the `jax.lax` functions."""

# Modules that look up rules of primitives declare the slots that the modules of this package fill.
from jitney.compiler import lower
from jitney.transforms import batch, jet, jvp, partial, transpose
