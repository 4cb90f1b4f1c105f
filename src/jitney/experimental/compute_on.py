"""`jax.experimental.compute_on`: where operations are to be computed. Here that is the host, always."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.core import eqn_notes
from jitney.core.lazy import listing
from jitney.core.pytree import pytrees
from jitney.core.wraps import wraps
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

_TYPES = re.compile(r"device_host|device|tpu_sparsecore|gpu_stream:\d+")


def compute_on(compute_type: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, or the decorated function, operations are noted to be computed there.

    Values do not depend on it: all is computed on the CPU. Equations say it, `eqn.ctx.compute_type`.

    Args:
      compute_type: "device_host", "device", "tpu_sparsecore", or "gpu_stream:" and a number.

    Raises:
      TypeError: if it is no string.
      ValueError: if there is no such place.

    Example:
      >>> from jax.experimental.compute_on import compute_on
      >>> @jax.jit
      ... def f(x):
      ...     with compute_on("device_host"):
      ...         return x + 1
      >>> f(1.0)
      Array(2., dtype=float32, weak_type=True)
    """
    return eqn_notes.noting(compute_type=_checked(compute_type))


def compute_on2(
    f: Callable[..., PyTree] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: PyTree,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """`f`, whose operations are noted to be computed on `compute_type`.

    Args:
      f: takes and returns pytrees of arrays. Left out, a decorator is returned.
      compute_type: as for `compute_on`.
      out_memory_spaces: where results lie; all kinds of memory are the host's.
      compiler_options: of XLA; they mean nothing here.

    Raises:
      TypeError, ValueError: as `compute_on`.
    """
    if f is None:
        return functools.partial(
            compute_on2, compute_type=compute_type, out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )  # fmt: skip
    _checked(compute_type)

    @wraps(f)
    def computed(*args: PyTree, **kwargs: PyTree) -> PyTree:
        args, kwargs = pytrees.tree_map(as_value, (args, kwargs))
        with compute_on(compute_type):
            return f(*args, **kwargs)

    return computed


def _checked(compute_type: str) -> str:
    if not isinstance(compute_type, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's
        raise TypeError(f"compute_on: `compute_type` must be a string, but is {compute_type!r}")
    if not _TYPES.fullmatch(compute_type):
        raise ValueError(
            f"Invalid compute type {compute_type}. Current supported values are `device_host`, "
            "`device`, `tpu_sparsecore`, and `gpu_stream:#`"
        )
    return compute_type


__all__ = ["compute_on", "compute_on2"]

__dir__ = listing(__name__)
