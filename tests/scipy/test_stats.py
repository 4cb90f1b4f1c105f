"""`jax.scipy.stats`: distributions against SciPy, derivatives, edges; summaries, density estimates."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import mpmath as mpmath_package
import numpy as np
import pytest
import scipy
import scipy.stats
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
from jitney.scipy import stats

INF, NAN = np.inf, np.nan
mpmath: Any = mpmath_package


@dataclass(frozen=True)
class Distribution:
    """A distribution: its functions, and the parameters that it is tried with.

    Attributes:
      name: of the module.
      parameters: of the distribution, but for `loc` and `scale`.
      places: how many of `loc` and `scale` its functions take.
      low, high: range of its values.
      whole: whether its values are integers.
      error: the largest relative error, against SciPy in float64.
    """

    name: str
    parameters: tuple[float, ...] = ()
    places: int = 2
    low: float = -5.0
    high: float = 5.0
    whole: bool = False
    error: float = 1e-11


DISTRIBUTIONS = [
    Distribution("norm", low=-30, high=30, error=1e-13),
    Distribution("expon", low=-1, high=20),
    Distribution("uniform", low=-1, high=3),
    Distribution("laplace"),
    Distribution("logistic"),
    Distribution("cauchy", low=-1e3, high=1e3),
    Distribution("gumbel_r"),
    Distribution("gumbel_l"),
    Distribution("pareto", (1.5,), low=0.5, high=20),
    Distribution("t", (2.5,)),
    Distribution("vonmises", (1.5,), 0, low=-3, high=3),
    Distribution("wrapcauchy", (0.4,), 0, low=0, high=6.28),
    Distribution("gennorm", (1.3,), 0),
    Distribution("gamma", (2.3,), low=-1, high=20, error=1e-9),
    Distribution("chi2", (3.0,), low=-1, high=20, error=1e-9),
    Distribution("beta", (2.5, 1.5), low=-0.5, high=1.5, error=1e-10),
    Distribution("truncnorm", (-1.0, 2.5), low=-2, high=3),
    Distribution("truncnorm", (5.0, 9.0), low=4.5, high=9.5, error=1e-9),
    Distribution("bernoulli", (0.3,), 1, low=-1, high=2, whole=True),
    Distribution("geom", (0.3,), 1, low=-1, high=9, whole=True),
    Distribution("binom", (8.0, 0.3), 1, low=-1, high=10, whole=True),
    Distribution("nbinom", (3.0, 0.3), 1, low=-1, high=10, whole=True),
    Distribution("betabinom", (8.0, 1.5, 2.5), 1, low=-1, high=10, whole=True),
    Distribution("poisson", (2.5,), 1, low=-1, high=10, whole=True),
]
INVERSE = ("ppf", "isf")


def functions() -> list[Any]:
    found: list[Any] = []
    for number, d in enumerate(DISTRIBUTIONS):
        for name in names_in(getattr(stats, d.name)):
            found.append(pytest.param(d, name, id=f"{d.name}{number}-{name}"))
    return found


def names_in(module: Any) -> list[str]:
    """Names of the functions of a distribution's module."""
    names = [n for n in dir(module) if n.startswith(("log", "p", "c", "s", "i", "e"))]
    files = [getattr(getattr(module, n), "__module__", None) or "" for n in names]
    place = module.__name__.rpartition(".")[2]
    return [n for n, file in zip(names, files, strict=True) if file.rpartition(".")[2] == place]


@pytest.mark.parametrize("name", sorted({d.name for d in DISTRIBUTIONS}))
def test_functions_are_those_of_jax(name: str):
    def names(j: Any) -> list[str]:
        return names_in(getattr(j.scipy.stats, name))

    assert names(jitney) == of_jax(names)


