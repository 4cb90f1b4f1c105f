"""`jax.test_util`: checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from jitney.api.autodiff.autodiff import jvp, vjp
from jitney.core.pytree import pytrees
from jitney.core.types import dtypes
from jitney.core.util.lazy import listing

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, DTypeLike, PyTree

__all__ = ["check_grads", "check_jvp", "check_vjp"]

__dir__ = listing(__name__)

Tolerance: TypeAlias = "float | Mapping[DTypeLike, float] | None"

# Tolerance, and step of the differences, by the item size of the least precise dtype.
_TOLERANCE = {2: 0.1, 4: 2e-3, 8: 1e-5}
_STEP = {2: 2.0**-3, 4: 2.0**-11, 8: 2.0**-13}


def _dtype(x: ArrayLike) -> DTypeLike:
    """Returns the dtype of `x` without canonicalization: 64-bit dtypes stay 64-bit."""
    return getattr(x, "dtype", None) or dtypes.dtype(x)


def _part_size(x: ArrayLike) -> int:
    """Returns the size in bytes of a real or imaginary part of an element."""
    dtype = np.dtype(_dtype(x))
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def _precision(*trees: PyTree) -> int:
    sizes = [_part_size(x) for x in pytrees.tree_leaves(trees) if _is_inexact(x)]
    return min(max(min(sizes, default=4), 2), 8)


def _is_inexact(x: ArrayLike) -> bool:
    return dtypes.issubdtype(_dtype(x), np.inexact)


def _random_like(rng: np.random.Generator, x: ArrayLike) -> np.ndarray:
    """Returns a random tangent of `x`."""
    value = np.asarray(x)
    if not _is_inexact(x):
        return np.zeros(value.shape, dtypes.float0)
    dtype = np.dtype(_dtype(x))
    out = rng.standard_normal(value.shape)
    if dtype.kind == "c":
        out = out + 1j * rng.standard_normal(value.shape)
    return np.asarray(out).astype(dtype)


def _moved(x: ArrayLike, t: np.ndarray, step: float) -> ArrayLike:
    if getattr(t, "dtype", None) == dtypes.float0:
        return x
    value = np.asarray(x)
    return (value + step * t).astype(t.dtype)


def _numerical_jvp(
    f: Callable[..., PyTree], primals: PyTree, tangents: PyTree, eps: float
) -> object:
    ahead = f(*pytrees.tree_map(lambda x, t: _moved(x, t, eps / 2), primals, tangents))
    behind = f(*pytrees.tree_map(lambda x, t: _moved(x, t, -eps / 2), primals, tangents))

    def slope(a: ArrayLike, b: ArrayLike) -> np.ndarray:
        if not _is_inexact(a):
            return np.zeros(np.shape(a), dtypes.float0)
        after, before = _wide(a), _wide(b)
        # A result that stays infinite has derivative zero.
        moved = np.asarray(after != before)
        return np.subtract(after, before, out=np.zeros_like(after), where=moved) / eps

    return pytrees.tree_map(slope, ahead, behind)


def _wide(x: ArrayLike) -> np.ndarray:
    value = np.asarray(x)
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)


def assert_close(what: str, actual: PyTree, expected: PyTree, atol: float, rtol: float) -> None:
    """Asserts that pytrees have equal structures, and leaves that are equal up to a tolerance.

    Leaves of dtype float0 are ignored. The text of the AssertionError begins with `what`.
    """
    a, b = pytrees.tree_structure(actual), pytrees.tree_structure(expected)
    assert a == b, f"{what}: structures differ: {a} and {b}"
    pairs = zip(pytrees.tree_leaves(actual), pytrees.tree_leaves(expected), strict=True)
    for x, y in pairs:
        if getattr(x, "dtype", None) == dtypes.float0 or getattr(y, "dtype", None) == dtypes.float0:
            continue
        np.testing.assert_allclose(_wide(x), _wide(y), atol=atol, rtol=rtol, err_msg=what)


def _inner(xs: PyTree, ys: PyTree) -> complex:
    total: complex = 0.0
    for x, y in zip(pytrees.tree_leaves(xs), pytrees.tree_leaves(ys), strict=True):
        if getattr(x, "dtype", None) == dtypes.float0 or getattr(y, "dtype", None) == dtypes.float0:
            continue
        total = total + np.sum(_wide(x) * _wide(y))
    return total


def _limits(
    args: PyTree, out: PyTree, atol: Tolerance, rtol: Tolerance, eps: float | None
) -> tuple[float, float, float]:
    step = _STEP[_precision(args, out)] if eps is None else eps
    return _limit(args, out, atol), _limit(args, out, rtol), step


def _limit(args: PyTree, out: PyTree, tolerance: Tolerance) -> float:
    """Returns `tolerance`; if it is a table, the largest tolerance for the dtypes of the leaves."""
    if tolerance is None:
        return _TOLERANCE[_precision(args, out)]
    if not isinstance(tolerance, Mapping):
        return tolerance
    table: dict[dtypes.DType, float] = {
        np.dtype(dtype): value for dtype, value in tolerance.items()
    }
    limits = [
        table.get(dtypes.dtype(x), _TOLERANCE[_precision(x)])
        for x in pytrees.tree_leaves((args, out))
        if _is_inexact(x)
    ]
    return max(limits, default=_TOLERANCE[4])


def check_jvp(
    f: Callable[..., PyTree],
    f_jvp: Callable[..., PyTree],
    args: Sequence[PyTree],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compares forward-mode derivatives with finite differences in a random direction.

    Args:
      f: function to be differentiated.
      f_jvp: JVP of `f`, a function (primals, tangents) -> (results, tangents of the results).
      args: arguments of `f` at which derivatives are compared.
      atol, rtol: tolerances, or mappings from dtypes to tolerances; by default they depend on the
        dtype.
      eps: step of the differences; by default it depends on the dtype.
      err_msg: prefix of error messages.

    Raises:
      AssertionError: if the derivatives disagree.
    """
    args = tuple(args)
    rng = np.random.default_rng(0)
    tangent = pytrees.tree_map(lambda x: _random_like(rng, x), args)
    v_out, t_out = f_jvp(args, tangent)
    expected = f(*args)
    atol, rtol, eps = _limits(args, expected, atol, rtol, eps)
    prefix = f"{err_msg} " if err_msg else ""
    assert_close(f"{prefix}JVP primal", v_out, expected, atol, rtol)
    assert_close(f"{prefix}JVP tangent", t_out, _numerical_jvp(f, args, tangent, eps), atol, rtol)


