"""Reductions over windows, and their derivatives, against real jax."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import of_jax
from tests.helpers.rule_checks import close

import jitney
from jitney.test_util import check_grads

X = np.random.default_rng(0).permutation(60).astype(np.float32).reshape(5, 6, 2)
TIES = np.round(X / 12)
WEIGHTS = (np.random.default_rng(1).integers(-99, 100, 999) / 100).astype(np.float32)
WINDOWS = [
    {"window_dimensions": (2, 2, 1)},
    {"window_dimensions": (3, 2, 1), "window_strides": (2, 3, 1)},
    {"window_dimensions": (2, 3, 2), "window_strides": (1, 2, 1), "padding": "SAME"},
    {"window_dimensions": (2, 3, 1), "window_strides": (3, 2, 1), "padding": "SAME_LOWER"},
    {"window_dimensions": (2, 2, 1), "padding": ((1, 2), (0, 1), (0, 0))},
    {"window_dimensions": (5, 6, 2)},
    {"window_dimensions": (1, 1, 1)},
]
DILATED = [
    {"window_dimensions": (2, 2, 1), "window_dilation": (2, 3, 1), "padding": "SAME"},
    {"window_dimensions": (2, 3, 1), "base_dilation": (2, 1, 1), "window_strides": (1, 2, 1)},
    {
        "window_dimensions": (9, 3, 1),
        "window_dilation": (1, 2, 1),
        "padding": ((4, 4), (2, 3), (0, 0)),
    },
    {"window_dimensions": (6, 2, 1)},
]
FOLDS = {
    "sum": lambda j: (0.0, j.lax.add),
    "max": lambda j: (-np.inf, j.lax.max),
    "min": lambda j: (np.inf, j.lax.min),
    "product": lambda j: (1.0, j.lax.mul),
    "any": lambda j: (0.0, lambda a, b: a + b),
    "sum from 10": lambda j: (10.0, j.lax.add),
}


def windows(j, kind, params):
    init, fold = FOLDS[kind](j)
    options = {"window_strides": (1, 1, 1), "padding": "VALID", **params}
    return lambda x: j.lax.reduce_window(x, init, fold, **options)


@pytest.mark.parametrize("kind", FOLDS)
@pytest.mark.parametrize("params", WINDOWS + DILATED, ids=str)
def test_values(kind, params):
    want, mapped = of_jax(
        lambda j: (
            windows(j, kind, params)(X / 40),
            j.vmap(windows(j, kind, params), 1, 2)(np.stack([X, TIES], 1)),
        )
    )
    close(windows(jitney, kind, params)(X / 40), want, rtol=3e-5)
    run = jitney.jit(jitney.vmap(windows(jitney, kind, params), in_axes=1, out_axes=2))
    close(run(np.stack([X, TIES], 1)), mapped, rtol=3e-5)


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("params", WINDOWS, ids=str)
def test_derivatives(kind, params):
    def use(j):
        def loss(x):
            out = windows(j, kind, params)(x)
            return (out * WEIGHTS[: out.size].reshape(out.shape)).sum()

        def square(x):
            return (windows(j, kind, params)(x) ** 2).sum()

        return (
            j.grad(loss)(X), j.grad(loss)(TIES), j.jit(j.grad(loss))(X),
            j.jvp(windows(j, kind, params), (X,), (TIES,))[1],
            j.jvp(j.grad(square), (X,), (TIES,))[1], j.vmap(j.grad(square))(np.stack([X, TIES])),
        )  # fmt: skip

    close(use(jitney), of_jax(use), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("params", DILATED, ids=str)
def test_derivative_of_sums_with_dilation(params):
    def use(j):
        return j.grad(lambda x: (windows(j, "sum", params)(x) ** 2).sum())(X)

    close(use(jitney), of_jax(use), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("fold", ["max", "min"])
@pytest.mark.parametrize("start", [2.0, -np.inf, np.inf, np.nan])
def test_derivative_of_extremes_from_any_start(fold, start):
    """Where the windows' element is chosen, the first of equal ones; compiled as by itself."""
    x = np.float32([4, -3, 4, 4, np.nan, 0, -2, -2, -2, 3, 5, 5])

    def folded(x):
        op = getattr(jitney.lax, fold)
        return jitney.lax.reduce_window(x, np.float32(start), op, (3,), (1,), "SAME")

    def gradient(x):
        return jitney.grad(lambda x: folded(x).sum())(x)

    eager = np.asarray(gradient(x))
    np.testing.assert_array_equal(eager, jitney.jit(gradient)(x))
    values = np.asarray(folded(x))
    by_elements = (values != start) | np.isnan(values)
    assert eager.sum() == by_elements.sum()
    assert set(np.unique(eager)) <= {0, 1, 2, 3}


