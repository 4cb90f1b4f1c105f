"""Derivatives and batching given by users in other ways, and what builds on them, against real jax."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np
import pytest
from tests.transforms.rules_checks import close

import jitney

A = np.array([[4.0, 1.5, 0.2], [1.0, 3.0, 0.1], [0.0, 0.4, 2.0]], np.float32)
SYMMETRIC = A + A.T
B = np.array([1.0, 2.0, -1.0], np.float32)
TIMES = np.linspace(0.0, 2.0, 5).astype(np.float32)


def module(j: Any, name: str) -> Any:
    return importlib.import_module(f"{j.__name__}.{name}")


def agree(use: Any, rtol: float = 2e-5, atol: float = 1e-5) -> None:
    """Asserts that `use(j)`, a pytree of arrays, is the same for both libraries."""
    want, got = use(jax), use(jitney)
    assert str(jitney.tree.structure(got)) == str(jax.tree.structure(want))
    close(tuple(jitney.tree.leaves(got)), tuple(jax.tree.leaves(want)), rtol=rtol, atol=atol)


# --- linear equations -----------------------------------------------------------------------------


def inverse_iteration(j, matvec, b):
    """Richardson's iteration, enough of it."""
    return j.lax.fori_loop(0, 60, lambda _, x: x + 0.2 * (b - matvec(x)), j.numpy.zeros_like(b))


def solution(j, a, b, **options):
    def solve(matvec, rhs):
        return inverse_iteration(j, matvec, rhs)

    return j.lax.custom_linear_solve(
        lambda x: a @ x, b, solve, **{"transpose_solve": solve, **options}
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda j: solution(j, A, B),
        lambda j: j.jit(lambda a, b: solution(j, a, b))(A, B),
        lambda j: j.grad(lambda a, b: solution(j, a, b).sum(), argnums=(0, 1))(A, B),
        lambda j: j.jit(j.grad(lambda a, b: (solution(j, a, b) ** 2).sum(), argnums=(0, 1)))(A, B),
        lambda j: j.jvp(lambda a, b: solution(j, a, b), (A, B), (A.T, B)),
        lambda j: j.hessian(lambda b: (solution(j, A, b) ** 3).sum())(B),
        lambda j: j.vmap(lambda b: solution(j, A, b))(np.stack([B, 2 * B])),
        lambda j: j.vmap(lambda a: solution(j, a, B))(np.stack([A, A.T])),
        lambda j: j.vmap(j.grad(lambda a, b: solution(j, a, b).sum()), in_axes=(0, None))(
            np.stack([A, A.T]), B
        ),
        lambda j: j.grad(lambda b: solution(j, SYMMETRIC, b, symmetric=True)[0])(B),
        lambda j: j.vmap(j.jacrev(lambda b: solution(j, SYMMETRIC, b, symmetric=True)))(
            np.stack([B, B + 1])
        ),
        lambda j: j.lax.custom_linear_solve(
            lambda x: A @ x, B, lambda mv, b: (inverse_iteration(j, mv, b), {"n": np.int32(60)}),
            has_aux=True,
        ),
        lambda j: j.lax.custom_linear_solve(
            lambda x: {"u": 2 * x["u"] + x["v"], "v": 3 * x["v"]},
            {"u": B[0], "v": B[1]},
            lambda mv, b: {"u": (b["u"] - b["v"] / 3) / 2, "v": b["v"] / 3},
        ),
    ],
)  # fmt: skip
def test_linear_solve(use):
    agree(use)


@pytest.mark.parametrize(
    ("error", "use"),
    [
        (TypeError, lambda j: j.grad(lambda b: solution(j, A, b, transpose_solve=None).sum())(B)),
        (ValueError, lambda j: j.lax.custom_linear_solve(lambda x: x[:1], B, lambda mv, b: b)),
        (TypeError, lambda j: j.lax.custom_linear_solve(lambda x: (x,), B, lambda mv, b: b)),
        (ValueError, lambda j: j.lax.custom_linear_solve(lambda x: x, B, lambda mv, b: b[:1])),
    ],
)
def test_linear_solve_errors(error, use):
    for j in (jax, jitney):
        with pytest.raises(error):
            use(j)


