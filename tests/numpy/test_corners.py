"""`jax.numpy` where options are strict, operands are traced, and memory is shared, against real jax."""

from __future__ import annotations

import copy
import io
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
from jitney.core.settings import config

X = np.linspace(-1.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
V = np.array([3.0, 1.0, 2.0], np.float32)
I = np.array([2, 0, 1], np.int32)  # noqa: E741 (an operand of the lines below)


def same(use: Any) -> None:
    want = of_jax(lambda j: j.tree.leaves(use(j, j.numpy)))
    for a, b in zip(want, jitney.tree.leaves(use(jitney, jitney.numpy)), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(
            np.asarray(b, np.complex128), np.asarray(a, np.complex128), rtol=1e-4, atol=1e-5
        )


TRACED = {
    "unravel_index": lambda j, J: j.jit(lambda k, n: J.unravel_index(k, (n, 3)))(I, 2),
    "delete": lambda j, J: j.jit(lambda k: J.delete(V, k, assume_unique_indices=True))(np.int32(2)),
    "longlong": lambda j, J: j.jit(lambda x: x + 1)(np.longlong(7)),
    "ravel": lambda j, J: j.jit(lambda k: J.ravel_multi_index((k, k), (4, 5), mode="ignore"))(I),
    "bool": lambda j, J: j.jit(lambda x: (J.sum(x, 0, dtype=bool), J.cumprod(x, 1, dtype=bool)))(X),
    "repeat": lambda j, J: [
        j.jit(lambda x, n=n: J.repeat(x, n))(V) for n in map(J.array, ([2], [[2]], [1, 0, 3]))
    ],
}

SHARES = np.array([0.1, 0.3337, 0.77])
H = np.random.default_rng(3).normal(size=101).astype(np.float16)
QUANTILES = {
    "wider_shares": lambda J: [J.quantile(x, SHARES) for x in (H, H.astype(np.float32), I)],
    "nan": lambda J: [J.nanquantile(H, SHARES), J.nanpercentile(H, np.float32(30))],
    "methods": lambda J: [
        J.quantile(H, SHARES, method=m)
        for m in ("linear", "lower", "higher", "midpoint", "nearest")
    ],
    "scalar": lambda J: [
        f(np.float32(2), q, keepdims=k)
        for f in (J.quantile, J.nanquantile)
        for q in (0.5, SHARES)
        for k in (False, True)
    ],
    "median": lambda J: [J.median(np.float32(2), keepdims=True), J.nanmedian(X, keepdims=True)],
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("use", QUANTILES.values(), ids=QUANTILES)
def test_quantiles_have_the_dtype_of_the_elements(use, x64):
    def with_setting(j, J):
        with j.enable_x64(x64):
            return use(J)

    same(with_setting)


STRICT = {
    "linspace": lambda J: J.linspace(0.0, 5.0, 4, dtype=np.int32),
    "ldexp": lambda J: J.ldexp(V, I),
    "pad": lambda J: J.pad(I, 2, mode="linear_ramp", end_values=7),
    "std": lambda J: J.std(X.astype(np.float16), dtype=np.float32),
    "nanvar": lambda J: J.nanvar(X.astype(np.float16), dtype=np.float32),
    "sort_complex": lambda J: J.sort_complex(I),
    "mgrid": lambda J: J.mgrid[0:2, 0:1:3j],
    "isclose": lambda J: J.isclose(V, V),
    "corrcoef": lambda J: J.corrcoef(X * (1 + np.complex64(2j))),
}

RANKED = {
    "cov": lambda J: J.cov(X, aweights=np.ones(4, np.float32)),
    "quantile": lambda J: J.nanquantile(X, V[:2] / 4, axis=0),
    "weighted": lambda J: J.quantile(X, V / 4, weights=abs(X), axis=1, method="inverted_cdf"),
    "trapezoid": lambda J: J.trapezoid(X, dx=V),
    "outer": lambda J: J.subtract.outer(X, V),
    "reduceat": lambda J: J.maximum.reduceat(X, np.array([0, 2]), axis=0),
    "polyfit_unscaled": lambda J: J.polyfit(
        np.arange(5.0), np.arange(10.0).reshape(5, 2), 1, cov="unscaled"
    ),
    "polyfit": lambda J: J.polyfit(np.arange(5.0), np.arange(10.0).reshape(5, 2) ** 2, 1, cov=True),
}


@pytest.mark.parametrize("use", TRACED.values(), ids=TRACED)
def test_traced(use):
    same(use)


@pytest.mark.parametrize(
    "setting, value, use",
    [
        *(pytest.param("numpy_dtype_promotion", "strict", f, id=k) for k, f in STRICT.items()),
        *(pytest.param("numpy_rank_promotion", "raise", f, id=k) for k, f in RANKED.items()),
    ],
)
def test_functions_promote_and_align_what_they_make_themselves(setting, value, use):
    def under_the_setting(j, J):
        with getattr(j, setting)(value):
            return use(J)

    same(under_the_setting)


def test_users_mixtures_are_refused_still():
    J = jitney.numpy
    with jitney.numpy_dtype_promotion("strict"), pytest.raises(ValueError):
        J.isclose(V, V.astype(np.float16))
    with jitney.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match="rank"):
            J.add(np.ones((3, 3)), V)
        with pytest.raises(ValueError, match="rank"):
            J.vectorize(lambda a, b: a + b)(np.ones((3, 3)), V)
        assert J.vectorize(lambda a, b: a + b)(V, 1.0).shape == (3,)


@pytest.mark.parametrize(
    "copied", [jitney.numpy.array, jitney.numpy.copy, copy.copy, copy.deepcopy]
)
def test_copies_have_memory_of_their_own(copied):
    x = jitney.numpy.arange(10)
    y = copied(x)
    assert y.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    x.delete()
    np.testing.assert_array_equal(y, np.arange(10))


def test_known_positions_out_of_bounds_raise_on_demand():
    J = jitney.numpy
    x = J.zeros((2, 3))
    assert x[5].shape == (3,)
    with config.check_static_indices(True):
        for index in (-4, (slice(None), 4), ([0, 1], 6)):
            with pytest.raises(IndexError, match=r"there is no index (-4|4|6) along axis"):
                x[index]
            with pytest.raises(IndexError, match=r"there is no index (-4|4|6) along axis"):
                jitney.jit(lambda a, k=index: a[k])(x)
        assert np.isnan(x.at[5].get(mode="fill")).all() and not x.at[5].get(mode="clip").any()
        np.testing.assert_array_equal(x.at[5].set(1.0), x)


def test_functions_of_elements_are_equal_and_fixed():
    J = jitney.numpy

    def f(a, b):
        return a - b

    one, other = (J.frompyfunc(f, 2, 1, identity=0) for _ in range(2))
    assert one == other and hash(one) == hash(other) and one != J.frompyfunc(f, 2, 1)
    for name in ("nin", "nout", "nargs", "identity", "_func"):
        with pytest.raises(AttributeError):
            setattr(J.add, name, None)


def test_named_tuples_have_operators_of_their_own():
    class Scaled(NamedTuple):
        values: Any

        def __mul__(self, other):
            return Scaled(self.values * other)

        __rmul__ = __mul__

    x = jitney.numpy.ones(3)
    assert isinstance(x * Scaled(x), Scaled) and isinstance(Scaled(x) * x, Scaled)
    with pytest.raises(TypeError):
        x * (1, 2)


def test_load_what_numpy_has_no_dtype_for():
    J = jitney.numpy
    for values in (J.arange(3, dtype=J.bfloat16), np.array([1, None, "a"], object)):
        file = io.BytesIO()
        np.save(file, np.asarray(values))
        file.seek(0)
        found = J.load(file, allow_pickle=True)
        assert found.dtype == values.dtype and list(found) == list(values)


def test_keys_are_compared_for_equality():
    key = jitney.random.key(0)
    assert jitney.numpy.isclose(key, key) and not jitney.numpy.isclose(key, jitney.random.key(1))


@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize("initial", [True, False])
def test_truth_values_have_extremes_of_some(function, initial):
    """What is left out is as if it were the value that changes no extreme."""
    truth = np.array([[True, True, False, False], [True, True, True, False]])
    some = np.array([[True, False, False, False], [True, True, True, False]])

    def use(_, np_):
        return getattr(np_, function)(truth, axis=1, initial=initial, where=some)

    same(use)
    wanted = getattr(np, function)(truth, axis=1, initial=initial, where=some)
    np.testing.assert_array_equal(use(None, jitney.numpy), wanted)


@pytest.mark.parametrize("decimals", [39, 60, 400])
def test_rounding_to_more_decimals_than_there_are(decimals):
    same(lambda j, J: (J.round(V, decimals), J.round(V.astype(np.float16), decimals)))


def test_einsum_contracts_operands_of_several_dtypes_as_they_are():
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (3, 4), np.int8), rng.normal(size=(4, 3, 3)).astype(np.float32)
    for equation in ("ij,jkl->ikl", "ij,jil->l", "ij,jkk->ik", "ij,jkl->il"):
        f = partial(jitney.numpy.einsum, equation)
        np.testing.assert_allclose(f(x, y), np.einsum(equation, x.astype(np.float32), y), rtol=1e-5)
    f = partial(jitney.numpy.einsum, "ij,jkl->ikl")
    assert [e.primitive.name for e in jitney.make_jaxpr(f)(x, y).eqns] == ["dot_general"]
    large = np.full((2, 200), 100, np.int8)  # sums before a contraction are of the common dtype
    assert jitney.numpy.einsum("ij,ik->k", large, np.ones((2, 1), np.int32)).tolist() == [40000]


def test_products_with_batch_axes_that_one_operand_lacks():
    for a, b in [
        ((1, 3, 4), (4, 2)),
        ((1, 4), (1, 4, 3)),
        ((1, 1, 4), (1, 4, 2)),
        ((3, 4), (1, 4, 2)),
    ]:
        x, y = np.ones(a, np.float32), np.ones(b, np.float32)

        def text(j, x=x, y=y):
            return str(j.make_jaxpr(j.numpy.matmul)(x, y))

        assert text(jitney) == of_jax(text)


@pytest.mark.parametrize("dtype", ["int32", "int8", "float32", "bool"])
def test_truth_values_go_into_integers_where_promotion_is_strict(dtype):
    def outcomes(j, J):
        x, found = J.zeros(3, dtype), []
        for v in (True, np.bool_(True), J.asarray(True)):
            for f in (lambda x, v=v: x.at[1].set(v), j.jit(lambda x, v=v: x.at[1].set(v))):
                with j.numpy_dtype_promotion("strict"):
                    try:
                        found.append(f(x).tolist())
                    except Exception as error:
                        found.append(type(error).__name__)
        return found

    assert outcomes(jitney, jitney.numpy) == of_jax(lambda j: outcomes(j, j.numpy))


def test_set_functions_take_complex_nan_for_one():
    nan = np.nan
    x = np.array([1, complex(nan, 1), complex(1, nan), complex(nan, nan), 2, 1], np.complex64)
    y = np.array([complex(nan, 1), complex(1, nan), 2, 3], np.complex64)
    for equal in (True, False):
        same(lambda lib, np, equal=equal: np.unique(x, True, True, True, equal_nan=equal))
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"):
        same(lambda lib, np, name=name: getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_divisors_of_narrow_integers(dtype):
    low = -7 if dtype == "int4" else 0
    pairs = [(a, b) for a in range(low, low + 15) for b in range(low, low + 15)]
    x, y = (jnp.array(column).astype(dtype) for column in zip(*pairs, strict=True))
    want = [math.gcd(a, b) for a, b in pairs]
    for gcd in (jnp.gcd, jitney.jit(jnp.gcd)):
        assert gcd(x, y).dtype == dtype
        assert gcd(x, y).astype(int).tolist() == want
    least = [(a, b) for a, b in pairs if math.lcm(a, b) < low + 15]
    x, y = (jnp.array(column).astype(dtype) for column in zip(*least, strict=True))
    for lcm in (jnp.lcm, jitney.jit(jnp.lcm)):
        assert lcm(x, y).astype(int).tolist() == [math.lcm(a, b) for a, b in least]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, np.complex64])
