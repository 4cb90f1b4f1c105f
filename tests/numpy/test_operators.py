"""Operators call their function in the order of the operands, and leave other classes their turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.numpy.operators import binary_operator, operators, unary_operator

X = jnp.array([7, -2, 3])
TABLE = operators()


class Other:
    def __radd__(self, other):
        return "radd"


class Pair(NamedTuple):
    a: int


class Convertible:
    def __jax_array__(self):
        return jnp.array([1, 2, 3])


def pair(x, y):
    return [x, y]


@pytest.mark.parametrize(
    "name", "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
)
def test_operators_and_reflected_ones_are_those_of_numpy(name):
    x, y = np.array([7, 2, 3]), np.array([1, 2, 2])
    plain, reflected = TABLE[f"__{name}__"], TABLE[f"__r{name}__"]
    expected = getattr(x, f"__{name}__")(y)
    np.testing.assert_allclose(plain(jnp.array(x), jnp.array(y)), expected, rtol=1e-6)
    np.testing.assert_allclose(reflected(jnp.array(y), x), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"]
)
def test_comparisons_and_operators_of_one_operand(name):
    rest = () if name in ("neg", "pos", "abs", "invert") else (3,)
    expected = getattr(np.array([7, -2, 3]), f"__{name}__")(*rest)
    np.testing.assert_array_equal(TABLE[f"__{name}__"](X, *rest), expected)


def test_the_left_operand_comes_first():
    assert binary_operator("?", pair)(X, 2) == [X, 2]
    assert binary_operator("?", pair, reflected=True)(X, 2) == [2, X]
    assert unary_operator(lambda x: [x])(X) == [X]


def test_other_classes_may_know_arrays():
    assert binary_operator("+", pair)(X, Other()) is NotImplemented
    assert X + Other() == "radd"
    assert binary_operator("+", pair)(X, Pair(1)) is NotImplemented
    assert (X + Convertible()).tolist() == [8, 0, 6]


@pytest.mark.parametrize("reflected", [False, True])
def test_containers_are_refused(reflected):
    types = "'list' and 'ArrayImpl'" if reflected else "'ArrayImpl' and 'list'"
    with pytest.raises(TypeError, match=rf"unsupported operand type\(s\) for \+: {types}\nInstead"):
        binary_operator("+", pair, reflected=reflected)(X, [1, 2, 3])
    assert binary_operator("<", pair, refuse=False)(X, [1]) is NotImplemented


def test_names():
    assert TABLE["__radd__"].__qualname__ == "Array.__radd__"
    assert set(TABLE) == {m.__name__ for m in TABLE.values()}
