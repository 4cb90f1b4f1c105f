"""Eager complex functions at infinities and NaN have the values of compiled code."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import lower, pipeline

PARTS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 3e38, -100.0]
NUMBERS = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)], np.complex64)

UNARY = {
    **{name: getattr(lax, name) for name in (
        "exp", "exp2", "expm1", "log", "log1p", "sqrt", "rsqrt", "logistic", "sign",
        "sin", "cos", "tan", "asin", "acos", "atan",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    )},
    "reciprocal": lax.reciprocal,
    "integer_pow": lambda x: lax.integer_pow(x, -3),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_are_those_of_compiled_code(name: str):
    function = UNARY[name]
    np.testing.assert_array_equal(
        _kinds(function(jnp.array(NUMBERS))), _kinds(jax.jit(function)(NUMBERS))
    )


@pytest.mark.parametrize("name", ["div", "pow"])
def test_binary_functions_are_those_of_compiled_code(name: str):
    function = getattr(lax, name)
    x, y = (a.ravel() for a in np.meshgrid(NUMBERS, NUMBERS))
    compiled = jax.jit(function)(x, y)
    np.testing.assert_array_equal(_kinds(function(jnp.array(x), jnp.array(y))), _kinds(compiled))


@pytest.mark.parametrize("name", ["div", "pow"])
def test_single_numbers_are_finite_where_compiled_ones_are(name: str):
    function = getattr(lax, name)
    x, y = (a.ravel() for a in np.meshgrid(NUMBERS, NUMBERS))
    compiled = np.asarray(jax.jit(function)(x, y))
    one_by_one = np.array([function(a[None], b[None])[0] for a, b in zip(x, y, strict=True)])
    np.testing.assert_array_equal(np.isfinite(one_by_one), np.isfinite(compiled))


def _interpreted(function, *operands: np.ndarray) -> np.ndarray:
    program = lower.lower(jax.make_jaxpr(function)(*operands))
    return pipeline.interpret(program, [*operands])[0]


# Whether a part of a product that overflows is infinite or NaN depends on fused multiplications: of
# `integer_pow` NumPy's differ.
@pytest.mark.parametrize("name", [*sorted(UNARY.keys() - {"integer_pow"}), "log2", "square"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_interpreted_functions_are_those_of_compiled_code(name: str, dtype: type):
    function = UNARY.get(name) or getattr(lax, name)
    # The C standard leaves signs of inverse functions open beside NaN; versions of NumPy differ.
    numbers = NUMBERS[~np.isnan(NUMBERS)] if name.startswith("a") else NUMBERS
    with jax.enable_x64(dtype is np.complex128):
        x = numbers.astype(dtype)
        compiled, interpreted = jax.jit(function)(x), _interpreted(function, x)
    np.testing.assert_array_equal(_specials(interpreted), _specials(compiled))


def test_interpreted_powers_are_those_of_compiled_code():
    x, y = (a.ravel() for a in np.meshgrid(NUMBERS, NUMBERS))
    compiled, interpreted = jax.jit(lax.pow)(x, y), _interpreted(lax.pow, x, y)
    # The sign of an infinite power is that of a cosine, of an angle which may be huge.
    np.testing.assert_array_equal(abs(_specials(interpreted)), abs(_specials(compiled)))


def test_interpreted_quotients_are_those_of_compiled_code():
    x, y = (a.ravel() for a in np.meshgrid(NUMBERS, NUMBERS))
    compiled, interpreted = jax.jit(lax.div)(x, y), _interpreted(lax.div, x, y)
    np.testing.assert_array_equal(_specials(interpreted), _specials(compiled))


def test_a_quotient_of_infinity_is_infinite():
    x = jnp.array([complex(np.inf, np.inf)], jnp.complex64)
    np.testing.assert_array_equal(x / 1j, [complex(np.inf, -np.inf)])


def test_batches_and_derivatives_agree_as_well():
    x = jnp.array([[complex(np.inf, 1.0)], [complex(np.nan, 0.0)]], jnp.complex64)

    def derivative(x):
        return jax.vmap(jax.grad(jnp.exp, holomorphic=True))(x.ravel())

    np.testing.assert_array_equal(_kinds(derivative(x)), _kinds(jax.jit(derivative)(x)))


def _specials(x: jax.Array | np.ndarray) -> np.ndarray:
    """Of each part: NaN (9), an infinity (5 or -5) or a number (0), whose sign rounding may decide."""
    parts = np.stack([np.real(x), np.imag(x)])
    return np.where(np.isnan(parts), 9, np.where(np.isinf(parts), 5 * np.sign(parts), 0))


def _kinds(x: jax.Array) -> np.ndarray:
    """What each part is: NaN (9), an infinity (5) or the sign of a number; zeros have no sign."""
    parts = np.stack([np.real(x), np.imag(x)])
    signs = np.sign(np.nan_to_num(parts, nan=0.0))
    return np.where(np.isnan(parts), 9, np.where(np.isinf(parts), 5 * signs, signs))
