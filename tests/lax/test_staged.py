"""Functions that become one equation with their name compute what NumPy computes."""

import numpy as np
import pytest

import jitney as jax
from jitney.lax import staged

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def names(fun, *args):
    return [(eqn.primitive.name, eqn.params.get("name")) for eqn in jax.make_jaxpr(fun)(*args).eqns]


@pytest.mark.parametrize(
    "fun, args",
    [
        (staged.dynamic_index_in_dim, (X, 1)),
        (staged.dynamic_update_index_in_dim, (X, X[0], 1, 0)),
        (staged.fft, (X, "fft", (4,))),
    ],
)
def test_traced_calls_are_one_equation(fun, args):
    static = args[1:] if fun is staged.fft else ()
    dynamic = (X,) if static else args[:2] if len(args) == 2 else args[:3]
    rest = static or args[len(dynamic) :]
    assert names(lambda *xs: fun(*xs, *rest), *dynamic) == [("jit", fun.__name__)]


@pytest.mark.parametrize("index, row", [(0, 0), (2, 2), (-1, 2), (7, 2), (-9, 0)])
def test_indices_are_counted_from_the_end_and_clamped(index, row):
    np.testing.assert_array_equal(staged.dynamic_index_in_dim(X, index), X[row][None])
    np.testing.assert_array_equal(staged.dynamic_index_in_dim(X, index, keepdims=False), X[row])
    updated = X.copy()
    updated[row] = -1
    new = np.full(4, -1, np.float32)
    np.testing.assert_array_equal(staged.dynamic_update_index_in_dim(X, new, index, 0), updated)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_axes(axis):
    out = staged.dynamic_index_in_dim(X, 1, axis, keepdims=False)
    np.testing.assert_array_equal(out, X.take(1, axis))
    assert staged.dynamic_index_in_dim(X, 1, axis).ndim == 2


@pytest.mark.parametrize("kind, back", [("fft", "ifft"), ("rfft", "irfft")])
def test_transforms_are_those_of_numpy_and_undone_by_their_inverse(kind, back):
    x = X if kind == "rfft" else X * (1 + 2j)
    out = staged.fft(x, kind, (4,))
    np.testing.assert_allclose(out, getattr(np.fft, kind)(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(staged.fft(out, back, (4,)), x, rtol=1e-5, atol=1e-5)
