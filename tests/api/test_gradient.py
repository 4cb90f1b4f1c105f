"""Gradients of scalars: which arguments, what is checked, and how errors name the arguments."""

import math

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.api.autodiff import gradient
from jitney.api.autodiff.gradient import argnums_partial, checked_argnums, fwd_and_bwd, name_of_leaf


def f(x, y, *rest, k=1.0):
    return x * y * k


def test_argnums_become_integers():
    assert checked_argnums(np.int64(2)) == 2 and type(checked_argnums(np.int64(2))) is int
    assert checked_argnums([0, np.int8(-1)]) == (0, -1)
    with pytest.raises(TypeError):
        checked_argnums((0.5,))


def test_functions_of_the_chosen_arguments_alone():
    partial, chosen = argnums_partial(f, (-1, 0), (2.0, 3.0, 5.0), {"k": 7.0})
    assert chosen == (5.0, 2.0)
    assert partial(None, 11.0) == 11.0 * 3.0 * 7.0
    with pytest.raises(
        TypeError, match="requires at least 4 positional arguments, but the call has 3"
    ):
        argnums_partial(f, 3, (2.0, 3.0, 5.0), {})
    with pytest.raises(ValueError, match=r"must be in \[-2, 2\).* got -3"):
        argnums_partial(f, -3, (2.0, 3.0), {})
    with pytest.raises(ValueError, match="each argument may occur only once"):
        argnums_partial(f, (0, -2), (2.0, 3.0), {})


@pytest.mark.parametrize(
    "argnums, number, expected",
    [
        (0, 0, "argument x"),
        ((1, 0), 0, "y['n']"),
        ((1, 0), 2, "argument x"),
        (-1, 1, "rest[0][1]"),
        (2, 0, "rest[0][0]"),
    ],
)
def test_names_of_leaves(argnums, number, expected):
    args = (1.0, {"n": 2.0, "o": 3.0}, [4.0, 5.0])
    chosen = argnums_partial(f, argnums, args, {})[1]
    assert name_of_leaf(f, argnums, args, chosen, number) == expected


def test_values_and_gradients():
    value, (dy, dx) = gradient.value_and_grad(f, (1, 0))(2.0, 3.0, k=5.0)
    assert (value, dx, dy) == (30.0, 15.0, 10.0)
    g, aux = gradient.grad(lambda x: (jnp.sum(x**3), x.shape), has_aux=True)(jnp.float32([1, 2]))
    np.testing.assert_array_equal(g, [3, 12])
    assert aux == (2,)
    assert gradient.grad(lambda z: z * z, holomorphic=True)(1 + 2j) == 2 + 4j
    assert gradient.grad(lambda n: 2.0 * n, allow_int=True)(3).dtype == np.dtype([("float0", "V")])


def test_forward_and_backward_pass():
    forward, backward = fwd_and_bwd(lambda x, y: (x * y, "aux"), (0, 1), has_aux=True)
    value, aux, residuals = forward(2.0, 3.0)
    assert (value, aux) == (6.0, "aux")
    assert [float(ct) for ct in backward(residuals, jnp.ones_like(value) * 2)] == [6.0, 4.0]


@pytest.mark.parametrize(
    "fun, x, message",
    [
        (lambda x: x, [1.0, 2.0], r"grad.*: .* its output has shape \(2,\)"),
        (lambda x: "text", 1.0, "must return arrays or scalars to be differentiated"),
        (lambda x: jnp.int32(1), 1.0, "output must be of a real floating-point dtype"),
        (lambda x: x * 1j, 1.0, "otherwise call jax.vjp"),
        (lambda x: x * 1.0, 2, "but argument x is of int32[^:]*Instead: pass 2.0"),
    ],
)
def test_refusals(fun, x, message):
    with pytest.raises(TypeError, match=message):
        gradient.grad(fun)(np.float32(x) if isinstance(x, list) else x)
    assert math.isclose(gradient.grad(lambda x: x * x)(1.5), 3.0)