def square_root(j, a):
    def newton(f, x):
        return j.lax.fori_loop(0, 20, lambda _, v: v - f(v) / (2 * v), x)

    return j.lax.custom_root(lambda x: x**2 - a, a, newton, lambda g, y: y / g(1.0))


def damped_root(j, a, step, scale):
    """The solvers close over what may be traced."""

    def newton(f, x):
        return j.lax.fori_loop(0, 30, lambda _, v: v - step * f(v) / (2 * v), x)

    return j.lax.custom_root(lambda x: x**2 - a, a, newton, lambda g, y: scale * y / g(scale))


@pytest.mark.parametrize(
    "use",
    [
        lambda j: j.grad(lambda a, s, t: damped_root(j, a, s, t), (0, 1, 2))(2.0, 0.9, 3.0),
        lambda j: j.jvp(lambda a, s: damped_root(j, a, s, s), (2.0, 0.9), (1.0, 1.0)),
        lambda j: j.jit(j.grad(lambda a, s: damped_root(j, a, s, s)))(2.0, 0.9),
        lambda j: j.vmap(j.grad(lambda a, s: damped_root(j, a, s, s)))(B[:2] + 2, B[:2] * 0 + 1),
        lambda j: square_root(j, 2.0),
        lambda j: j.grad(lambda a: square_root(j, a))(2.0),
        lambda j: j.grad(j.grad(lambda a: square_root(j, a)))(2.0),
        lambda j: j.jit(j.jacfwd(lambda a: square_root(j, a)))(2.0),
        lambda j: j.vmap(j.grad(lambda a: square_root(j, a)))(np.array([2.0, 3.0], np.float32)),
        lambda j: j.lax.custom_root(
            lambda x: {"u": x["u"] - B}, {"u": B * 0}, lambda f, x: ({"u": x["u"] + B}, 7),
            lambda g, y: y, has_aux=True,
        ),
    ],
)  # fmt: skip
def test_root(use):
    agree(use)


# --- custom_gradient, closure_convert, linear_call ------------------------------------------------


def with_gradient(j):
    @j.custom_gradient
    def f(x, y):
        return {"s": j.numpy.sin(x) * y}, lambda g: (3 * g["s"] * x, g["s"] * 5)

    return f


@pytest.mark.parametrize(
    "use",
    [
        lambda j: with_gradient(j)(2.0, 3.0),
        lambda j: j.grad(lambda x, y: with_gradient(j)(x, y)["s"], argnums=(0, 1))(2.0, 3.0),
        lambda j: j.jit(j.grad(lambda x: with_gradient(j)(x, x)["s"]))(2.0),
        lambda j: j.vmap(j.grad(lambda x: with_gradient(j)(x, 2.0)["s"]))(B),
        lambda j: j.grad(j.custom_gradient(lambda x: (x**2, lambda g: g * 7)))(2.0),
    ],
)
def test_custom_gradient(use):
    agree(use)


def test_closure_convert():
    def use(j):
        def f(y, k):
            g, values = j.closure_convert(lambda x: (x * y).sum() + k, B)
            return g(2 * B, *values), np.int32(len(values))

        eager = f(B, 1)
        inside = j.grad(lambda y: f(y, 1)[0])(B)
        return eager, inside, j.jit(f)(B, 1)

    agree(use)
    f, values = jitney.closure_convert(lambda x: x, 1.0)
    assert values == []
    with pytest.raises(TypeError, match="structure"):
        f(1.0, 2.0)