def test_covariances_of_no_variables_have_the_default_dtype(dtype: Any) -> None:
    """As of real JAX 0.10.2: what there is nothing of is not converted."""
    nothing = jnp.ones((0, 3), dtype)
    for found in (jnp.cov(nothing), jnp.corrcoef(nothing), jitney.jit(jnp.cov)(nothing)):
        assert (found.shape, found.dtype) == ((0, 0), np.float32)


NOTHING: list[Any] = [
    lambda lib, np: np.nanmedian(np.zeros(0)),
    lambda lib, np: np.nanquantile(np.zeros(0), 0.5),
    lambda lib, np: np.nanmedian(np.zeros((4, 0)), axis=1),
    lambda lib, np: np.nanpercentile(np.zeros((2, 0, 3)), 50.0, axis=(0, 1), keepdims=True),
    lambda lib, np: np.cov(np.zeros(0), np.zeros(0)),
    lambda lib, np: np.cov(np.zeros((2, 0)), np.zeros((1, 0))),
    lambda lib, np: np.corrcoef(np.zeros(0), np.zeros(0)),
    *[
        lambda lib, np, s=s, k=k: np.unique(np.zeros(s), True, True, True, axis=k)
        for s, k in (((4, 0), 0), ((4, 0), 1), ((0, 4), 1), ((0, 0), 0), ((2, 0, 3), 2))
    ],
    lambda lib, np: np.ix_(np.zeros(0), np.arange(2)),
    lambda lib, np: np.linalg.lstsq(np.zeros((0, 4)), np.zeros((0, 3)))[:3],
    lambda lib, np: np.linalg.lstsq(np.zeros((0, 4)), np.zeros((0, 3)), numpy_resid=True)[:3],
]


