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
    "expi": lambda j, x: j.scipy.special.expi(x),
    "exp1": lambda j, x: j.scipy.special.exp1(x),
    "expn": lambda j, x: j.scipy.special.expn(2, x),
    "sici": lambda j, x: j.scipy.special.sici(x)[1],
    "fresnel": lambda j, x: j.scipy.special.fresnel(x)[0],
    "log_ndtr": lambda j, x: j.scipy.special.log_ndtr(x),
    "polygamma": lambda j, x: j.scipy.special.polygamma(1, x),
    "zeta": lambda j, x: j.scipy.special.zeta(3.0, x),
    "xlogy": lambda j, x: j.scipy.special.xlogy(x, x),
    "xlog1py": lambda j, x: j.scipy.special.xlog1py(2.0, x),
    "norm.logcdf": lambda j, x: j.scipy.stats.norm.logcdf(x),
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


# Those of numbers alone: parameters that are stretched to vectors have other weak types.
OF_NUMBERS: dict[str, Function] = {
    "beta.logpdf": lambda j, x: j.scipy.stats.beta.logpdf(x, 2.0, 3.0),
    "poisson.logpmf": lambda j, x: j.scipy.stats.poisson.logpmf(2, x),
}

# Those that hold programs.
OF_PROGRAMS: dict[str, Function] = {
    "cond": lambda j, x: j.lax.cond(True, lambda x: x * x, lambda x: x, x),
    "switch": lambda j, x: j.lax.switch(1, [lambda x: x, lambda x: x * 3.0], x),
    "scan": lambda j, x: j.lax.scan(lambda c, _: (c * x, c), x, None, 3)[0],
    "rows of scan": lambda j, x: j.lax.scan(lambda c, _: (c * x, c), x, None, 3)[1],
    "fori_loop": lambda j, x: j.lax.fori_loop(0, 3, lambda _, c: c * x, x),
    "map": lambda j, x: j.lax.map(lambda y: y * x, j.numpy.stack([x, x])),
    "checkpoint": lambda j, x: j.checkpoint(lambda x: j.numpy.sin(x) * x)(x),
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


def _weak_cotangent(j: Any, f: Function) -> Callable[[Any], Any]:
    def cotangent(x: Any) -> Any:
        out, back = j.vjp(lambda x: f(j, x), x)
        return back(j.lax.full(out.shape, 1.0))

    return cotangent


WAYS: dict[str, Callable[[Any, Function], Callable[[Any], Any]]] = {
    "value": lambda j, f: lambda x: f(j, x),
    "jvp": lambda j, f: lambda x: j.jvp(lambda x: f(j, x), (x,), (x,)),
    "linearize": lambda j, f: lambda x: j.linearize(lambda x: f(j, x), x)[1](x),
    "vjp": _cotangent,
    "vjp of a strong one": _strong_cotangent,
    "vjp of a weak one": _weak_cotangent,
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
@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_VECTORS, *OF_NUMBERS, *OF_PROGRAMS])
def test_derivatives(name: str, way: str) -> None:
    f = (FUNCTIONS | OF_VECTORS | OF_NUMBERS | OF_PROGRAMS)[name]
    shapes = ([()] if name not in OF_VECTORS else []) + ([(3,)] if name not in OF_NUMBERS else [])
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


def _of_python_number(j: Any, f: Function) -> list[bool]:
    """Weakness of what derivatives give at once for Python numbers."""
    of_x = lambda x: f(j, x)  # noqa: E731
    found = j.jvp(of_x, (1.3,), (1.3,)), j.grad(of_x)(1.3), j.vjp(of_x, 1.3)[1](1.0)
    return [bool(a.weak_type) for a in j.tree.leaves(found)]


@pytest.mark.parametrize(
    "name", ["expi", "exp1", "expn", "sici", "fresnel", "log_ndtr", "polygamma", "xlogy", "scan"]
)
def test_derivatives_at_python_numbers(name: str) -> None:
    f = (FUNCTIONS | OF_PROGRAMS)[name]
    assert _of_python_number(jitney, f) == of_jax(_of_python_number, f)


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


def _symmetric(j: Any, x: Any) -> Any:
    return j.numpy.stack([j.numpy.stack([x * 3, x]), j.numpy.stack([x, x * 2])])