def test_linear_call():
    def use(j):
        linear_call = module(j, "custom_derivatives").linear_call

        def f(r, x):
            return linear_call(lambda r, x: x * r["r"], lambda r, t: t / r["r"], {"r": r}, x)

        return (
            f(2.0, 3.0), j.grad(lambda x: f(2.0, x))(3.0), j.jvp(lambda x: f(2.0, x), (3.0,), (1.0,)),
            j.jit(j.grad(lambda x: f(x, 4.0) if False else f(2.0, x)))(3.0),
            j.linear_transpose(lambda t: j.linear_transpose(lambda x: f(2.0, x), 1.0)(t)[0], 1.0)(3.0),
        )  # fmt: skip

    agree(use)


# --- custom_vmap ----------------------------------------------------------------------------------


def with_batching(j, seen=None):
    custom_vmap = module(j, "custom_batching").custom_vmap

    @custom_vmap
    def f(x, y):
        return j.numpy.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        if seen is not None:
            seen.append((axis_size, in_batched))
        return j.numpy.cos(x) + y, in_batched[0]

    return f


@pytest.mark.parametrize(
    "use",
    [
        lambda j: with_batching(j)(1.0, 2.0),
        lambda j: j.jit(with_batching(j))(1.0, 2.0),
        lambda j: j.vmap(with_batching(j), in_axes=(0, None))(B, 2.0),
        lambda j: j.vmap(j.jit(with_batching(j)), in_axes=(0, None))(B, 2.0),
        lambda j: j.vmap(j.vmap(with_batching(j), in_axes=(0, None)), in_axes=(0, None))(A, 2.0),
        lambda j: j.grad(lambda x: j.vmap(with_batching(j), (0, None))(x, 2.0).sum())(B),
        lambda j: j.jvp(with_batching(j), (1.0, 2.0), (1.0, 1.0)),
        lambda j: j.vmap(lambda x: j.jvp(with_batching(j), (x, 2.0), (1.0, 0.0)))(B),
        lambda j: j.vmap(lambda t: j.jvp(with_batching(j), (1.0, 2.0), (t, 0.0))[0])(B)[0],
    ],
)
def test_custom_vmap(use):
    agree(use)


def test_custom_vmap_says_what_is_mapped():
    seen: list[Any] = []
    for j in (jax, jitney):
        j.vmap(with_batching(j, seen), in_axes=(None, 0))(1.0, B)
    assert seen[0] == seen[1] == (3, [False, True])


def test_custom_vmap_reverse_derivative():
    """There is none of calls that are not mapped in jax; here it is that of the operations."""
    close(jitney.grad(with_batching(jitney))(1.0, 2.0), np.float32(2 * np.cos(1.0)), rtol=1e-6)


def test_custom_vmap_errors():
    for j in (jax, jitney):
        custom_vmap = module(j, "custom_batching").custom_vmap
        f = custom_vmap(lambda x: x)
        with pytest.raises(AttributeError, match="No batching rule"):
            j.vmap(f)(B)
        f.def_vmap(lambda size, batched, x: (x, (True, True)))
        with pytest.raises(ValueError, match="structure"):
            j.vmap(f)(B)


def test_sequential_vmap():
    def use(j):
        sequential_vmap = module(j, "custom_batching").sequential_vmap
        f = sequential_vmap(lambda x, y: {"r": j.numpy.sin(x["a"]) * y})
        return j.vmap(f, in_axes=(0, None))({"a": B}, 2.0), j.vmap(f)({"a": B}, B)

    agree(use)


# --- platform_dependent ---------------------------------------------------------------------------


def test_platform_dependent():
    def use(j):
        def f(x):
            return j.lax.platform_dependent(x, cpu=lambda v: v * 3, default=lambda v: v - 1)

        other = j.lax.platform_dependent(1.0, tpu=lambda v: v, default=lambda v: v - 1)
        return f(1.0), j.grad(f)(1.0), j.jit(f)(2.0), other

    agree(use)
    for j in (jax, jitney):
        with pytest.raises(NotImplementedError):
            j.lax.platform_dependent(1.0, tpu=lambda v: v)