@pytest.mark.parametrize("use", NOTHING)
def test_functions_of_nothing(use: Any) -> None:
    same(use)


def test_several_quantiles_of_nothing() -> None:
    found = jnp.nanquantile(jnp.zeros((0, 3)), jnp.array([0.1, 0.2]), axis=0)
    assert found.shape == (2, 3)  # (2,) in real JAX
    assert np.isnan(found).all()


def test_medians_of_nothing_are_refused() -> None:
    for f in (jnp.median, partial(jnp.median, axis=0), partial(jnp.median, axis=(-1, 0))):
        with pytest.raises(
            ValueError, match=r"must have elements along .*, but it has shape \(0, 3\)"
        ):
            f(jnp.zeros((0, 3)))
    with pytest.raises(TypeError, match="must have elements along `axis`"):
        jnp.quantile(jnp.zeros((0, 3)), 0.5, axis=0)
    assert jnp.median(jnp.zeros((0, 3)), axis=1).shape == (0,)


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_further_variables_in_columns(name):
    x = np.array([[1.0, 2.0], [2.0, 5.0], [4.0, 1.0], [3.0, 3.0]], np.float32)
    y = np.array([[0.5], [1.5], [-1.0], [2.0]], np.float32)
    f = {"cov": jnp.cov, "corrcoef": jnp.corrcoef}[name]
    for other in (y, np.concatenate([y, y**2], axis=1)):
        want = getattr(np, name)(x, other, rowvar=False)
        for wrap in (lambda f: f, jitney.jit):
            got = wrap(lambda x, y, f=f: f(x, y, rowvar=False))(x, other)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
