"""`jax.experimental.overlap` and `fused`: calls as equations, and what is compiled of them."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import Cases, check

import jitney
import jitney.numpy as jnp

same = Cases()


def program_order(jax, f=None, **options):
    return importlib.import_module(f"{jax.__name__}.experimental.overlap").program_order(
        f, **options
    )


def two_results(jnp):
    return lambda x, y, z: (jnp.sin(x) * y, z * 2)


@same
def results_and_derivatives(jax, jnp):
    f = program_order(jax, two_results(jnp), enforce=True, strict_in_out=True)
    args = 1.0, 2.0, 3.0
    return (
        f(*args), jax.jit(f)(*args), jax.jvp(f, args, args), jax.vjp(f, *args)[1](f(*args)),
        jax.jit(jax.grad(lambda *a: f(*a)[0], (0, 1)))(*args), jax.vmap(f)(*[jnp.arange(3.0)] * 3),
        jax.checkpoint(f)(*args), jax.grad(jax.checkpoint(lambda x: f(x, x, x)[0]))(1.0),
    )  # fmt: skip


@same
def equations(jax, jnp):
    f = program_order(jax, two_results(jnp), enforce=True, strict_in_out=(True, False))
    args = 1.0, 2.0, 3.0
    return [
        str(jax.make_jaxpr(g)(*args))
        for g in (
            f, jax.grad(lambda *a: f(*a)[0], (0, 1)), lambda *a: jax.jvp(f, a, a),
            lambda *a: jax.jvp(lambda y: f(1.0, y, 2.0), a[:1], a[1:2]),
            lambda x, y, z: jax.vmap(f, (0, None, None))(x * jnp.ones(2), y, z),
        )
    ]  # fmt: skip


@same
def excluded_arguments(jax, jnp):
    f = program_order(jax, enforce=False, exclude_argnames="y")(two_results(jnp))
    by_name = program_order(jax, lambda x, *, y: x + y[0], enforce=False, exclude_argnames=["y"])
    args = 1.0, 2.0, 3.0
    return (
        str(jax.make_jaxpr(f)(*args)), str(jax.make_jaxpr(lambda *a: jax.jvp(f, a, a))(*args)),
        str(jax.make_jaxpr(lambda x, y: by_name(x, y=[y, 2.0]))(1.0, 2.0)), f(*args),
        str(jax.make_jaxpr(jax.grad(lambda *a: f(*a)[0], (0, 1)))(*args)),
    )  # fmt: skip


@same
def wrong_options(jax, jnp):
    raised = []
    for options in (
        {"exclude_argnames": "x", "enforce": True}, {"strict_in_out": True, "enforce": False},
        {"strict_in_out": (True,), "enforce": True}, {"strict_in_out": 3, "enforce": True}, {},
    ):  # fmt: skip
        try:
            program_order(jax, jnp.sin, **options)
        except (TypeError, ValueError) as error:
            raised.append(type(error).__name__)
    return raised


@same
def unknown_argument(jax, jnp):
    return program_order(jax, lambda x: x, enforce=False, exclude_argnames="q")(1.0)


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_like_jax(case):
    check(case)


def barriers(f, *args):
    return jitney.jit(f).lower(*args).as_text().count("optimization_barrier")


def test_an_order_is_compiled_to_barriers():
    def f(x, y):
        return jnp.sin(x), jnp.exp(y), jnp.cos(x)

    args = jnp.ones(3), jnp.ones(3)
    assert barriers(f, *args) == 0
    assert barriers(program_order(jitney, f, enforce=False), *args) == 0
    assert barriers(program_order(jitney, f, enforce=True), *args) == 2
    assert barriers(program_order(jitney, f, enforce=True, strict_in_out=True), *args) == 4

    inner = program_order(jitney, f, enforce=False, exclude_argnames="y")
    outer = program_order(jitney, lambda x, y: inner(jnp.tan(x), y), enforce=True)
    assert barriers(outer, *args) == 0  # the call awaits the tangent alone
    inner = program_order(jitney, f, enforce=False)
    outer = program_order(jitney, lambda x, y: inner(jnp.tan(x), y), enforce=True)
    assert barriers(outer, *args) == 1


def test_unused_results_are_pruned():
    f = program_order(jitney, two_results(jnp), enforce=True)
    closed = jitney.make_jaxpr(lambda *a: f(*a)[1])(1.0, 2.0, 3.0)
    from jitney.interpreters import partial_eval

    pruned, used = partial_eval.dce_jaxpr(closed.jaxpr, [True])
    (eqn,) = pruned.eqns
    assert used == [False, False, True] and eqn.params["exclude_mask"] == (False,)
    assert jitney.core.eval_jaxpr(pruned, closed.consts, 3.0)[0] == 6.0


# --- fused ----------------------------------------------------------------------------------------


def fused(jax, f, *spaces):
    module = importlib.import_module(f"{jax.__name__}.experimental.fused")
    places = [getattr(jax.memory.Space, name) for name in spaces]
    return module.fused(out_spaces=tuple(places))(f)


def test_fused_functions_compute_what_they_say():
    f = fused(jitney, lambda x, y: (jnp.sin(x) * y, y + 1), "Device", "Host")
    x, y = jnp.arange(3.0), 2.0
    expected = np.sin(np.arange(3.0)) * 2
    for g in (f, jitney.jit(f)):
        outs = g(x, y)
        np.testing.assert_allclose(outs[0], expected, rtol=1e-6)
        assert outs[1] == 3.0
    np.testing.assert_allclose(jitney.grad(lambda x: f(x, y)[0].sum())(x), np.cos(x) * 2, rtol=1e-6)
    primal, tangent = jitney.jvp(f, (x, y), (jnp.ones(3), 0.0))
    np.testing.assert_allclose(tangent[0], np.cos(x) * 2, rtol=1e-6)
    assert tangent[1] == 0 and primal[1] == 3.0
    np.testing.assert_allclose(jitney.vmap(f)(x, x)[0], np.sin(x) * x, rtol=1e-6)


def test_types_of_fused_functions_have_memory_spaces():
    f = fused(jitney, lambda x: (jnp.sin(x), x), "Device", "Host")
    (eqn,) = jitney.make_jaxpr(f)(jnp.ones(3)).eqns
    assert [v.aval.memory_space.name for v in eqn.outvars] == ["Device", "Host"]
    assert [v.aval.memory_space.name for v in eqn.params["jaxpr"].jaxpr.invars] == ["Any"]
    pruned = jitney.make_jaxpr(lambda x: jitney.jit(lambda x: f(x)[1])(x))(jnp.ones(3))
    assert "out_spaces=(MemorySpace.Device, MemorySpace.Host)" in str(pruned)


def test_wrong_memory_spaces_of_fused_functions():
    with pytest.raises(ValueError, match="returns 1 arrays, but `out_spaces` has length 2"):
        fused(jitney, jnp.sin, "Device", "Device")(1.0)
    from jitney.experimental import fused as module

    with pytest.raises(TypeError, match="must be a sequence"):
        module.fused(out_spaces=jitney.memory.Space.Device)
