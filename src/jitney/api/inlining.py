"""`Inline`: when calls of jitted functions within traced functions become part of the caller."""

from __future__ import annotations

import enum


class Inline(enum.Enum):
    """When the program of a jitted function is put into the one that calls it.

    `JAX_EARLY` leaves no `jit` equation in the caller's jaxpr. All others leave one; compiled programs
    have no calls, so they mean the same here. `jit(inline=True)` says JAX_LATE, and False says AUTO.
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def at_tracing(inline: object) -> bool:
    """Returns whether calls leave no equation, as `jit(inline=)` says.

    Raises:
      ValueError: if it is neither a boolean nor an `Inline`.
    """
    if not isinstance(inline, bool | Inline):
        raise ValueError(f"jit: inline must be a bool or a jax.Inline, but is {inline!r}")
    return inline is Inline.JAX_EARLY
