"""Weak types of derivatives, factorizations and transforms, as in JAX: by types alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

Function = Callable[[Any, Any], Any]

# (library, x) -> array or arrays, for numbers and vectors.
FUNCTIONS: dict[str, Function] = {
    "x**2": lambda j, x: x**2,
    "x**3": lambda j, x: x**3,
    "x**-1": lambda j, x: x**-1,
    "x**0.5": lambda j, x: x**0.5,
    "2**x": lambda j, x: 2**x,
    "int32 ** x": lambda j, x: j.numpy.power(np.int32(2), x),
    "x ** array of ints": lambda j, x: j.numpy.power(x, j.numpy.array([2])),
    "square": lambda j, x: j.numpy.square(x),
    "sqrt": lambda j, x: j.numpy.sqrt(x),
    "rsqrt": lambda j, x: j.lax.rsqrt(x),
    "cbrt": lambda j, x: j.numpy.cbrt(x),
    "exp2": lambda j, x: j.numpy.exp2(x),
    "expm1": lambda j, x: j.numpy.expm1(x),
    "tan": lambda j, x: j.numpy.tan(x),
    "asin": lambda j, x: j.numpy.arcsin(x),
    "atan": lambda j, x: j.numpy.arctan(x),
    "asinh": lambda j, x: j.numpy.arcsinh(x),
    "tanh": lambda j, x: j.numpy.tanh(x),
    "erf": lambda j, x: j.lax.erf(x),
    "erfc": lambda j, x: j.lax.erfc(x),
    "erf_inv": lambda j, x: j.lax.erf_inv(x),
    "digamma": lambda j, x: j.lax.digamma(x),
    "logit": lambda j, x: j.scipy.special.logit(x),
    "betaln": lambda j, x: j.scipy.special.betaln(x, 2.0),
    "median": lambda j, x: j.numpy.median(x),
    "quantile": lambda j, x: j.numpy.quantile(x, 0.3),
    "dot": lambda j, x: j.numpy.dot(x, x),
    "dot with strong": lambda j, x: j.numpy.dot(x, j.numpy.ones(x.shape)),
    "where": lambda j, x: j.numpy.where(j.numpy.isnan(x), j.numpy.nan, x),
}

# Those whose derivatives in reverse are weakly typed by other rules.
FORWARDS: dict[str, Function] = {
    "x**x": lambda j, x: x**x,
    "norm.pdf": lambda j, x: j.scipy.stats.norm.pdf(x),
    "logistic.pdf": lambda j, x: j.scipy.stats.logistic.pdf(x),
    "cauchy.pdf": lambda j, x: j.scipy.stats.cauchy.pdf(x),
    "cauchy.isf": lambda j, x: j.scipy.stats.cauchy.isf(x),
    "laplace.pdf": lambda j, x: j.scipy.stats.laplace.pdf(x),
    "gumbel_r.sf": lambda j, x: j.scipy.stats.gumbel_r.sf(x),
}

# Those of vectors alone.
OF_VECTORS: dict[str, Function] = {
    "einsum": lambda j, x: j.numpy.einsum("i,i", x, x),
    "convolve": lambda j, x: j.numpy.convolve(x, x),
    "cumsum": lambda j, x: j.lax.cumsum(x),
    "cummax": lambda j, x: j.lax.cummax(x),
    "cumprod": lambda j, x: j.lax.cumprod(x, reverse=True),
    "window sums": lambda j, x: j.lax.reduce_window(x, 0.0, j.lax.add, (2,), (1,), "VALID"),
    "window maxima": lambda j, x: j.lax.reduce_window(x, -np.inf, j.lax.max, (2,), (1,), "VALID"),
    "set": lambda j, x: x.at[0].set(x[1]),
    "multiply": lambda j, x: x.at[0].mul(x[1]),
    "approx_max_k": lambda j, x: j.lax.approx_max_k(x, 1)[0],
    "rfft": lambda j, x: abs(j.numpy.fft.rfft(x)),
    "lax.fft": lambda j, x: abs(j.lax.fft(x, "rfft", (3,))),
}


def _cotangent(j: Any, f: Function) -> Callable[[Any], Any]:
    def cotangent(x: Any) -> Any:
        out, back = j.vjp(lambda x: f(j, x), x)
        return back(j.lax.full_like(out, 1))

    return cotangent


def _strong_cotangent(j: Any, f: Function) -> Callable[[Any], Any]:
    def cotangent(x: Any) -> Any:
        out, back = j.vjp(lambda x: f(j, x), x)
        return back(j.lax.full(out.shape, 1, out.dtype))

    return cotangent


WAYS: dict[str, Callable[[Any, Function], Callable[[Any], Any]]] = {
    "value": lambda j, f: lambda x: f(j, x),
    "jvp": lambda j, f: lambda x: j.jvp(lambda x: f(j, x), (x,), (x,)),
    "linearize": lambda j, f: lambda x: j.linearize(lambda x: f(j, x), x)[1](x),
    "vjp": _cotangent,
    "vjp of a strong one": _strong_cotangent,
    "grad": lambda j, f: j.grad(lambda x: f(j, x).sum()),
    "grad of jit": lambda j, f: j.grad(lambda x: j.jit(lambda x: f(j, x))(x).sum()),
}


def types(j: Any, function: Callable[..., Any], *args: Any) -> list[Any]:
    leaves = j.tree.leaves(j.eval_shape(function, *args))
    return [(a.shape, np.dtype(a.dtype).name, bool(a.weak_type)) for a in leaves]


def found(
    j: Any, way: str, f: Function, shape: tuple[int, ...], dtype: Any, weak: bool
) -> list[Any]:
    return types(j, WAYS[way](j, f), j.ShapeDtypeStruct(shape, dtype, weak_type=weak))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_VECTORS])
def test_derivatives(name: str, way: str) -> None:
    f = (FUNCTIONS | OF_VECTORS)[name]
    shapes = [(3,)] if name in OF_VECTORS else [(), (3,)]
    for shape in shapes:
        for weak in (True, False):
            given = shape, np.float32, weak
            assert found(jitney, way, f, *given) == of_jax(found, way, f, *given), (shape, weak)


@pytest.mark.parametrize("way", ["value", "jvp", "linearize"])
@pytest.mark.parametrize("name", FORWARDS)
def test_forward_derivatives(name: str, way: str) -> None:
    for shape, weak in [((), True), ((), False), ((3,), True), ((3,), False)]:
        given = way, FORWARDS[name], shape, np.float32, weak
        assert found(jitney, *given) == of_jax(found, *given), (shape, weak)


MATRICES: dict[str, Function] = {
    "cholesky": lambda j, x: j.lax.linalg.cholesky(x),
    "lu": lambda j, x: j.lax.linalg.lu(x),
    "qr": lambda j, x: j.lax.linalg.qr(x),
    "qr with pivots": lambda j, x: j.lax.linalg.qr(x, pivoting=True),
    "eigh": lambda j, x: j.lax.linalg.eigh(x),
    "eig": lambda j, x: j.lax.linalg.eig(x),
    "svd": lambda j, x: j.lax.linalg.svd(x),
    "hessenberg": lambda j, x: j.lax.linalg.hessenberg(x),
    "schur": lambda j, x: j.lax.linalg.schur(x),
    "tridiagonal": lambda j, x: j.lax.linalg.tridiagonal(x),
    "householder_product": lambda j, x: j.lax.linalg.householder_product(x, x[0]),
    "triangular_solve": lambda j, x: j.lax.linalg.triangular_solve(x, x),
    "of a strong side": lambda j, x: j.lax.linalg.triangular_solve(x, j.numpy.ones((3, 3))),
    "tridiagonal_solve": lambda j, x: j.lax.linalg.tridiagonal_solve(x[0], x[1], x[2], x),
    "jvp of lu": lambda j, x: j.jvp(j.lax.linalg.lu, (x,), (x,))[0],
    "vmap of svd": lambda j, x: j.vmap(j.lax.linalg.svd)(x[None]),
    "solve": lambda j, x: j.numpy.linalg.solve(x, x),
    "lu_factor": lambda j, x: j.scipy.linalg.lu_factor(x),
    "preferred": lambda j, x: j.lax.dot_general(
        x, x, (((1,), (0,)), ((), ())), preferred_element_type=np.float32
    ),
}


@pytest.mark.parametrize("weak", [True, False])
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, weak: bool) -> None:
    given = "value", MATRICES[name], (3, 3), np.float32, weak
    assert found(jitney, *given) == of_jax(found, *given)


# Of complex vectors: what divides and joins their parts, and transforms of them.
COMPLEX: dict[str, Function] = {
    "fft": lambda j, x: j.numpy.fft.fft(x),
    "irfft": lambda j, x: j.numpy.fft.irfft(x),
    "lax.fft": lambda j, x: j.lax.fft(x, "fft", (3,)),
    "x**2": lambda j, x: x**2,
    "sqrt": lambda j, x: j.numpy.sqrt(x),
}


@pytest.mark.parametrize("way", ["value", "jvp", "vjp", "linearize"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name: str, way: str) -> None:
    given = way, COMPLEX[name], (3,), np.complex64, True
    assert found(jitney, *given) == of_jax(found, *given)


@pytest.mark.parametrize("compiled", [False, True])
def test_elements_of_nothing_are_strongly_typed(compiled: bool) -> None:
    def is_weak(j: Any) -> bool:
        def take(x: Any) -> Any:
            return j.numpy.take_along_axis(x, j.numpy.zeros(0, int), axis=0)

        return (j.jit(take) if compiled else take)(j.lax.full((0,), 1.0)).weak_type

    assert is_weak(jitney) is of_jax(is_weak) is False
