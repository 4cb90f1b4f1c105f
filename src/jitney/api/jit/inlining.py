"""`Inline`: when the body of a jitted function is inlined into a traced caller."""

from __future__ import annotations

import enum


class Inline(enum.Enum):
    """The stage at which the program of a jitted function is inlined into its caller.

    `JAX_EARLY` leaves no `jit` equation in the caller's jaxpr. All other members leave one; since
    compiled programs contain no calls, they all have the same effect here. `jit(inline=True)`
    stands for JAX_LATE, and False for AUTO.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def at_tracing(inline: object) -> bool:
    """Returns whether `jit(inline=inline)` inlines calls during tracing, without a `jit` equation.

    Raises:
      ValueError: if `inline` is neither a boolean nor an `Inline`.
    """
    if not isinstance(inline, bool | Inline):
        raise ValueError(f"jit: inline must be a bool or a jax.Inline, but is {inline!r}")
    return inline is Inline.JAX_EARLY
