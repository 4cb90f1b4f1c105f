"""Roots are found by the given solver, and differentiated by the implicit function theorem."""

import math

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.autodiff.custom_root import custom_root


def newton(f, x):
    for _ in range(5):
        x = x - f(x) / jax.grad(f)(x)
    return x


def scalar_solve(g, y):
    return y / g(1.0)


def cube_root(a):
    return custom_root(lambda x: x**3 - a, 2.9, newton, scalar_solve)


def test_derivatives_do_not_depend_on_the_solver():
    value, slope = jax.value_and_grad(cube_root)(27.0)
    assert math.isclose(value, 3.0, rel_tol=1e-6)
    assert math.isclose(slope, 1 / 27, rel_tol=1e-5)

    def fixed(f, x):  # nothing to differentiate
        return jnp.float32(3.0)

    def known(a):
        return custom_root(lambda x: x**3 - a, 2.9, fixed, scalar_solve)

    assert math.isclose(jax.grad(known)(27.0), 1 / 27, rel_tol=1e-5)


def test_auxiliary_data_has_no_derivative():
    def solve(f, x):
        return newton(f, x), {"residual": f(x)}

    def root(a):
        return custom_root(lambda x: x**2 - a, 1.5, solve, scalar_solve, has_aux=True)

    (value, aux), (slope, no_slope) = jax.jvp(root, (4.0,), (1.0,))
    assert math.isclose(value, 2.0, rel_tol=1e-6) and math.isclose(slope, 0.25, rel_tol=1e-5)
    assert aux["residual"] == 1.5**2 - 4 and no_slope["residual"] == 0.0


def test_a_function_without_captured_values_has_a_constant_root():
    def f(a):
        return a * custom_root(lambda x: x - 2.0, 1.0, newton, scalar_solve)

    assert jax.grad(f)(5.0) == 2.0


def test_structures_must_agree():
    with pytest.raises(
        TypeError, match="f must return a pytree with the structure of initial_guess"
    ):
        custom_root(lambda x: (x, x), 1.0, newton, scalar_solve)
    with pytest.raises(
        TypeError, match="solve must return a pytree with the structure of initial_guess"
    ):
        custom_root(lambda x: x, 1.0, lambda f, x: [x], scalar_solve)