def arguments(d: Distribution, name: str) -> list[Any]:
    if name == "entropy":
        return [np.array([0.0, 0.01, 0.5, 3.0, 25.0, 35.0, 500.0])]
    if name in INVERSE:
        x = np.linspace(0, 1, 42)
    elif d.whole:
        x = np.arange(d.low, d.high + 1)
    else:
        x = np.linspace(d.low, d.high, 61)
    return [x, *d.parameters]


def takes(d: Distribution, name: str) -> int:
    """How many of loc and scale a function takes."""
    given = inspect.signature(getattr(getattr(stats, d.name), name)).parameters
    return sum(n in given for n in ("loc", "scale"))


# Logarithms of probabilities near 1: older SciPy takes them of the rounded probability.
FLOOR = 1e-300 if np.lib.NumpyVersion(scipy.__version__) >= "1.15.0" else 1e-16


def compare(found: Any, exact: Any, error: float) -> None:
    found, exact = np.asarray(found), np.asarray(exact, float)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_allclose(found, exact, rtol=error, atol=FLOOR)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("d", "name"), functions())
def test_values(d: Distribution, name: str):
    xs = arguments(d, name)
    ours = getattr(getattr(stats, d.name), name)
    theirs = getattr(getattr(scipy.stats, d.name), name)
    with jitney.enable_x64(True):
        for place in ((), (0.5, 1.5), (2.0,))[: takes(d, name) + 1]:
            given = xs if name == "entropy" else [*xs, *place[: takes(d, name)]]
            if d.whole and place:
                given = [*xs, 1.0]
            exact = theirs(*given)
            compare(ours(*map(jnp.asarray, given)), exact, d.error)
            compare(jitney.jit(ours)(*map(jnp.asarray, given)), exact, max(d.error, 1e-11))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("d", "name"), functions())
def test_types_and_derivatives_are_those_of_jax(d: Distribution, name: str):
    xs = [np.asarray(x, np.float32) for x in arguments(d, name)]
    ours, place = getattr(getattr(stats, d.name), name), d.name
    inside = np.linspace(max(d.low, 0.1), min(d.high, 3), 9)[1:-1].astype(np.float32)
    has_slope = not (d.whole or name in ("entropy", *INVERSE))

    def results(j: Any) -> Any:
        f = getattr(getattr(j.scipy.stats, place), name)
        value, given = f(*xs), inspect.signature(f)
        slope = j.vmap(j.grad(lambda x: f(x, *xs[1:])))(inside) if has_slope else None
        return value.dtype, value.shape, str(given).count("="), list(given.parameters), slope

    *facts, exact = of_jax(results)
    value, given = ours(*xs), inspect.signature(ours)
    assert facts == [value.dtype, value.shape, str(given).count("="), list(given.parameters)]
    if not has_slope:
        return
    slope = jitney.vmap(jitney.grad(lambda x: ours(x, *xs[1:])))(inside)
    exact = np.asarray(exact)
    finite = np.isfinite(exact)
    np.testing.assert_allclose(np.asarray(slope)[finite], exact[finite], rtol=2e-3, atol=1e-5)


def test_narrow_and_weak_operands():
    assert stats.norm.logpdf(1).weak_type
    assert stats.gamma.logpdf(jnp.float16(1), 2).dtype == np.float16
    with pytest.raises(TypeError, match="ndtr"):
        stats.norm.cdf(jnp.float16(1))


def test_no_nan_is_made_on_the_way():
    with jitney.debug_nans(True):
        assert stats.gamma.pdf(0.0, 1.0, 1.0) == 0.0
        assert float(jitney.grad(stats.beta.logpdf)(2.0, 2.0, 3.0)) == 0.0


