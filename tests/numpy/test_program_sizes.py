"""Programs do not grow with the extents of arrays: what goes through elements is a loop or a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp


def _size(jaxpr: Any) -> int:
    """Equations, those of inner programs included."""
    inner = [
        getattr(p, "jaxpr", p)
        for eqn in jaxpr.eqns
        for p in eqn.params.values()
        if hasattr(getattr(p, "jaxpr", p), "eqns")
    ]
    return len(jaxpr.eqns) + sum(map(_size, inner))


_pair = jnp.frompyfunc(lambda a, b: a + 2 * b, 2, 1, identity=0)

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "apply_along_axis": lambda x: jnp.apply_along_axis(jnp.sort, 1, x[:, None] + jnp.ones(3)),
    "polyval": lambda x: jnp.polyval(x, jnp.ones(3)),
    "logaddexp.reduce": jnp.logaddexp.reduce,
    "bitwise_xor.reduce": lambda x: jnp.bitwise_xor.reduce(x.astype(int)),
    "reduce": _pair.reduce,
    "reduce where": lambda x: _pair.reduce(x, where=x > 1),
    "accumulate": _pair.accumulate,
    "reduceat": lambda x: _pair.reduceat(x, jnp.arange(x.size // 2)),
    "at": lambda x: _pair.at(x, jnp.arange(x.size) // 2, 1.0, inplace=False),
}


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_size_is_constant(name: str) -> None:
    sizes = [_size(jitney.make_jaxpr(_FUNCTIONS[name])(jnp.ones(n)).jaxpr) for n in (8, 50)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("n", [0, 1, 3, 16, 17, 40])
def test_polyval(n: int) -> None:
    p, x = np.random.RandomState(0).randn(n).astype("f4"), np.linspace(-1, 1, 5, dtype="f4")
    wanted = np.polyval(p, x)
    for f in (jnp.polyval, jitney.jit(jnp.polyval)):
        np.testing.assert_allclose(f(p, x), wanted, rtol=1e-4, atol=1e-5)


def test_loops_of_ufuncs() -> None:
    x = np.arange(12).reshape(4, 3)
    for ours, theirs in [(jnp.subtract, np.subtract), (jnp.bitwise_or, np.bitwise_or)]:
        for f, g in [
            (ours.reduce, theirs.reduce),
            (ours.accumulate, theirs.accumulate),
            (
                lambda a, u=ours: u.accumulate(a, axis=1),
                lambda a, u=theirs: u.accumulate(a, axis=1),
            ),
            (
                lambda a, u=ours: u.reduceat(a, np.array([0, 2])),
                lambda a, u=theirs: u.reduceat(a, [0, 2]),
            ),
        ]:
            np.testing.assert_array_equal(f(x), g(x))
            np.testing.assert_array_equal(jitney.jit(f)(x), g(x))
    wanted = x.copy()
    np.subtract.at(wanted, [0, 2, 0], 5)
    np.testing.assert_array_equal(jnp.subtract.at(x, np.array([0, 2, 0]), 5, inplace=False), wanted)
    assert jnp.logaddexp.accumulate(x).dtype == np.float32
    assert _pair.reduce(np.zeros((0, 3), "f4")).tolist() == [0, 0, 0]
    wanted = np.logaddexp.reduce(x, axis=1)
    np.testing.assert_allclose(jnp.logaddexp.reduce(x, axis=1), wanted, rtol=1e-6)


def test_slices_are_batched_where_they_are() -> None:
    x = jnp.ones((3, 4, 5))
    text = str(jitney.make_jaxpr(lambda x: jnp.apply_along_axis(jnp.sort, 1, x))(x))
    assert "sort[dimension=1" in text and "transpose" not in text
    f = jitney.vmap(jitney.jit(jnp.sin), in_axes=1, out_axes=1)
    assert "transpose" not in str(jitney.make_jaxpr(f)(x))


def test_results_of_slices() -> None:
    x = np.random.RandomState(0).randn(3, 4, 5).astype("f4")
    for axis in (0, 1, 2, -1):
        for f in (
            np.sort,
            np.sum,
            lambda r: np.outer(r, r) if isinstance(r, np.ndarray) else jnp.outer(r, r),
        ):
            g = {np.sort: jnp.sort, np.sum: jnp.sum}.get(f, f)
            wanted = np.apply_along_axis(f, axis, x)
            np.testing.assert_allclose(jnp.apply_along_axis(g, axis, x), wanted, rtol=1e-5)
    assert jnp.apply_along_axis(jnp.sum, 1, jnp.ones((0, 4))).shape == (0,)