# --- ravel_pytree ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree",
    [
        {"a": A, "b": (1, np.arange(2))}, {}, {"a": A, "b": B}, [np.float32(1.0)],
        {"c": 1j, "b": B},
    ],
)  # fmt: skip
def test_ravel_pytree(tree):
    def use(j):
        vector, unravel = module(j, "flatten_util").ravel_pytree(tree)
        return vector, unravel(vector), j.jit(lambda v: unravel(2 * v))(vector)

    agree(use)


def test_unravel_errors():
    for j in (jax, jitney):
        ravel = module(j, "flatten_util").ravel_pytree
        vector, unravel = ravel({"a": A, "b": B})
        with pytest.raises(ValueError, match="12"):
            unravel(vector[1:])
        vector, unravel = ravel({"a": A, "b": np.arange(2)})
        with pytest.raises(TypeError, match="dtype"):
            unravel(vector.astype(int))


# --- check_grads ----------------------------------------------------------------------------------


def test_check_grads():
    check_grads = module(jitney, "test_util").check_grads
    jnp = jitney.numpy
    check_grads(lambda x, y: {"r": jnp.sin(x["a"]) * y}, ({"a": B}, 2.0), 2)
    check_grads(lambda x: x**3, (B,), 3, modes=["rev"])
    check_grads(lambda x, k: x * k, (B, 3), 1)

    @jitney.custom_jvp
    def wrong(x):
        return jnp.sin(x)

    wrong.defjvp(lambda xs, ts: (wrong(*xs), 2 * ts[0]))
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError):
            check_grads(wrong, (B,), 1, modes=[mode])


# --- odeint ---------------------------------------------------------------------------------------


def decay(j):
    return lambda y, t, a: -a * y + j.numpy.sin(t)


def swing(y, t):
    return {"x": y["v"], "v": -y["x"]}


def ode(j, *args, **options):
    return module(j, "experimental.ode").odeint(*args, **options)


@pytest.mark.parametrize(
    "use",
    [
        lambda j: ode(j, decay(j), B, TIMES, 0.7),
        lambda j: ode(j, decay(j), B, TIMES, 0.7, rtol=1e-3, atol=1e-3),
        lambda j: ode(j, decay(j), B, TIMES, 0.7, hmax=0.1),
        lambda j: ode(j, decay(j), B, TIMES, 0.7, rtol=1e-4, mxstep=3),
        lambda j: ode(j, swing, {"x": 1.0, "v": B}, TIMES),
        lambda j: j.grad(lambda y, a: ode(j, decay(j), y, TIMES, a).sum(), argnums=(0, 1))(B, 0.7),
        lambda j: j.grad(
            lambda t: (ode(j, decay(j), B, t, 0.7)[:, 0] * np.arange(5, dtype=np.float32)).sum()
        )(TIMES),
        lambda j: j.grad(lambda a: ode(j, lambda y, t: -a * y, B, TIMES)[-1].sum())(0.7),
        lambda j: j.jit(j.vmap(lambda y: ode(j, decay(j), y, TIMES, 0.7)))(A),
        lambda j: j.vmap(j.grad(lambda a: ode(j, decay(j), B, TIMES, a)[-1, 0]))(np.abs(B)),
    ],
)
def test_odeint(use):
    agree(use, rtol=2e-4, atol=2e-5)


def test_odeint_errors():
    for j in (jax, jitney):
        with pytest.raises(TypeError, match="floats"):
            ode(j, decay(j), B, np.arange(3), 0.7)
        with pytest.raises(TypeError, match="args must be arrays"):
            ode(j, decay(j), B, TIMES, "a")


def test_odeint_is_exact_enough():
    with jitney.enable_x64(True):
        times = np.linspace(0.0, 10.0, 11)
        out = ode(jitney, swing, {"x": 1.0, "v": 0.0}, times)
        np.testing.assert_allclose(out["x"], np.cos(times), atol=1e-6)
