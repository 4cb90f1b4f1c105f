"""Products with booleans, as in XLA: where they select, and where they multiply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

INF, NAN = np.inf, np.nan
X = np.array([0, 1, INF, -1, NAN, 2], np.float32)
Y = np.array([NAN, INF, 0, 1, 2, -3], np.float32)
M = np.array([False, True, False, True, False, True])


def same(ours: Any, theirs: Any) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
    if ours.dtype.kind in "fc":
        for part in ("real", "imag"):
            a, b = getattr(ours, part), getattr(theirs, part)
            known = ~np.isnan(a)
            np.testing.assert_array_equal(np.signbit(a[known]), np.signbit(b[known]))


# (library, x, y, mask) -> array of the shape of x
PRODUCTS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "x * mask": lambda j, x, y, m: x * m,
    "mask * x": lambda j, x, y, m: m * x,
    "multiply": lambda j, x, y, m: j.numpy.multiply(x, m),
    "comparison": lambda j, x, y, m: x * (x > 0),
    "no NaN": lambda j, x, y, m: x * ~j.numpy.isnan(x),
    "two masks": lambda j, x, y, m: x * (x > 0) * m,
    "product of masks": lambda j, x, y, m: x * ((x > 0) * m),
    "converted": lambda j, x, y, m: x * m.astype(x.dtype),
    "converted, in front": lambda j, x, y, m: m.astype(x.dtype) * x,
    "converted by lax": lambda j, x, y, m: j.lax.mul(j.lax.convert_element_type(m, x.dtype), x),
    "converted twice": lambda j, x, y, m: x * m.astype(np.int32).astype(x.dtype),
    "integer": lambda j, x, y, m: x * m.astype(np.int32),
    "complement": lambda j, x, y, m: x * (1 - m),
    "scaled mask": lambda j, x, y, m: x * (2 * m),
    "scaled product": lambda j, x, y, m: 2.0 * (x * m),
    "mask times one": lambda j, x, y, m: j.numpy.ones(6, x.dtype) * m * x,
    "negative": lambda j, x, y, m: -x * m,
    "reversed": lambda j, x, y, m: x * j.numpy.flip(m).astype(x.dtype),
    "reversed after": lambda j, x, y, m: x * j.numpy.flip(m.astype(x.dtype)),
    "of a quotient": lambda j, x, y, m: x / y * m,
    "of a logarithm": lambda j, x, y, m: j.numpy.log(x) * (x > 0),
    "of two factors": lambda j, x, y, m: y * j.numpy.log(x) * m,
    "mask in the middle": lambda j, x, y, m: y * m * j.numpy.log(x),
    "one element": lambda j, x, y, m: x * m[0],
    "constant mask": lambda j, x, y, m: x * M,
    "NumPy's x": lambda j, x, y, m: X * m + 0 * x[1],
    "one row": lambda j, x, y, m: (x[:, None] * m[None, :1])[:, 0],
    "identity": lambda j, x, y, m: (x[:, None] * j.numpy.eye(6))[1],
    "einsum": lambda j, x, y, m: x + j.numpy.einsum("i,i->", x, m),
    "dot": lambda j, x, y, m: y * j.numpy.dot(x, m),
    "lax.dot": lambda j, x, y, m: y * j.lax.dot(x, m.astype(x.dtype)),
    "batch of dots": lambda j, x, y, m: j.numpy.einsum("bi,bi->b", x[:, None], m[:, None]),
    "average": lambda j, x, y, m: y * j.numpy.average(x, weights=m),
    "scan": lambda j, x, y, m: j.lax.scan(lambda c, r: (c, r[0] * r[1]), 0.0, (x, m))[1],
    "rematerialized": lambda j, x, y, m: j.checkpoint(lambda x: j.numpy.log(x) * m)(x),
    "greatest": lambda j, x, y, m: y * j.numpy.max(x[1:3] * m[1:3]),
}


def ways(j: Any, f: Callable[[Any, Any, Any, Any], Any]) -> dict[str, Callable[..., Any]]:
    """Values, gradients, tangents and batches of `f`, evaluated and compiled."""

    def value(x: Any, y: Any, m: Any) -> Any:
        return f(j, x, y, m)

    def gradient(x: Any, y: Any, m: Any) -> Any:
        return j.grad(lambda x: j.numpy.sum(f(j, x, y, m)))(x)

    def tangent(x: Any, y: Any, m: Any) -> Any:
        return j.jvp(lambda x: f(j, x, y, m), (x,), (y,))[1]

    def batch(x: Any, y: Any, m: Any) -> Any:
        of_rows = j.vmap(lambda x, m: f(j, x, y, m))
        return of_rows(j.numpy.stack([x, x]), j.numpy.stack([m, ~m]))

    return {"value": value, "gradient": gradient, "tangent": tangent, "batch": batch}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_those_of_jax(name: str) -> None:
    product = PRODUCTS[name]

    def results(j: Any) -> list[Any]:
        given = [j.numpy.asarray(v) for v in (X, Y, M)]
        found = []
        for way, f in ways(j, product).items():
            found.append(j.jit(f)(*given))
            if way in ("value", "tangent"):
                found.append(f(*given))
        return found

    for ours, theirs in zip(results(jitney), of_jax(results), strict=True):
        same(ours, theirs)


@pytest.mark.parametrize("name", ["x * mask", "comparison", "of a logarithm", "dot"])
@pytest.mark.parametrize("way", ["gradient", "batch"])
def test_transformations_outside_of_programs(name: str, way: str) -> None:
    product = PRODUCTS[name]

    def result(j: Any) -> Any:
        return ways(j, product)[way](*[j.numpy.asarray(v) for v in (X, Y, M)])

    same(result(jitney), of_jax(result))


DTYPES = ["float16", "bfloat16", "float32", "complex64", "float8_e5m2"]


@pytest.mark.parametrize("dtype", [*DTYPES, "float64", "complex128"])
def test_dtypes(dtype: str) -> None:
    def results(j: Any) -> list[Any]:
        x = j.numpy.array([INF, -3, NAN, 2]).astype(dtype)
        m = j.numpy.array([False, False, False, True])
        f = [lambda x, m: x * m, lambda x, m: m.astype(x.dtype) * x]
        products = [f[0](x, m), f[1](x, m), j.jit(f[0])(x, m), j.jit(f[1])(x, m)]
        if dtype != "float8_e5m2":
            products += [j.numpy.dot(x, m), j.jit(j.numpy.dot)(x, m)]
        return [p.astype("complex128") for p in products]

    with jitney.enable_x64(True):
        for ours, theirs in zip(results(jitney), of_jax(results, x64=True), strict=True):
            same(ours, theirs)


SCALARS = {
    "bool": lambda j: j.numpy.asarray(INF) * False,
    "bool, in front": lambda j: False * j.numpy.asarray(INF),
    "NumPy's": lambda j: j.numpy.asarray(INF) * np.False_,
    "float": lambda j: INF * j.numpy.asarray(False),
    "NumPy's float": lambda j: np.float32(INF) * j.numpy.asarray(False),
    "two numbers": lambda j: j.numpy.multiply(INF, False),
    "in jit": lambda j: j.jit(lambda x: x * False)(INF),
    "of an array": lambda j: j.numpy.asarray(X) * False,
    "number of a mask": lambda j: INF * j.numpy.asarray(M),
    "tangent": lambda j: j.jvp(lambda x: x * False, (INF,), (INF,))[1],
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars(name: str) -> None:
    ours, theirs = SCALARS[name](jitney), of_jax(SCALARS[name])
    same(ours, theirs)
    assert ours.weak_type == theirs.weak_type


def test_programs_print_as_in_jax() -> None:
    for f in (
        lambda x, m: x * m,
        lambda x, m: m * x,
        lambda x, m: x * True,
    ):
        assert str(jitney.make_jaxpr(f)(X, M)) == of_jax(lambda j, f=f: str(j.make_jaxpr(f)(X, M)))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_notes_end_with_their_context() -> None:
    x, m = jitney.numpy.asarray(X), jitney.numpy.asarray(M)
    same(x * m, np.where(M, X, np.float32(0)))
    same(x * m.astype(x.dtype), X * M.astype(np.float32))
    with pytest.raises(TypeError):
        jitney.numpy.multiply(m, x[:4])
    same(x * m.astype(x.dtype), X * M.astype(np.float32))


CONTRACTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "products": lambda J, x, m: J.einsum("i,i->i", x, m),
    "mask in front": lambda J, x, m: J.einsum("i,i->i", m, x),
    "sum": lambda J, x, m: J.einsum("i,i", x[:4], m[:4]),
    "free axes of the mask": lambda J, x, m: J.einsum("ij,i->ij", J.stack([m, ~m], 1), x),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_contractions_of_complex_numbers(name: str) -> None:
    x = np.array([complex(1, INF), complex(NAN, -2), complex(-2, NAN), 3, complex(INF, 3), 1])
    x = x.astype(np.complex64)

    def contraction(j: Any) -> Callable[[Any, Any], Any]:
        return lambda x, m: CONTRACTIONS[name](j.numpy, x, m)

    theirs = of_jax(lambda j: np.asarray(contraction(j)(x, M)))
    for f in (contraction(jitney), jitney.jit(contraction(jitney))):
        same(f(x, M), theirs)


CONSTANTS = {
    "array": M,
    "array of JAX": None,
    "nothing": np.zeros(6, bool),
    "everything": np.ones(6, bool),
    "one element": np.array([False]),
    "two axes": np.stack([M, ~M]),
    "scalar": np.bool_(False),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["complex64", "float32"])
@pytest.mark.parametrize("name", CONSTANTS)
def test_masks_that_are_constants_of_the_program(name: str, dtype: str) -> None:
    x = np.array([complex(1, INF), complex(NAN, -2), complex(-2, NAN), 3, complex(INF, 3), 1])
    x = (x if dtype == "complex64" else x.real).astype(dtype)

    def products(j: Any) -> list[Any]:
        m = j.numpy.asarray(M) if CONSTANTS[name] is None else CONSTANTS[name]
        x_ = x[:1] if m.size == 1 else x
        two = (lambda x: x * m, lambda x: j.numpy.vdot(m, x) if m.shape == x.shape else m * x)
        return [np.asarray(j.jit(f)(x_)) for f in two]

    for ours, theirs in zip(products(jitney), of_jax(products), strict=True):
        same(ours, theirs)


def test_no_elements_times_no_mask() -> None:
    nothing = jitney.jit(lambda x: x * np.zeros(0, bool))(np.zeros(0, np.complex64))
    assert nothing.shape == (0,) and nothing.dtype == np.complex64
