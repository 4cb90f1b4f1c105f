"""`jnp.vectorize`: which axes are mapped, and what is refused, as in real JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp


def numbers(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)) % 7 - 3).reshape(shape).astype(np.float32)


# Shapes of two operands: equal, broadcast, with axes of extent 1 in one or both, without elements.
SHAPES = [
    ((), ()), ((3,), ()), ((3,), (3,)), ((1,), (1,)), ((1,), (3,)), ((2, 1), (1, 3)), ((2, 3), (3,)),
    ((1, 3), (1, 3)), ((3, 1), (3, 1)), ((1, 1), (1,)), ((2, 1, 3), (1, 1, 3)), ((0,), (1,)),
    ((2, 0), (1,)), ((1, 2, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("wrapped", ["eager", "jit", "jit within"])
@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_functions_of_scalars(one, other, wrapped):
    x, y = numbers(*one), numbers(*other) + 5
    f: Any = lambda a, b: a * b + a  # noqa: E731
    if wrapped == "jit within":
        f = jitney.jit(f)
    f = jnp.vectorize(f)
    if wrapped == "jit":
        f = jitney.jit(f)
    expected = x * y + x
    got = f(x, y)
    assert got.shape == expected.shape and got.dtype == np.float32
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_functions_of_several_results(one, other):
    x, y = numbers(*one), numbers(*other)
    total, difference, seven = jnp.vectorize(lambda a, b: (a + b, a - b, 7))(x, y)
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(difference, x - y)
    assert np.shape(seven) == np.shape(x + y) and np.all(np.equal(seven, 7))


@pytest.mark.parametrize("leading", SHAPES)
def test_signatures_with_axes_of_the_function(leading):
    one, other = leading
    x, m = numbers(*one, 4), numbers(*other, 2, 4)

    def by(jax, x, m):
        product = jax.numpy.vectorize(jax.numpy.matmul, signature="(m,n),(n)->(m)")
        parts = jax.numpy.vectorize(
            lambda m, x: (x.sum(), m * x[0], m.T), signature="(m,n),(n)->(),(m,n),(n,m)"
        )
        return product(m, x), parts(m, x)

    for ours in (by(jitney, x, m), jitney.jit(lambda x, m: by(jitney, x, m))(x, m)):
        expected = m @ x[..., None] if m.ndim > 2 or x.ndim > 1 else m @ x
        expected = expected[..., 0] if expected.ndim > 1 and expected.shape[-1] == 1 else expected
        shape = np.broadcast_shapes(one, other)
        product, (sums, scaled, turned) = ours
        np.testing.assert_array_equal(product, expected.reshape(*shape, 2))
        assert [sums.shape, scaled.shape, turned.shape] == [shape, (*shape, 2, 4), (*shape, 4, 2)]
        np.testing.assert_array_equal(
            np.swapaxes(turned, -1, -2), np.broadcast_to(m, (*shape, 2, 4))
        )
    theirs = of_jax(by, x, m)
    assert [np.shape(a) for a in jitney.tree.leaves(theirs)] == [
        a.shape for a in (product, *ours[1])
    ]


def test_arguments_that_are_excluded():
    f = jnp.vectorize(lambda x, n, *, scale: x * n * scale, excluded={1, "scale"})
    np.testing.assert_array_equal(f(numbers(1, 3), 2, scale=np.float32(3)), numbers(1, 3) * 6)
    keyword = jnp.vectorize(lambda x, *, y: x + y)
    np.testing.assert_array_equal(keyword(numbers(2, 1), y=numbers(3)), numbers(2, 1) + numbers(3))


def test_derivatives():
    f = jnp.vectorize(lambda x, y: jnp.sin(x) * y)
    x, y = numbers(2, 1), numbers(1, 3)
    gradient = jitney.grad(lambda x: f(x, y).sum())(x)
    np.testing.assert_allclose(gradient, np.cos(x) * y.sum(), rtol=1e-6)
    assert jitney.vmap(f, (0, None))(x, y[0]).shape == (2, 3)


WRONG = {
    "shapes": lambda jax: jax.numpy.vectorize(lambda x, y: x)(np.ones(2), np.ones(3)),
    "too few axes": lambda jax: jax.numpy.vectorize(lambda x: x, signature="(n)->()")(1.0),
    "unequal extents": lambda jax: jax.numpy.vectorize(
        lambda x, y: x, signature="(n),(n)->()"
    )(np.ones(2), np.ones(3)),
    "result of another shape": lambda jax: jax.numpy.vectorize(
        lambda x: x, signature="(n)->()"
    )(np.ones(2)),
    "number of arguments": lambda jax: jax.numpy.vectorize(
        lambda x: x, signature="(n),(m)->()"
    )(np.ones(2)),
    "number of results": lambda jax: jax.numpy.vectorize(
        lambda x: (x, x), signature="(n)->(n)"
    )(np.ones(2)),
    "signature": lambda jax: jax.numpy.vectorize(lambda x: x, signature="(n->()")(np.ones(2)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name):
    def error(jax: Any) -> str:
        try:
            WRONG[name](jax)
        except Exception as raised:
            return type(raised).__name__
        return "nothing"

    assert error(jitney) == of_jax(error) != "nothing"