def check_vjp(
    f: Callable[..., PyTree],
    f_vjp: Callable[..., PyTree],
    args: Sequence[PyTree],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compares reverse-mode derivatives with finite differences, projected onto random directions.

    Args:
      f: function to be differentiated.
      f_vjp: VJP of `f`, a function (*args) -> (results, function of their cotangents).
      args: arguments of `f` at which derivatives are compared.
      atol, rtol, eps, err_msg: see `check_jvp`.

    Raises:
      AssertionError: if the derivatives disagree.
    """
    args = tuple(args)
    rng = np.random.default_rng(0)
    v_out, pull_back = f_vjp(*args)
    expected = f(*args)
    atol, rtol, eps = _limits(args, expected, atol, rtol, eps)
    prefix = f"{err_msg} " if err_msg else ""
    assert_close(f"{prefix}VJP primal", v_out, expected, atol, rtol)
    tangent = pytrees.tree_map(lambda x: _random_like(rng, x), args)
    tangent_out = _numerical_jvp(f, args, tangent, eps)
    cotangent = pytrees.tree_map(lambda x: _random_like(rng, x), v_out)
    cotangent_out = pull_back(cotangent)
    by_vjp, by_differences = _inner(tangent, cotangent_out), _inner(tangent_out, cotangent)
    # Complex numbers are treated as pairs of real numbers.
    assert_close(
        f"{prefix}VJP cotangent projection",
        np.real(by_vjp), np.real(by_differences), atol, rtol,
    )  # fmt: skip


def check_grads(
    f: Callable[..., PyTree],
    args: Sequence[PyTree],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Compares derivatives up to the given order with finite differences.

    Args:
      f: function of floating or complex arrays.
      args: arguments of `f` at which derivatives are compared.
      order: highest order of the derivatives.
      modes: "fwd" (`jvp`), "rev" (`vjp`), or both, in all combinations.
      atol, rtol, eps: see `check_jvp`.

    Raises:
      AssertionError: if the derivatives disagree.
    """
    args = tuple(args)

    def check(g: Callable[..., PyTree], at: tuple[PyTree, ...], left: int, message: str) -> None:
        if "fwd" in modes:
            check_jvp(
                g, lambda xs, ts: jvp(g, xs, ts), at, atol, rtol, eps, f"{message} jvp".strip()
            )
            if left > 1:
                rng = np.random.default_rng(left)
                tangents = pytrees.tree_map(lambda x: _random_like(rng, x), at)
                check(lambda *xs: jvp(g, xs, tangents), at, left - 1, f"jvp of {message}")
        if "rev" in modes:
            check_vjp(g, lambda *xs: vjp(g, *xs), at, atol, rtol, eps, f"{message} vjp".strip())
            if left > 1:
                rng = np.random.default_rng(left)
                cts = pytrees.tree_map(lambda x: _random_like(rng, x), g(*at))

                def back(*xs: PyTree) -> tuple[object, object]:
                    out, pull = vjp(g, *xs)
                    return out, pull(cts)

                check(back, at, left - 1, f"vjp of {message}")

    check(f, args, order, "")
