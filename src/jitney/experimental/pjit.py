"""`jax.experimental.pjit`: where `jit` with placements of arguments and results was once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.api.jit import jit

if TYPE_CHECKING:
    from jitney.core.typing import PyTree


def pjit(
    fun: Callable[..., PyTree],
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    **options: Any,
) -> Any:
    """`jax.jit`, which takes its placements by name."""
    return jit(fun, in_shardings=in_shardings, out_shardings=out_shardings, **options)
