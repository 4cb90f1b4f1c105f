"""`jax.scipy.cluster.vq`: vector quantization."""

from __future__ import annotations

from jitney import numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import check_arraylike, promote_dtypes_inexact
from jitney.primitives.elementwise.convert import as_value

__dir__ = listing(__name__)


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Finds the code nearest to each observation, and their distance.

    Args:
      obs: observations [m, n], or [m].
      code_book: codes [k, n], or [k].
      check_finite: accepted for compatibility; no effect.

    Returns: (indices of the codes, Euclidean distances), arrays [m].

    Raises:
      ValueError: if the ranks differ, or are neither 1 nor 2.

    Example:
      >>> jax.scipy.cluster.vq.vq(jnp.array([1.0, 4.0]), jnp.array([0.0, 5.0]))
      (Array([0, 1], dtype=int32), Array([1., 1.], dtype=float32))
    """
    del check_finite
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    x, codes = (as_value(v) for v in promote_dtypes_inexact(obs, code_book))
    if x.ndim != codes.ndim:
        raise ValueError(
            f"vq: `obs` and `code_book` must have the same rank, but they have shapes {x.shape} "
            f"and {codes.shape}"
        )
    if x.ndim not in (1, 2):
        raise ValueError(
            f"vq: observations are scalars or vectors, so `obs` must be of rank 1 or 2, not {x.ndim}"
        )
    return _vq(x, codes)


@jit_when_traced
def _vq(x: Array, codes: Array) -> tuple[Array, Array]:
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    distances = jnp.linalg.norm(x[:, None] - codes[None], axis=-1)
    return jnp.argmin(distances, axis=-1), jnp.min(distances, axis=-1)
