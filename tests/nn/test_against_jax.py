"""`jax.nn` against real jax: values, types, derivatives and batches of every function."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import Raised, answer, jax
from tests.helpers.rule_checks import agree

import jitney
import jitney.nn

DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16]
TOLERANCE = {4: 2e-6, 2: 2e-2}
# Both sides of every bend and of every branch; none on a bend, where derivatives are a choice.
POINTS = [
    -200.0, -50.5, -9.0, -3.25, -2.5, -1.5, -0.75, -1e-3, 1e-3, 0.5, 0.75, 1.5, 2.5, 3.25, 5.5, 6.5,
    30.0, 200.0,
]  # fmt: skip
BENDS = [-np.inf, -3.0, -1.0, -0.0, 0.0, 1.0, 3.0, 6.0, np.inf, np.nan]

ELEMENTWISE: dict[str, Any] = {
    name: lambda nn, x, name=name: getattr(nn, name)(x)
    for name in (
        "celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid"
        " mish relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid"
        " squareplus swish tanh"
    ).split()
} | {
    "celu of another bend": lambda nn, x: nn.celu(x, 0.5),
    "elu of another bend": lambda nn, x: nn.elu(x, 0.5),
    "gelu by erf": lambda nn, x: nn.gelu(x, approximate=False),
    "leaky_relu of another slope": lambda nn, x: nn.leaky_relu(x, 0.25),
    "squareplus of another width": lambda nn, x: nn.squareplus(x, 1.0),
}  # fmt: skip

MASK = np.array([[True, False, True, True], [False, True, False, True], [True] * 4])
ROWS: dict[str, Any] = {
    "glu": lambda nn, x: nn.glu(x),
    "glu of rows": lambda nn, x: nn.glu(x[:2], axis=0),
    "softmax": lambda nn, x: nn.softmax(x),
    "softmax of columns": lambda nn, x: nn.softmax(x, axis=0),
    "softmax of all": lambda nn, x: nn.softmax(x, axis=(0, 1)),
    "softmax where": lambda nn, x: nn.softmax(x, where=MASK),
    "log_softmax": lambda nn, x: nn.log_softmax(x),
    "log_softmax of columns": lambda nn, x: nn.log_softmax(x, axis=0),
    "log_softmax where": lambda nn, x: nn.log_softmax(x, axis=1, where=MASK),
    "logsumexp": lambda nn, x: nn.logsumexp(x),
    "logsumexp of rows": lambda nn, x: nn.logsumexp(x, axis=1, keepdims=True),
    "logsumexp with weights": lambda nn, x: nn.logsumexp(x, axis=1, b=np.arange(4)),
    "logsumexp where": lambda nn, x: nn.logsumexp(x, axis=0, where=MASK),
    "logmeanexp": lambda nn, x: nn.logmeanexp(x),
    "logmeanexp of rows": lambda nn, x: nn.logmeanexp(x, axis=1),
    "logmeanexp where": lambda nn, x: nn.logmeanexp(x, axis=1, where=MASK),
    "standardize": lambda nn, x: nn.standardize(x),
    "standardize of columns": lambda nn, x: nn.standardize(x, axis=0, epsilon=1e-2),
    "standardize where": lambda nn, x: nn.standardize(x, where=MASK),
    "standardize by given moments": lambda nn, x: nn.standardize(x, mean=0.5, variance=2.0),
}


def rows(dtype: Any) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(3, 4)).astype(dtype) * np.asarray(3, dtype)


def tolerances(dtype: Any) -> dict[str, float]:
    bound = TOLERANCE[np.dtype(dtype).itemsize]
    return {"rtol": bound, "atol": bound}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values(name: str, dtype: Any) -> None:
    f = ELEMENTWISE[name]
    x = np.asarray(POINTS + BENDS, dtype)
    agree(lambda j: f(j.nn, x), **tolerances(dtype))
    agree(lambda j: j.jit(lambda v: f(j.nn, v))(x), **tolerances(dtype))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_derivatives(name: str) -> None:
    f = ELEMENTWISE[name]
    x = np.asarray(POINTS, np.float32)

    def use(j: Any) -> Any:
        slope = j.grad(lambda v: f(j.nn, v))
        return j.vmap(slope)(x), j.vmap(j.grad(slope))(x[3:-3]), j.jit(j.vmap(slope))(x)

    agree(use, rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize("dtype", [np.int32, np.bool_])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_integers(name: str, dtype: Any) -> None:
    """They become floats, stay integers, or are refused, as in JAX."""
    f = ELEMENTWISE[name]
    x = np.array([0, 1, 1, 0], dtype)
    if (name, dtype) == ("log_sigmoid", np.bool_):
        with pytest.raises(TypeError, match="neg"):
            f(jitney.nn, x)
        return
    if name in ("sigmoid", "silu", "swish"):  # which JAX refuses
        wanted = f(jitney.nn, x.astype(np.float32))
        np.testing.assert_array_equal(f(jitney.nn, x), wanted)
        return
    agree(lambda j: f(j.nn, x), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, dtype: Any) -> None:
    f, x = ROWS[name], rows(dtype)
    agree(lambda j: f(j.nn, x), **tolerances(dtype))
    agree(lambda j: j.jit(lambda v: f(j.nn, v))(x), **tolerances(dtype))


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_and_batches_of_rows(name: str) -> None:
    f, x = ROWS[name], rows(np.float32)

    def use(j: Any) -> Any:
        return (
            j.jacrev(lambda v: f(j.nn, v))(x), j.jacfwd(lambda v: f(j.nn, v))(x),
            j.vmap(lambda v: f(j.nn, v))(np.stack([x, -x])),
        )  # fmt: skip

    agree(use, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "row", [[np.inf, 0.0], [-np.inf, 0.0], [-np.inf] * 2, [np.nan, 0.0], [1e30, 1e30]]
)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "logmeanexp"])  # fmt: skip
def test_special_rows(name: str, row: list[float]) -> None:
    x = np.asarray(row, np.float32)
    agree(lambda j: getattr(j.nn, name)(x))


@pytest.mark.parametrize(
    "use",
    [
        lambda nn: nn.one_hot(np.array([[0, 2], [-1, 5]]), 3),
        lambda nn: nn.one_hot(np.array([0, 2]), 3, axis=0, dtype=np.float16),
        lambda nn: nn.one_hot(np.array([1, 0]), 2, dtype=bool),
        lambda nn: nn.one_hot(np.zeros((0, 2), np.int32), 3),
        lambda nn: nn.log1mexp(np.array([1e-6, 0.5, 3.0, 50.0, np.inf, 0.0, -1.0, np.nan], "f")),
        lambda nn: nn.softmax(np.zeros((2, 0), np.float32)),
        lambda nn: nn.logsumexp(np.zeros((0, 2), np.float32), axis=1),
        lambda nn: nn.logsumexp(
            np.array([1.0, 2.0], np.float32), b=np.array([1.0, -2.0], np.float32), return_sign=True
        ),
    ],
)  # fmt: skip
def test_other_values(use: Any) -> None:
    agree(lambda j: use(j.nn), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    "use",
    [
        lambda nn, x: nn.softmax(x, axis=2),
        lambda nn, x: nn.glu(x[:, :3]),
        lambda nn, x: nn.one_hot(np.array([0]), 3, axis=4),
        lambda nn, x: nn.relu("x"),
    ],
)
def test_errors(use: Any) -> None:
    x = rows(np.float32)
    wanted = answer(lambda: use(jax.nn, x))
    assert isinstance(wanted, Raised)
    with pytest.raises(Exception) as found:
        use(jitney.nn, x)
    assert found.type.__name__ == wanted.name


def test_derivative_of_softmax_by_its_result():
    x = np.array([5.5, 1.3, -4.2, 0.9], np.float32)
    mask = np.array([True, False, True, True])

    def slopes(f):
        jacobian = jitney.jacrev(f)
        return jacobian(x), jitney.jacfwd(jacobian)(x)

    for limits in ({}, {"where": mask}):

        def f(x, limits=limits):
            return jitney.nn.softmax(x, **limits)

        expected = slopes(f)
        with jitney.softmax_custom_jvp(True):
            found = slopes(f)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_one_hot_of_floats_is_deprecated():
    with pytest.warns(
        DeprecationWarning, match="one_hot: `x` should have an integer dtype, but it is float32"
    ):
        out = jitney.nn.one_hot(np.array([1.0, 5.0], np.float32), 3)
    np.testing.assert_array_equal(out, [[0, 1, 0], [0, 0, 0]])
