"""What programs are called: functions, and what transformations make of them, in `jit` and outside."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.util.wraps import transformations_of
from jitney.inspection import collect, facts, titles

X = np.ones((4, 3), np.float32)
T = np.ones_like(X)


def _loss(x):
    return jnp.sum(jnp.tanh(x) * x)


def _titles(run) -> list[str]:
    jax.clear_caches()
    with collect.compiled_modules() as modules:
        run()
    return [titles.title_of(module) for module in modules]


@pytest.mark.parametrize(
    ("transform", "title"),
    [
        (lambda f: f, "_loss"),
        (jax.grad, "gradient of _loss"),
        (jax.value_and_grad, "value and gradient of _loss"),
        (jax.vmap, "vmap of _loss"),
        (jax.hessian, "Hessian of _loss"),
        (jax.jacfwd, "Jacobian of _loss"),
        (lambda f: jax.vmap(jax.grad(f)), "vmap of gradient of _loss"),
        (lambda f: jax.grad(jax.jit(f)), "gradient of _loss"),
        (lambda f: functools.partial(jax.grad(f)), "gradient of _loss"),
        (lambda f: functools.wraps(jax.grad(f))(lambda x: jax.grad(f)(x)), "gradient of _loss"),
        (lambda f: jax.jit(jax.grad(f)), "gradient of _loss"),
    ],
)
def test_within_jit(transform, title):
    module = jax.jit(transform(_loss)).lower(X)._lowering.module
    assert titles.title_of(module) == title
    assert facts.of_module(module).title == title


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda f: f(X), ["_loss"]),
        (lambda f: jax.grad(f)(X), ["forward pass of _loss", "gradient of _loss"]),
        (lambda f: jax.vmap(f)(X), ["vmap of _loss"]),
        (lambda f: jax.jvp(f, (X,), (T,)), ["jvp of _loss"]),
        (
            lambda f: jax.vmap(jax.grad(f))(X),
            ["vmap of forward pass of _loss", "vmap of gradient of _loss"],
        ),
        (
            lambda f: jax.linearize(f, X)[1](T),
            ["forward pass of _loss", "derivative of _loss"],
        ),
    ],
)
def test_outside_of_jit(run, expected):
    assert _titles(lambda: run(jax.jit(_loss))) == expected


def test_arguments_outside_of_jit():
    f = jax.jit(lambda w, x: jnp.sum(jnp.tanh(w) * x))
    jax.clear_caches()
    with collect.compiled_modules() as modules:
        jax.grad(f)(X, X)
        jax.vmap(f)(X, X)
        jax.jvp(f, (X, X), (T, T))
    programs = [facts.of_module(module) for module in modules]
    assert [[name for name, _ in program.arguments] for program in programs] == [
        ["w", "x"],
        ["argument 0", "argument 1", "argument 2", "argument 3"][: len(programs[1].arguments)],
        ["w", "x"],
        ["w", "x", "the tangent of w", "the tangent of x"],
    ]


def test_loops_outside_of_jit():
    def body(c, x):
        return c + x.sum(), c

    assert _titles(lambda: jax.lax.scan(body, np.float32(0), X)) == ["scan of body"]


def test_operations_of_this_package_are_no_functions():
    assert _titles(lambda: (jnp.sort(X), jax.vmap(jnp.linalg.det)(np.ones((2, 3, 3))))) == []


def test_transformations_are_those_of_the_function_itself():
    assert transformations_of(_loss) == ()
    assert transformations_of(jax.vmap(jax.grad(_loss))) == ("gradient", "vmap")

    @functools.wraps(jax.grad(_loss))
    def step(x):
        return x

    del step.__wrapped__
    assert (
        step.__dict__["__transformation__"].transformation == "gradient"
    )  # copied, and not its own
    assert transformations_of(step) == ()