def test_derivative_of_any_fold():
    """There is a reverse derivative of products, too; real jax has none."""
    f = windows(jitney, "product", WINDOWS[0])
    with jitney.enable_x64(True):
        x = np.asarray(X / 30 + 0.1, np.float64)
        check_grads(f, (x,), 1, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("fold", ["max", "min"])
def test_derivatives_of_complex_extremes(fold):
    """Complex numbers are ordered by their real parts, then the imaginary ones; JAX refuses these."""
    x = np.array([1 + 2j, 1 - 3j, 5j, 2, 2 + 1j, 0], np.complex64)
    t = np.arange(1, 7).astype(np.complex64) * (1 + 1j)
    start = np.complex64(-np.inf if fold == "max" else np.inf)

    def of(x):
        return jitney.lax.reduce_window(x, start, getattr(jitney.lax, fold), (3,), (1,), "VALID")

    chosen = np.array(
        [i + (max if fold == "max" else min)(range(3), key=lambda k: (x[i + k].real, x[i + k].imag))
         for i in range(4)]
    )  # fmt: skip
    for run in (lambda f: f, jitney.jit):
        values, tangents = run(lambda x, t: jitney.jvp(of, (x,), (t,)))(x, t)
        np.testing.assert_array_equal(values, x[chosen])
        np.testing.assert_array_equal(tangents, t[chosen])
        (cotangent,) = run(lambda x: jitney.vjp(of, x)[1](jitney.numpy.ones_like(of(x))))(x)
        np.testing.assert_array_equal(cotangent, np.bincount(chosen, minlength=6))


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_dtypes(dtype, kind):
    def use(j):
        init, fold = FOLDS[kind](j)
        x = X.astype(dtype)
        if np.dtype(dtype).kind in "iu" and kind != "sum":
            init = np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max
        out = j.lax.reduce_window(
            x, np.asarray(init).astype(dtype), fold, (2, 3, 1), (1, 1, 1), "SAME"
        )
        return np.asarray(out).astype(np.float32)

    close(use(jitney), of_jax(use), rtol=1e-2)


def test_several_arrays():
    def use(j):
        return j.lax.reduce_window(
            {"a": X, "b": X.astype(np.int32)}, {"a": np.float32(0), "b": np.int32(0)},
            lambda p, q: {"a": p["a"] + q["a"], "b": p["b"] * 2 + q["b"]},
            (2, 2, 1), (1, 1, 1), "VALID",
        )  # fmt: skip

    want, got = of_jax(use), use(jitney)
    close((got["a"], got["b"]), (want["a"], want["b"]))


@pytest.mark.parametrize("kind", ["sum", "max", "product"])
def test_programs_print_alike(kind):
    def text(j):
        return str(j.make_jaxpr(windows(j, kind, {"window_dimensions": (2, 2, 1)}))(X))

    assert text(jitney) == of_jax(text)


def test_shapes_and_errors():
    def asserted(j):
        lax = j.lax
        assert lax.reduce_window_shape_tuple((3, 5), (2, 2), (1, 2), ((0, 0), (1, 1))) == (2, 3)
        assert lax.padtype_to_pads((5, 6), (2, 3), (1, 2), "SAME") == [(0, 1), (0, 1)]
        with pytest.raises(TypeError, match="window_dimensions"):
            lax.reduce_window(X, 0.0, lax.add, (2,), (1, 1, 1), "VALID")
        with pytest.raises(RuntimeError, match="VALI"):
            lax.reduce_window(X, 0.0, lax.add, (2, 2, 1), (1, 1, 1), "VALI")

    asserted(jitney)
    assert of_jax(asserted) is None
