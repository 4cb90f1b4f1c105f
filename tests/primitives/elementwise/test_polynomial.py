"""`log2`, `one_minus_square` and `polynomial`: values, derivatives, batching, programs, errors.

JAX has them since 0.11. Programs are those that JAX 0.12.0.1 prints.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.test_util import check_grads

SPECIAL = np.array([0.0, -0.0, 1, 2, -1, np.inf, -np.inf, np.nan, 8, 3, 1e-40, 2**-130], "f4")
FLOATS = ["float32", "float64", "float16", "bfloat16"]


def text(f, *args):
    return str(jitney.make_jaxpr(f)(*args))


def call(f: Callable[..., Any], *args: Any) -> Any:
    """f(*args), whatever the types say."""
    return f(*args)


def both_ways(f: Any, *args: Any) -> Any:
    """What f gives, computed eagerly; it has to be what its compiled program gives."""
    eager, compiled = f(*args), call(jitney.jit(f), *args)
    assert eager.dtype == compiled.dtype and eager.weak_type == compiled.weak_type
    rtol = 4 * float(jnp.finfo(eager.dtype).eps) if jnp.issubdtype(eager.dtype, jnp.inexact) else 0
    np.testing.assert_allclose(
        np.asarray(compiled, "c16"), np.asarray(eager, "c16"), rtol=rtol, atol=0
    )
    return eager


# --- log2 -----------------------------------------------------------------------------------------


def test_log2_of_special_values():
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(both_ways(lax.log2, SPECIAL), np.log2(SPECIAL), rtol=3e-7)


@pytest.mark.parametrize("dtype", FLOATS)
def test_log2_is_exact_at_powers_of_2(dtype):
    with jitney.enable_x64(True):
        least = {"float16": -14, "float64": -1022}.get(dtype, -126)
        powers = np.arange(least, 16 if dtype == "float16" else 127)
        x = lax.convert_element_type(2.0**powers, dtype)
        for f in (lax.log2, jitney.jit(lax.log2)):
            np.testing.assert_array_equal(np.asarray(f(x), float), powers)


def test_log2_of_complex_numbers():
    z = np.array([1 + 2j, -1, 8j, 3 - 4j, -2 - 1e-3j], "c8")
    wanted = [complex(mpmath.log(complex(v)) / mpmath.log(2)) for v in z]
    np.testing.assert_allclose(both_ways(lax.log2, z), wanted, rtol=1e-6)
    assert lax.log2(jnp.array(0j)).real == -np.inf


def test_derivatives_of_log2():
    with jitney.enable_x64(True):
        x = np.array([0.3, 1.0, 7.0])
        check_grads(lax.log2, (x,), order=3, rtol=1e-4)
        check_grads(lax.log2, (x + 0.5j,), order=2, rtol=1e-4)
        np.testing.assert_allclose(
            jitney.vmap(jitney.grad(lax.log2))(x), 1 / (x * np.log(2)), rtol=1e-14
        )
    assert text(lambda x, t: jitney.jvp(lax.log2, (x,), (t,)), x.astype("f4"), x.astype("f4")) == (
        """{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = log2 a
    d:f32[] = log 2.0:f32[]
    e:f32[3] = mul a d
    f:f32[3] = div b e
  in (c, f) }"""
    )


def test_taylor_series_of_log2():
    from jitney.experimental import jet

    y, terms = jet.jet(lax.log2, (3.0,), ([1.0, 0.0, 0.0],))
    k = 1 / np.log(2)
    np.testing.assert_allclose([y, *terms], [np.log2(3), k / 3, -k / 9, 2 * k / 27], rtol=1e-5)


def test_accuracy_of_log2_is_a_parameter():
    def accurate(x):
        return lax.log2(x, accuracy=lax.AccuracyMode.HIGHEST)

    assert "log2[accuracy=AccuracyMode.HIGHEST]" in text(accurate, 2.0)
    assert accurate(8.0) == 3


@pytest.mark.parametrize("x", [3, True, np.arange(3), "a", [1.0]])
def test_log2_refuses_what_is_not_floating(x):
    with pytest.raises(TypeError, match="log2"):
        lax.log2(x)


# --- one_minus_square -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "int32", "uint8", "int8"])
def test_values_of_one_minus_square(dtype):
    with jitney.enable_x64(True):
        x = lax.convert_element_type(np.array([0, 1, 2, 5, 100]), dtype)
        found = both_ways(lax.one_minus_square, x)
    one = np.ones((), dtype)
    wanted = (one + np.asarray(x)) * (one - np.asarray(x))
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.asarray(found), wanted)


def test_one_minus_square_keeps_its_accuracy_near_1():
    x = np.array([1.0001, 0.9999, 1 - 2**-12, -1.0001, 3e-8], "f4")
    exact = 1 - x.astype(float) ** 2
    np.testing.assert_allclose(both_ways(lax.one_minus_square, x), exact, rtol=1.5e-7)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            both_ways(lax.one_minus_square, SPECIAL[:8]), [1, 1, 0, -3, 0, -np.inf, -np.inf, np.nan]
        )


def test_derivatives_of_one_minus_square():
    with jitney.enable_x64(True):
        check_grads(lax.one_minus_square, (np.array([0.5, -3.0]),), order=3, rtol=1e-5)
        check_grads(lax.one_minus_square, (np.array([0.5 + 2j]),), order=2, rtol=1e-5)
    assert jitney.hessian(lax.one_minus_square)(2.0) == -2


def test_program_of_the_gradient_of_one_minus_square():
    assert text(jitney.grad(lax.one_minus_square), 1.0) == (
        """{ lambda ; a:f32[]. let
    _:f32[] = one_minus_square a
    b:f32[] = mul -2.0:f32[] a
    c:f32[] = mul 1.0:f32[] b
  in (c,) }"""
    )


@pytest.mark.parametrize("x", [True, "a"])
def test_one_minus_square_refuses_what_is_not_a_number(x):
    with pytest.raises(TypeError, match="one_minus_square"):
        lax.one_minus_square(x)


# --- polynomial -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 60])
def test_values_of_polynomials(n):
    x = np.linspace(-1.5, 1.5, 7).astype("f4")
    coeffs = np.cos(np.arange(n)).round(2).astype("f4")
    wanted = np.polynomial.polynomial.polyval(x.astype(float), [*coeffs.astype(float), 0])
    for c in (coeffs, [*coeffs], tuple(map(float, coeffs)), jnp.array(coeffs)):
        found = both_ways(lambda x, c=c: lax.polynomial(x, c), x)
        scale = np.polynomial.polynomial.polyval(abs(x), [*abs(coeffs), 0]).max()
        np.testing.assert_allclose(found, wanted, atol=1e-6 * scale)
        assert found.dtype == "float32" and not found.weak_type


def test_special_values_and_empty_arrays():
    found = both_ways(lambda x: lax.polynomial(x, (1.0, 2.0, 3.0)), SPECIAL[:10])
    wanted = [1, 1, 6, 17, 2, np.inf, np.inf, np.nan, 209, 34]
    np.testing.assert_array_equal(found, wanted)
    assert lax.polynomial(np.zeros((0, 3), "f4"), (1.0, 2.0)).shape == (0, 3)
    assert lax.polynomial(np.zeros((2, 0), "f4"), ()).shape == (2, 0)


@pytest.mark.parametrize(
    ("x", "coeffs", "dtype", "weak", "value"),
    [
        (2.0, (1.0, 2.0), "float32", True, 5),
        (2, (1, 2), "int32", True, 5),
        (2, (1.5, 2.0), "int32", True, 5),
        (np.int32(2), (1.5, 2.0), "int32", False, 5),
        (np.int8(3), (np.int32(300), 1), "int8", False, 47),
        (np.float16(1), (np.float32(1), 2.0), "float16", False, 3),
        (2.0, (np.float16(1), 1.0), "float32", False, 3),
        (np.float32(2), (True, 2), "float32", False, 5),
        (1j, (1.0, 2.0), "complex64", True, 1 + 2j),
        (2.0, (), "float32", True, 0),
        (2.0, (3.0,), "float32", True, 3),
    ],
)
def test_coefficients_take_the_dtype_of_x(x, coeffs, dtype, weak, value):
    out = lax.polynomial(x, coeffs)
    assert (out.dtype, out.weak_type, out) == (dtype, weak, value)


def test_shapes_broadcast():
    x, c = np.ones((1, 3), "f4"), np.array([[1.0], [2.0]], "f4")
    np.testing.assert_array_equal(lax.polynomial(x, (c, 1.0)), [[2.0] * 3, [3.0] * 3])
    assert lax.polynomial(np.float32(2), (np.ones(3, "f4"),)).shape == (3,)
    rows = np.arange(6.0, dtype="f4").reshape(2, 3)
    np.testing.assert_array_equal(
        call(lax.polynomial, np.full(3, 2, "f4"), rows), rows[0] + 2 * rows[1]
    )


def test_derivatives_of_polynomials():
    with jitney.enable_x64(True):
        x = np.array([[0.5, -1.0, 2.0]])
        a, b = np.array([[1.0], [3.0]]), np.array(2.0)

        def f(x, a, b):
            return lax.polynomial(x, (b, a, 1.0, b))

        check_grads(f, (x, a, b), order=2, rtol=1e-6)
        check_grads(lambda x, a: lax.polynomial(x, (a, a)), (x, a), order=2, rtol=1e-6)
        check_grads(lambda x: lax.polynomial(x, (1.0, 2.0)), (x + 1j,), order=2, rtol=1e-6)
        grads = jitney.grad(lambda x, a, b: f(x, a, b).sum(), argnums=(0, 1, 2))(x, a, b)
        np.testing.assert_allclose(grads[0], (a + 2 * x + 6 * x**2).sum(0, keepdims=True))
        np.testing.assert_allclose(grads[1], np.full((2, 1), x.sum()))
        np.testing.assert_allclose(grads[2], 2 * (1 + x**3).sum())


def test_programs_of_derivatives():
    x = np.ones(3, "f4")

    def f(x):
        return lax.polynomial(x, (1.0, 2.0, 3.0))

    assert text(lambda x, t: jitney.jvp(f, (x,), (t,)), x, x) == (
        """{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = polynomial a 1.0:f32[] 2.0:f32[] 3.0:f32[]
    d:f32[] = mul 1.0:f32[] 2.0:f32[]
    e:f32[] = mul 2.0:f32[] 3.0:f32[]
    f:f32[3] = polynomial a d e
    g:f32[3] = mul b f
  in (c, g) }"""
    )
    by_coefficient = jitney.grad(lambda c: lax.polynomial(x, (1.0, c, c)).sum())
    np.testing.assert_array_equal(by_coefficient(np.float32(2)), 6)


def test_a_polynomial_is_not_linear_in_its_variable():
    def f(x):
        return lax.polynomial(x, (0.0, 2.0))

    with pytest.raises(TypeError, match=r"polynomial.*not linear"):
        jitney.linear_transpose(f, np.float32(1))(np.float32(1))


def test_batching_of_polynomials():
    x, c = np.arange(6.0, dtype="f4").reshape(3, 2), np.array([5.0, 7.0], "f4")

    def f(x, c):
        return lax.polynomial(x, (c, 1.0, 2.0))

    found = jitney.vmap(f, in_axes=(1, 0))(x, c)
    np.testing.assert_array_equal(found, [f(x[:, i], c[i]) for i in range(2)])
    assert text(jitney.vmap(f, in_axes=(1, 0)), x, c) == (
        """{ lambda ; a:f32[3,2] b:f32[2]. let
    c:f32[2,3] = transpose[permutation=(1, 0)] a
    d:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] b
    e:f32[2,3] = polynomial c d 1.0:f32[] 2.0:f32[]
  in (e,) }"""
    )
    jitted = jitney.jit(jitney.vmap(jitney.grad(lambda x, c: f(x, c).sum()), in_axes=(1, 0)))
    np.testing.assert_array_equal(jitted(x, c), 1 + 4 * x.T)


def test_unroll_is_a_parameter():
    x = np.ones(2, "f4")
    assert "polynomial[unroll=4] a" in text(lambda x: lax.polynomial(x, (1.0, 2.0), unroll=4), x)
    assert "polynomial a" in text(lambda x: lax.polynomial(x, (1.0, 2.0)), x)
    with pytest.raises(ValueError, match="unroll"):
        lax.polynomial(x, (1.0, 2.0), unroll=-1)
    with pytest.raises(TypeError):
        call(partial(lax.polynomial, unroll=call(float, 1.5)), x, (1.0, 2.0))


@pytest.mark.parametrize(
    ("coeffs", "message"),
    [
        (1.0, "coeffs must be a sequence"),
        (None, "coeffs must be a sequence"),
        ((np.ones(2, "f4"), 1.0), r"lax.polynomial\(.*the shapes"),
        ((np.ones((2, 3), "f4"), 1.0), "ranks"),
        (("a", 1.0), "position 1"),
        ((1j, 1.0), "complex"),
    ],
)
def test_wrong_coefficients(coeffs, message):
    with pytest.raises(TypeError, match=message):
        lax.polynomial(np.ones(3, "f4"), coeffs)


def test_wrong_variables():
    with pytest.raises(TypeError, match="bool"):
        lax.polynomial(np.ones(3, bool), (1, 2))
    with pytest.raises(TypeError, match="position 0"):
        call(lax.polynomial, "a", (1, 2))
