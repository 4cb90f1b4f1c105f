"""`jax.experimental.compute_on`: annotates operations with the unit that is to compute them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from jitney.core.pytree import pytrees
from jitney.core.recording import eqn_notes
from jitney.core.util.lazy import listing, refusing
from jitney.core.util.wraps import wraps
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

R = TypeVar("R")

_NOT_GIVEN = object()
_TYPES = re.compile(r"device_host|device|tpu_sparsecore|gpu_stream:\d+")


@overload
def compute_on(
    f: Callable[..., R],
    *,
    compute_type: str | None = None,
    out_memory_spaces: PyTree = _NOT_GIVEN,
    compiler_options: dict[str, Any] | None = None,
) -> Callable[..., R]: ...


@overload
def compute_on(
    f: None = None,
    *,
    compute_type: str | None = None,
    out_memory_spaces: PyTree = _NOT_GIVEN,
    compiler_options: dict[str, Any] | None = None,
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def compute_on(
    f: Callable[..., PyTree] | None = None,
    *,
    compute_type: str | None = None,
    out_memory_spaces: PyTree = _NOT_GIVEN,
    compiler_options: dict[str, Any] | None = None,
) -> object:
    """Returns `f` with its operations annotated with the unit that is to compute them.

    The annotation does not affect results, as everything is computed on the CPU. Equations carry it
    as `eqn.ctx.compute_type`.

    Args:
      f: a function of pytrees of arrays. If it is omitted, a decorator is returned.
      compute_type: name of the unit: "device_host", "device", "tpu_sparsecore", or "gpu_stream:"
        followed by a number.
      out_memory_spaces: memory spaces of the results. No space other than host memory exists.
      compiler_options: options for XLA, which are ignored.

    Raises:
      TypeError: if `compute_type` is not a string, or `compute_type` or `out_memory_spaces` is
        missing.
      ValueError: if `compute_type` is unknown.

    Example:
      >>> from jax.experimental.compute_on import compute_on
      >>> device = jax.memory.Space.Device
      >>> plus_one = compute_on(lambda x: x + 1, compute_type="device_host", out_memory_spaces=device)
      >>> jax.jit(plus_one)(1.0)
      Array(2., dtype=float32, weak_type=True)
    """
    if compute_type is None or out_memory_spaces is _NOT_GIVEN:
        raise TypeError(
            "compute_on: `compute_type` and `out_memory_spaces` must be passed by keyword. The "
            "context manager and decorator compute_on(place) was removed in JAX 0.11; use "
            "compute_on(f, compute_type=place, out_memory_spaces=jax.memory.Space.Device) instead"
        )
    place = _checked(compute_type)
    if f is None:
        return functools.partial(
            compute_on, compute_type=place, out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )  # fmt: skip
    function = f

    @wraps(function)
    def computed(*args: PyTree, **kwargs: PyTree) -> object:
        args, kwargs = pytrees.tree_map(as_value, (args, kwargs))
        with eqn_notes.noting(compute_type=place):
            return function(*args, **kwargs)

    return computed


def _checked(compute_type: str) -> str:
    if not isinstance(compute_type, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's
        raise TypeError(f"compute_on: `compute_type` must be a string, but got {compute_type!r}")
    if not _TYPES.fullmatch(compute_type):
        raise ValueError(
            "compute_on: `compute_type` must be 'device', 'device_host', 'tpu_sparsecore' or "
            f"'gpu_stream:' followed by a number, but got {compute_type!r}"
        )
    return compute_type


__all__ = ["compute_on"]

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