# Elements of functions of a matrix [[3 x, x], [x, 2 x]].
OF_MATRICES: dict[str, Function] = {
    "cholesky": lambda j, a: j.numpy.linalg.cholesky(a)[0, 0],
    "inv": lambda j, a: j.numpy.linalg.inv(a)[0, 0],
    "solve": lambda j, a: j.numpy.linalg.solve(a, a[0])[0],
    "triangular_solve": lambda j, a: j.scipy.linalg.solve_triangular(a, a[0])[0],
    "tridiagonal_solve": lambda j, a: j.lax.linalg.tridiagonal_solve(a[0], a[1], a[0], a)[0, 0],
    "cho_solve": lambda j, a: j.scipy.linalg.cho_solve((a, True), a[0])[0],
    "lu": lambda j, a: j.lax.linalg.lu(a)[0][0, 0],
    "qr": lambda j, a: j.numpy.linalg.qr(a)[1][0, 0],
    "q of tall": lambda j, a: j.numpy.linalg.qr(j.numpy.concatenate([a, a]))[0][0, 0],
    "eigenvalues": lambda j, a: j.numpy.linalg.eigh(a)[0][0],
    "eigenvectors": lambda j, a: j.numpy.linalg.eigh(a)[1][0, 0],
    "singular values": lambda j, a: j.numpy.linalg.svd(a, compute_uv=False)[0],
    "singular vectors": lambda j, a: j.numpy.linalg.svd(a)[0][0, 0],
    "those of tall": lambda j, a: j.numpy.linalg.svd(j.numpy.concatenate([a, a]), False)[0][0, 0],
    "pinv": lambda j, a: j.numpy.linalg.pinv(a)[0, 0],
    "det": lambda j, a: j.numpy.linalg.det(a),
    "det of 3x3": lambda j, a: j.numpy.linalg.det(j.numpy.pad(a, (0, 1), constant_values=a[0, 0])),
    "logarithm of det": lambda j, a: j.numpy.linalg.slogdet(j.numpy.kron(a, a))[1],
    "expm": lambda j, a: j.scipy.linalg.expm(a)[0, 0],
}


@pytest.mark.parametrize("way", [w for w in WAYS if w != "grad of jit"])
@pytest.mark.parametrize("name", OF_MATRICES)
def test_derivatives_of_matrices(name: str, way: str) -> None:
    f = OF_MATRICES[name]
    for weak in (True, False):
        given = way, lambda j, x: f(j, _symmetric(j, x)), (), np.float32, weak
        assert found(jitney, *given) == of_jax(found, *given), weak


def _sum_of_cotangents(j: Any, first: float | np.float32, second: float | np.float32) -> list[bool]:
    """Weakness of the sum of what comes from `x` and from `y`, of values and under vmap."""
    back = j.vjp(lambda x: (x, x), j.numpy.float32(2))[1]
    rows = j.numpy.stack([first, first]), j.numpy.stack([second, second])
    return [back((first, second))[0].weak_type, j.vmap(lambda *ct: back(ct))(*rows)[0].weak_type]


@pytest.mark.parametrize("first", [1.0, np.float32(1)])
@pytest.mark.parametrize("second", [1.0, np.float32(1)])
def test_sums_of_weak_and_strong_cotangents(first: Any, second: Any) -> None:
    weak = _sum_of_cotangents(jitney, first, second)
    assert weak == of_jax(_sum_of_cotangents, first, second)


def _slopes_of_powers(j: Any, x: Any) -> list[bool]:
    """Weakness of derivatives of x**x, computed at once: both parts are summed as values."""
    slope = j.grad(lambda x: x**x)
    rows = j.numpy.stack([x, x])
    found = slope(x), j.grad(slope)(x), j.vmap(slope)(rows), j.jit(slope)(x)
    return [bool(a.weak_type) for a in found]


@pytest.mark.parametrize("x", [1.3, np.float32(1.3)])
def test_slopes_of_powers_outside_of_jit(x: Any) -> None:
    assert _slopes_of_powers(jitney, x) == of_jax(_slopes_of_powers, x)


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


EXTREMA: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda j, x: j.lax.max(x, j.lax.full_like(x, 1.0)),
    "minimum": lambda j, x: j.numpy.minimum(x, 1),
    "clip": lambda j, x: j.numpy.clip(x, -20, 20),
    "clamp": lambda j, x: j.lax.clamp(0.0, x, 3.0),
    "relu": lambda j, x: j.nn.relu(x),
}


def _slopes_of_extrema(j: Any, name: str) -> list[bool]:
    slope = j.grad(lambda x: EXTREMA[name](j, x))
    curvature = j.grad(slope)
    return [bool(g(2.0).weak_type) for g in (slope, j.jit(slope), curvature, j.jit(curvature))]


@pytest.mark.parametrize("name", EXTREMA)
def test_slopes_of_extrema_are_strongly_typed(name: str) -> None:
    """The weights of equal operands are no Python numbers."""
    assert _slopes_of_extrema(jitney, name) == of_jax(_slopes_of_extrema, name)


def _slopes_of_ldexp(j: Any) -> list[bool]:
    slope = j.grad(lambda x: j.numpy.ldexp(x, 3))
    return [bool(g(2.0).weak_type) for g in (slope, j.jit(slope))]


def test_slopes_of_ldexp() -> None:
    """Its result is strongly typed, its cotangent has the operand's type."""
    assert _slopes_of_ldexp(jitney) == of_jax(_slopes_of_ldexp)
