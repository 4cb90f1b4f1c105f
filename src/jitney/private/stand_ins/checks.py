"""`jax._src.public_test_util`: comparisons for the tests of packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from jitney import test_util
from jitney.core.pytree import pytrees
from jitney.core.types import dtypes

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

_TOLERANCES = {
    np.dtype(ml_dtypes.bfloat16): 1e-2,
    np.dtype(np.float16): 1e-3,
    np.dtype(np.float32): 1e-6,
    np.dtype(np.float64): 1e-15,
    np.dtype(np.complex64): 1e-6,
    np.dtype(np.complex128): 1e-15,
}


def default_tolerance() -> dict[np.dtype, float]:
    """Returns a dict of default tolerances by dtype; values of other dtypes must be equal."""
    return dict(_TOLERANCES)


def tolerance(dtype: Any, tol: float | Mapping[Any, float] | None = None) -> float:
    """Returns the tolerance for a dtype: `tol`, its entry for the dtype, or the default."""
    if tol is not None and not isinstance(tol, Mapping):
        return tol
    given = {np.dtype(kind): value for kind, value in (tol or {}).items()}
    return (_TOLERANCES | given).get(np.dtype(dtype), 0.0)


def check_close(
    xs: PyTree,
    ys: PyTree,
    atol: float | Mapping[Any, float] | None = None,
    rtol: float | Mapping[Any, float] | None = None,
    err_msg: str = "",
) -> None:
    """Asserts that two pytrees have the same structure, and equal leaves up to a tolerance.

    Args:
      xs, ys: pytrees of arrays.
      atol, rtol: absolute and relative tolerance: a number, or a mapping from dtypes; None for the
        default. If the dtypes of two leaves differ, the larger tolerance is used.
      err_msg: prefix of the error message.

    Raises:
      AssertionError: if the pytrees differ.
    """
    pairs = zip(pytrees.tree_leaves(xs), pytrees.tree_leaves(ys), strict=True)
    assert pytrees.tree_structure(xs) == pytrees.tree_structure(ys), (xs, ys)
    for x, y in pairs:
        kinds = dtypes.dtype(x), dtypes.dtype(y)
        test_util.assert_close(
            err_msg, x, y,
            max(tolerance(kind, atol) for kind in kinds),
            max(tolerance(kind, rtol) for kind in kinds),
        )  # fmt: skip
