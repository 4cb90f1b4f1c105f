"""Sums of many terms along any axis: the error grows with their logarithm, eagerly and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.compiler.reference import reduction

BOUND = 256  # units of roundoff of the sum of positive terms; a sum in order loses thousands

SUMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: jnp.sum(x, 0),
    "mean": lambda x: jnp.mean(x, 0) * x.shape[0],
    "nansum": lambda x: jnp.nansum(x, 0),
    "average": lambda x: jnp.average(x, axis=0, weights=jnp.ones(x.shape[0])) * x.shape[0],
    "einsum": lambda x: jnp.einsum("ij->j", x),
    "einsum of two": lambda x: jnp.einsum("ij,i->j", x, jnp.ones(x.shape[0], x.dtype)),
    "vector times matrix": lambda x: jnp.ones(x.shape[0], x.dtype) @ x,
    "matrix times vector": lambda x: x.T @ jnp.ones(x.shape[0], x.dtype),
    "norm": lambda x: jnp.linalg.norm(jnp.sqrt(x), axis=0) ** 2,
    "var": lambda x: (
        jnp.var(jnp.where(jnp.arange(x.shape[0])[:, None] % 2, 1, -1) * jnp.sqrt(x), 0) * x.shape[0]
    ),
    "cumsum": lambda x: jnp.cumsum(x, 0)[-1],
    "cumsum from the end": lambda x: jitney.lax.cumsum(x, 0, reverse=True)[0],
    "cumsum of rows": lambda x: jnp.cumsum(x.T, 1)[:, -1],
}


@pytest.mark.parametrize("width", [1, 3, 40])
@pytest.mark.parametrize("name", SUMS)
def test_along_the_first_axis(name: str, width: int):
    x = np.full((300_000, width), 1e-6, np.float32)
    exact = x[0].astype(float) * len(x)
    for f in (SUMS[name], jitney.jit(SUMS[name])):
        np.testing.assert_allclose(np.asarray(f(x)), exact, rtol=BOUND * 2.0**-24)


@pytest.mark.parametrize("dtype", [np.complex64, np.float16, jnp.bfloat16])
def test_dtypes(dtype: Any):
    x = np.full((300_000, 3), 1e-2).astype(dtype)
    x = x * dtype(1 + 2j) if dtype is np.complex64 else x
    exact = x[0].astype(complex) * len(x)
    for f in (lambda x: jnp.sum(x, 0), jitney.jit(lambda x: jnp.sum(x, 0))):
        rounding = 0 if dtype is np.complex64 else float(jnp.finfo(dtype).eps)
        found = np.asarray(f(x)).astype(complex)
        np.testing.assert_allclose(found, exact, rtol=BOUND * 2.0**-24 + rounding)


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)])
@pytest.mark.parametrize("shape", [(2100, 3, 2), (3, 1111, 5), (1, 5000, 1), (1500, 2, 700)])
def test_axes_and_layouts(shape: tuple[int, ...], order: tuple[int, ...], dims: tuple[int, ...]):
    x = np.random.default_rng(0).uniform(1, 2, shape).astype(np.float32).transpose(order)
    for view in (x, x[::-1], x[1:, :, ::-1] if len(x) > 1 else x):
        found = reduction.reduce(view, "add", dims)
        exact = view.sum(dims, dtype=np.float64)
        assert (found.shape, found.dtype) == (exact.shape, np.float32)
        np.testing.assert_allclose(found, exact, rtol=BOUND * 2.0**-24)


def test_negative_zero_infinities_and_nan():
    x = np.full((5000, 3), -0.0, np.float32)
    assert np.signbit(reduction.reduce(x, "add", (0,))).all() == np.signbit(x.sum(0)).all()
    x[2000] = np.inf
    x[4000, 1], x[100, 2] = -np.inf, np.nan
    np.testing.assert_array_equal(jnp.sum(x, 0), [np.inf, np.nan, np.nan])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64, np.float64])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((4096,), 0), ((4097,), 0), ((8192, 2), 0), ((9000, 3), 0), ((3, 7000), 1), ((2, 5000, 5), 1)],
)
def test_running_sums_have_the_same_bits(
    shape: tuple[int, ...], axis: int, dtype: Any, reverse: bool
):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    if dtype is np.complex64:
        x = x + dtype(1j) * rng.normal(size=shape).astype(np.float32)
    x.reshape(-1)[::7] = -0.0

    def running(x: Any) -> Any:
        return jitney.lax.cumsum(x, axis, reverse=reverse)

    for operand in (x, np.full_like(x, -0.0)):
        with jitney.enable_x64(dtype is np.float64):
            eager, compiled = np.asarray(running(operand)), np.asarray(jitney.jit(running)(operand))
        assert eager.dtype == dtype
        assert eager.tobytes() == compiled.tobytes()
        wide = np.flip(operand, axis) if reverse else operand
        exact = np.cumsum(wide, axis, dtype=np.complex128)
        exact = np.flip(exact, axis) if reverse else exact
        # Those of narrower dtypes are carried in float64: what is left is a rounding of each.
        rounding = {np.float16: 2.0**-11, np.float64: 1e-12}.get(dtype, 2.0**-24)
        in_order = 1e-3 if shape[axis] <= reduction.LONG_RUN else 1e-11
        error = np.abs(eager.astype(complex) - exact)
        assert (error <= 1.5 * rounding * np.abs(exact) + in_order).all()


def test_running_sums_of_equal_terms_do_not_drift():
    x = np.full(2_000_000, 0.1, np.float32)
    exact = np.cumsum(x, dtype=np.float64)
    for found in (jnp.cumsum(x), jitney.jit(jnp.cumsum)(x)):
        np.testing.assert_allclose(found, exact, rtol=2.0**-23)


@pytest.mark.parametrize("n", [300_000, 1_000_001])
def test_convolutions_with_long_windows(n: int):
    x = np.full(n, 1e-6, np.float32)
    for f in (jnp.convolve, jitney.jit(jnp.convolve, static_argnums=2)):
        (total,) = np.asarray(f(x, jnp.ones(n, np.float32), "valid"))
        np.testing.assert_allclose(total, float(x[0]) * n, rtol=BOUND * 2.0**-24)


RUNNING: dict[str, tuple[Callable[..., Any], float, Callable[[Any], Any]]] = {
    "cumprod": (jitney.lax.cumprod, 1 + 2.0**-18, lambda k: (1 + 2.0**-18) ** k),
    "cumlogsumexp": (jitney.lax.cumlogsumexp, 0.0, np.log),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "axis"), [((300_000,), 0), ((9000, 3), 0), ((2, 5000, 2), 1), ((5123,), 0)]
)
@pytest.mark.parametrize("name", RUNNING)
def test_running_folds_do_not_drift(
    name: str, shape: tuple[int, ...], axis: int, dtype: Any, reverse: bool
):
    fold, term, exact = RUNNING[name]

    def running(x: Any) -> Any:
        return fold(x, axis, reverse=reverse)

    counts = np.arange(1.0, shape[axis] + 1)
    wanted = exact(counts[::-1] if reverse else counts)
    with jitney.enable_x64(dtype is np.float64):
        x = np.full(shape, term, dtype)
        for f in (running, jitney.jit(running)):
            found = np.moveaxis(np.asarray(f(x)), axis, -1)
            assert found.dtype == dtype
            rtol = 2.0**-23 if dtype is np.float32 else 2e-12
            np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), rtol, 1e-12)