def with_nan(d: Distribution, name: str) -> list[list[float]]:
    """Arguments with a NaN in each place, at points inside of the support and outside."""
    points = (0.0, 0.3, 1.0, -1.0)
    if name not in INVERSE:
        points = (1.0, 1.3, d.low - 1.0, d.high + 1.0, np.inf)
    shift = [0.5, 1.5] if takes(d, name) == 2 else [1.0] * takes(d, name)
    found: list[list[float]] = []
    for point in points:
        given = [point, *d.parameters, *shift]
        found += [[*given[:i], np.nan, *given[i + 1 :]] for i in range(len(given))]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("d", "name"), [p for p in functions() if p.values[1] not in ("entropy", "invcdf")]
)
def test_nan_goes_through(d: Distribution, name: str):
    columns = np.array(with_nan(d, name), np.float32).T
    ours = getattr(getattr(stats, d.name), name)
    theirs = getattr(getattr(scipy.stats, d.name), name)
    assert np.isnan(theirs(*columns)).all()
    assert np.isnan(ours(*map(jnp.asarray, columns))).all()
    assert np.isnan(jitney.jit(ours)(*columns)).all()


def test_nan_goes_through_vectors():
    shares = np.array([[0.5, np.nan, 2.0], [0.5, 0.5, np.nan]], np.float32)
    ones = np.ones(2, np.float32)
    np.testing.assert_array_equal(
        np.isnan(stats.dirichlet.logpdf(shares, ones)), [False, True, True]
    )
    assert np.isnan(stats.dirichlet.logpdf(shares[:, 0] + 1, ones * np.nan))
    counts, shares = np.array([1, 2]), np.array([0.5, np.nan], np.float32)
    for trials in (3, 4):
        assert np.isnan(stats.multinomial.logpmf(counts, trials, shares))
    assert np.isnan(
        stats.multinomial.logpmf(counts, np.float32(np.nan), np.full(2, 0.5, np.float32))
    )


@pytest.mark.parametrize("name", ["cdf", "logcdf", "sf", "logsf"])
@pytest.mark.parametrize("gap", [1e-15, 1e-9, 1e-3, 0.7, 30.0, 1e9])
def test_pareto_at_both_ends(name: str, gap: float):
    with jitney.enable_x64(True), mpmath.workdps(50):
        x, b = np.float64(1 + gap), 2.5
        above = mpmath.mpf(float(x)) ** -mpmath.mpf(b)
        exact = {"cdf": 1 - above, "sf": above}[name[-3:] if name[-3:] == "cdf" else "sf"]
        exact = mpmath.log(exact) if name.startswith("log") else exact
        for found in (
            getattr(stats.pareto, name)(x, b),
            jitney.jit(getattr(stats.pareto, name))(x, b),
        ):
            np.testing.assert_allclose(float(found), float(exact), rtol=2e-14)


def test_logarithms_of_probabilities_near_one():
    with jitney.enable_x64(True), mpmath.workdps(50):
        for x in (3.0, 1e5, 1e12):
            exact = mpmath.log(1 - mpmath.atan(1 / mpmath.mpf(x)) / mpmath.pi)
            np.testing.assert_allclose(float(stats.cauchy.logcdf(x)), float(exact), rtol=1e-14)
        for x in (1e-12, 1e-3, 5.0, 40.0):
            exact = mpmath.log(-mpmath.expm1(-mpmath.mpf(x)))
            np.testing.assert_allclose(float(stats.expon.logcdf(x)), float(exact), rtol=1e-14)


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(3, 6))
    x, mean, cov = rng.normal(size=(5, 3)), rng.normal(size=3), factor @ factor.T
    exact = scipy.stats.multivariate_normal(mean, cov)
    with jitney.enable_x64(True):
        np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, cov), exact.logpdf(x))
        np.testing.assert_allclose(stats.multivariate_normal.pdf(x, mean, cov), exact.pdf(x))
        batched = stats.multivariate_normal.logpdf(x[:, None], mean, np.stack([cov, 2 * cov]))
        assert batched.shape == (5, 2)
        np.testing.assert_allclose(batched[:, 0], exact.logpdf(x))
        np.testing.assert_allclose(
            stats.multivariate_normal.logpdf(1.0, 2.0, 3.0), scipy.stats.norm.logpdf(1, 2, 3**0.5)
        )
        np.testing.assert_allclose(
            stats.multivariate_normal.logpdf(x, mean, 2.0),
            scipy.stats.multivariate_normal(mean, 2 * np.eye(3)).logpdf(x),
        )
    with pytest.raises(ValueError, match="cov must have sizes"):
        stats.multivariate_normal.logpdf(jnp.ones(2), jnp.ones(3), jnp.eye(2))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        stats.multivariate_normal.logpdf(1.0, 0.0, 1.0, allow_singular=True)


def test_dirichlet_and_multinomial():
    alpha, x = np.array([1.5, 2.0, 3.0]), np.array([0.2, 0.5, 0.3])
    with jitney.enable_x64(True):
        exact = scipy.stats.dirichlet(alpha).logpdf(x)
        np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), exact)
        np.testing.assert_allclose(stats.dirichlet.logpdf(x[:2], alpha), exact)
        np.testing.assert_allclose(
            stats.dirichlet.pdf(np.stack([x, x], 1), alpha), [np.exp(exact)] * 2
        )
        exact = scipy.stats.multinomial(6, x).logpmf([1, 2, 3])
        np.testing.assert_allclose(stats.multinomial.logpmf(np.array([1, 2, 3]), 6, x), exact)
    assert stats.dirichlet.logpdf(jnp.array([0.2, 0.9, 0.1]), alpha) == -INF
    assert stats.multinomial.pmf(jnp.array([1, 2]), 4, jnp.array([0.5, 0.5])) == 0
    with pytest.raises(ValueError, match=r"must be a vector, but it has shape \(3, 2\)"):
        stats.dirichlet.logpdf(x, jnp.ones((3, 2)))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_mode(axis: int | None, keepdims: bool):
    rng = np.random.default_rng(0)
    for x in (rng.integers(0, 3, (7, 5)), np.where(rng.random((7, 5)) < 0.3, NAN, 1.0)):
        given = x.astype(np.float32 if x.dtype.kind == "f" else np.int32)
        exact = scipy.stats.mode(given, axis=axis, keepdims=keepdims)
        found = stats.mode(given, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(np.ravel(found.mode), np.ravel(exact.mode))
        np.testing.assert_array_equal(np.ravel(found.count), np.ravel(exact.count))
        assert found.mode.ndim == (2 if keepdims else 0 if axis is None else 1)
    with pytest.raises(NotImplementedError, match="nan_policy"):
        stats.mode(jnp.ones(3), nan_policy="omit")


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_rankdata(method: str, axis: int | None):
    rng = np.random.default_rng(0)
    for x in (
        rng.integers(0, 4, (6, 5)).astype(np.int32),
        np.array([[1.0, NAN], [3.0, 3.0]], np.float32),
    ):
        exact = scipy.stats.rankdata(x, method, axis=axis)
        for rank in (
            stats.rankdata,
            jitney.jit(stats.rankdata, static_argnames=("method", "axis")),
        ):
            np.testing.assert_array_equal(rank(x, method=method, axis=axis), exact)
    with pytest.raises(ValueError, match="unknown method"):
        stats.rankdata(jnp.arange(3), "other")


@pytest.mark.parametrize("policy", ["propagate", "omit"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sem(policy: str, axis: int | None):
    x = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], np.float32)
    exact = scipy.stats.sem(x, axis=axis, nan_policy=policy, keepdims=True)
    np.testing.assert_allclose(
        stats.sem(x, axis=axis, nan_policy=policy, keepdims=True), exact, rtol=1e-6
    )
    with pytest.raises(ValueError, match="nan_policy"):
        stats.sem(x, nan_policy="raise")


@pytest.mark.parametrize("method", [None, "scott", "silverman", 1.5, lambda kde: kde.neff**-0.3])
@pytest.mark.parametrize("shape", [(20,), (3, 20)])
def test_density_estimates(method: Any, shape: tuple[int, ...]):
    rng = np.random.default_rng(0)
    data, points, weights = (
        rng.normal(size=shape),
        rng.normal(size=(*shape[:-1], 7)),
        rng.random(20),
    )
    with jitney.enable_x64(True):
        exact = scipy.stats.gaussian_kde(data, method, weights)
        kde = stats.gaussian_kde(data, method, weights)
        assert (kde.d, kde.n) == (exact.d, exact.n)
        np.testing.assert_allclose(kde.covariance, exact.covariance, rtol=1e-12)
        np.testing.assert_allclose(kde.inv_cov, exact.inv_cov, rtol=1e-10)
        np.testing.assert_allclose(kde(points), exact(points), rtol=1e-11)
        np.testing.assert_allclose(kde.logpdf(points), exact.logpdf(points), rtol=1e-11)
        mean, cov = np.zeros(exact.d), np.eye(exact.d)
        np.testing.assert_allclose(
            kde.integrate_gaussian(mean, cov), exact.integrate_gaussian(mean, cov), rtol=1e-11
        )
        np.testing.assert_allclose(kde.integrate_kde(kde), exact.integrate_kde(exact), rtol=1e-11)
        if exact.d == 1:
            box = exact.integrate_box_1d(-0.5, INF)
            np.testing.assert_allclose(kde.integrate_box_1d(-0.5, INF), box, rtol=1e-11)
        jitted = jitney.jit(lambda kde, x: kde.pdf(x))(kde, points)
        np.testing.assert_allclose(jitted, exact(points), rtol=1e-11)
        slope = jitney.grad(lambda data: stats.gaussian_kde(data).logpdf(points).sum())(data)
        assert np.isfinite(np.asarray(slope)).all()
        assert kde.resample(jitney.random.key(0), (4, 2)).shape == (exact.d, 4, 2)


def test_density_estimates_refuse():
    kde = stats.gaussian_kde(jnp.arange(6.0).reshape(2, 3) ** 2)
    cases = {
        "at least two elements, but it has 1": lambda: stats.gaussian_kde(jnp.ones(1)),
        r"must be a vector, but it has shape \(2, 2\)": lambda: stats.gaussian_kde(
            jnp.arange(5.0), weights=jnp.ones((2, 2))
        ),
        "each of the 5 points, but it has 4": lambda: stats.gaussian_kde(
            jnp.arange(5.0), weights=jnp.ones(4)
        ),
        "bw_method": lambda: stats.gaussian_kde(jnp.arange(5.0), "other"),
        "points must have 2 coordinates, .* they have 3": lambda: kde.evaluate(jnp.ones((3, 2))),
        r"`mean` must have shape \(2,\), but got \(3,\)": lambda: kde.integrate_gaussian(
            jnp.ones(3), jnp.eye(2)
        ),
        "points have 2 coordinates": lambda: kde.integrate_box_1d(0, 1),
        "the same dimension, .* 2 and 1": lambda: kde.integrate_kde(
            stats.gaussian_kde(jnp.arange(4.0))
        ),
    }
    for message, call in cases.items():
        with pytest.raises(ValueError, match=message):
            call()
    for call in (kde.set_bandwidth, lambda: kde.integrate_box(0, 1)):
        with pytest.raises(NotImplementedError):
            call()


@pytest.mark.parametrize("loc", [0.5, 2.0, -1.25])
def test_counts_are_from_a_place_that_is_no_integer(loc: float):
    for k in (loc, loc + 1, loc + 2, loc - 1, loc + 3):
        for name, parameters in (
            ("poisson", (1.5,)), ("betabinom", (5.0, 1.0, 2.0)), ("binom", (5.0, 0.3)),
            ("geom", (0.3,)), ("nbinom", (3.0, 0.4)), ("bernoulli", (0.3,)),
        ):  # fmt: skip
            found = getattr(stats, name).pmf(k, *parameters, loc)
            wanted = getattr(scipy.stats, name).pmf(k, *parameters, loc=loc)
            np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-12)
    assert stats.poisson.pmf(loc + 0.25, 1.5, loc) == 0
