"""Distributions: real jax's draws for the same key, laws, derivatives, native loops."""

import numpy as np
import pytest
import scipy.stats
from tests.helpers.oracle import of_jax
from tests.random.distributions import COUNTS, DRAWS

import jitney
import jitney.numpy as jnp
from jitney import random

SEED = 7
KEY = random.key(SEED)


def _draw(function, how):
    if how == "jit":
        return jitney.jit(lambda k: function(random, k))(KEY)
    return function(random, KEY)


def _draw_of_jax(function, **options):
    return of_jax(lambda j: function(j.random, j.random.key(SEED)), **options)


@pytest.mark.parametrize("name", [*DRAWS, *COUNTS])
def test_equals_jax(name):
    function = {**DRAWS, **COUNTS}[name]
    want = _draw_of_jax(function)
    for how in ("eager", "jit"):
        got = _draw(function, how)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.aval.weak_type == want.weak_type
        if name in COUNTS:
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        else:
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=3e-5, atol=3e-6)


WIDE = ("gamma", "loggamma", "beta", "wald", "ball", "binomial", "poisson_small", "geometric")


@pytest.mark.parametrize("name", WIDE)
def test_float64(name):
    function = {**DRAWS, **COUNTS}[name]
    want = _draw_of_jax(function, x64=True)
    with jitney.enable_x64(True):
        got = function(random, KEY)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["gamma", "beta", "maxwell"])
def test_narrow_floats(name, dtype):
    args = {"gamma": (1.5,), "beta": (1.5, 2.0), "maxwell": ()}[name]

    def draw(module, key):
        return getattr(module, name)(key, *args, shape=(50,), dtype=dtype)

    got, want = draw(random, KEY), _draw_of_jax(draw)
    assert got.dtype == want.dtype
    bound = 0.05 if dtype == "float16" else 0.1
    np.testing.assert_allclose(
        np.asarray(got, np.float32), np.asarray(want, np.float32), rtol=bound, atol=bound
    )


N = 20_000
LAWS = {
    "gamma": (lambda k: random.gamma(k, 2.5, (N,)), scipy.stats.gamma(2.5)),
    "gamma_small": (lambda k: random.gamma(k, 0.3, (N,)), scipy.stats.gamma(0.3)),
    "loggamma": (lambda k: random.loggamma(k, 0.02, (N,)), scipy.stats.loggamma(0.02)),
    "beta": (lambda k: random.beta(k, 0.7, 3.0, (N,)), scipy.stats.beta(0.7, 3)),
    "t": (lambda k: random.t(k, 3.0, (N,)), scipy.stats.t(3)),
    "f": (lambda k: random.f(k, 4.0, 7.0, (N,)), scipy.stats.f(4, 7)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (N,)), scipy.stats.chi2(3)),
    "wald": (lambda k: random.wald(k, 2.0, (N,)), scipy.stats.invgauss(2)),
    "pareto": (lambda k: random.pareto(k, 3.0, (N,)), scipy.stats.pareto(3)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, (N,)), scipy.stats.rayleigh(scale=2)),
    "maxwell": (lambda k: random.maxwell(k, (N,)), scipy.stats.maxwell()),
    "weibull": (lambda k: random.weibull_min(k, 2.0, 1.5, (N,)), scipy.stats.weibull_min(1.5, scale=2)),
    "triangular": (lambda k: random.triangular(k, 0, 1, 4, (N,)), scipy.stats.triang(0.25, scale=4)),
    "generalized_normal": (
        lambda k: random.generalized_normal(k, 1.5, (N,)), scipy.stats.gennorm(1.5)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_law(name):
    draw, law = LAWS[name]
    assert scipy.stats.kstest(np.asarray(draw(KEY), np.float64), law.cdf).pvalue > 1e-3


COUNT_LAWS = {
    "poisson": (lambda k: random.poisson(k, 4.0, (N,)), scipy.stats.poisson(4)),
    "poisson_large": (lambda k: random.poisson(k, 1e4, (N,)), scipy.stats.poisson(1e4)),
    "binomial": (lambda k: random.binomial(k, 12, 0.3, (N,)), scipy.stats.binom(12, 0.3)),
    "binomial_large": (lambda k: random.binomial(k, 400, 0.7, (N,)), scipy.stats.binom(400, 0.7)),
    "geometric": (lambda k: random.geometric(k, 0.2, (N,)), scipy.stats.geom(0.2)),
}


@pytest.mark.parametrize("name", COUNT_LAWS)
def test_law_of_counts(name):
    draw, law = COUNT_LAWS[name]
    x = np.asarray(draw(KEY), np.int64)
    edges = np.unique(law.ppf(np.linspace(0.05, 0.95, 10)))
    cells = np.concatenate([[0], law.cdf(edges), [1]])
    seen, _ = np.histogram(x, np.concatenate([[-np.inf], edges + 0.5, [np.inf]]))
    assert scipy.stats.chisquare(seen, np.diff(cells) * N).pvalue > 1e-3


SLOPES = {
    "gamma": (lambda r, k, a: r.gamma(k, a, (9, 3)), np.array([0.4, 1.5, 20.0], np.float32)),
    "loggamma": (lambda r, k, a: r.loggamma(k, a, (9, 3)), np.array([0.4, 1.5, 20], np.float32)),
    "beta": (lambda r, k, a: r.beta(k, a, a[::-1], (9, 3)), np.array([0.8, 1.5, 4], np.float32)),
    "dirichlet": (lambda r, k, a: r.dirichlet(k, a, (9,)), np.array([0.8, 1.5, 4], np.float32)),
    "t": (lambda r, k, a: r.t(k, a, (9, 2)), np.array([2.0, 5.0], np.float32)),
    "wald": (lambda r, k, a: r.wald(k, a, (9, 2)), np.array([0.5, 2.0], np.float32)),
    "pareto": (lambda r, k, a: r.pareto(k, a, (9, 2)), np.array([2.0, 5.0], np.float32)),
    "multivariate_normal": (
        lambda r, k, a: r.multivariate_normal(k, a, np.diag([2.0, 1.0]).astype("f")),
        np.array([0.5, 2.0], np.float32),
    ),
}


@pytest.mark.parametrize("name", SLOPES)
def test_derivative_equals_jax(name):
    draw, a = SLOPES[name]
    weights = np.random.default_rng(0).uniform(-1, 1, draw(random, KEY, a).size).astype(np.float32)
    want = of_jax(
        lambda j: j.grad(lambda a: draw(j.random, j.random.key(SEED), a).ravel() @ weights)(a)
    )
    slope = jitney.grad(lambda a: draw(random, KEY, a).ravel() @ weights)
    for run in (slope, jitney.jit(slope)):
        got = run(jnp.asarray(a))
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", ["gamma", "poisson", "dirichlet", "binomial"])
def test_vmap(name):
    """Over keys, parameters and both: each as alone."""
    draw = {
        "gamma": lambda k, a: random.gamma(k, a, (3,)),
        "loggamma": lambda k, a: random.loggamma(k, a, (3,)),
        "poisson": lambda k, a: random.poisson(k, 6 * a, (3,)),
        "dirichlet": lambda k, a: random.dirichlet(k, a * jnp.ones(3)),
        "binomial": lambda k, a: random.binomial(k, 30, a / 4, (3,)),
    }[name]
    keys, a = random.split(KEY, 4), jnp.linspace(0.5, 3, 4)
    for axes in ((0, 0), (0, None), (None, 0)):
        k_of = (lambda i: keys[i]) if axes[0] == 0 else (lambda i: KEY)
        a_of = (lambda i: a[i]) if axes[1] == 0 else (lambda i: a[1])
        args = (keys if axes[0] == 0 else KEY, a if axes[1] == 0 else a[1])
        got = jitney.vmap(draw, axes)(*args)
        for i in range(4):
            np.testing.assert_allclose(got[i], draw(k_of(i), a_of(i)), rtol=1e-5, atol=1e-6)


NATIVE = (
    "gamma", "loggamma", "beta", "dirichlet", "chisquare", "t", "ball", "wald", "poisson", "binomial",
    "multinomial", "geometric", "multivariate_normal", "generalized_normal",
)  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_compiled_draws_call_no_python(name):
    function = {**DRAWS, **COUNTS}[name]
    text = jitney.jit(lambda k: function(random, k)).lower(KEY).as_text("kernels")
    assert "host" not in text
    if name in ("gamma", "loggamma", "poisson", "binomial"):
        assert "while %" in text  # rejection in the lanes of vectors


@pytest.mark.parametrize("name", ["gamma", "poisson_small", "binomial"])
def test_not_partitionable(name):
    """The other way of using threefry, in which an element's word depends on the draw's size."""
    function = {**DRAWS, **COUNTS}[name]
    usual = _draw(function, "eager")  # what is kept of this draw is none of the other way's

    def draw(j):
        with j.threefry_partitionable(False):
            return function(j.random, j.random.key(SEED))

    want = of_jax(draw)
    with jitney.threefry_partitionable(False):
        got = _draw(function, "eager")
        traced = jitney.jit(lambda k: function(random, k)).trace(KEY)
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=3e-5, atol=1e-30)
    np.testing.assert_array_equal(traced.lower().compile()(KEY), got)  # settings of the trace
    np.testing.assert_array_equal(_draw(function, "eager"), usual)


ONES = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: random.gamma(KEY, ONES[0], (2,)), ValueError, "gamma"),
        (lambda: random.gamma(KEY, 1.0, dtype=int), ValueError, "gamma.*float"),
        (lambda: random.beta(KEY, ONES, 1.0, dtype="float16"), ValueError, "beta.*float16"),
        (lambda: random.dirichlet(KEY, 1.0), ValueError, "`alpha` must have at least one axis"),
        (lambda: random.poisson(KEY, 1.0, dtype=float), ValueError, "poisson"),
        (lambda: random.multivariate_normal(KEY, 1.0, ONES), ValueError, "`mean` must have at least"),
        (lambda: random.multivariate_normal(KEY, ONES, ONES), ValueError, "`cov` must hold 3 x 3"),
        (
            lambda: random.multivariate_normal(KEY, ONES[0], np.eye(3), method="qr"),
            ValueError, "`method` must be",
        ),
        (lambda: random.orthogonal(KEY, -1), ValueError, "negative"),
        (lambda: random.gamma(random.split(KEY), 1.0), ValueError, "expected a single key"),
    ],
)  # fmt: skip
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_binomial_of_infinitely_many_trials():
    """JAX does not come to an end here."""
    p = np.array([0, 0.3, 1, -0.1, np.nan], np.float32)
    got = np.asarray(random.binomial(KEY, np.float32(np.inf), p))
    np.testing.assert_array_equal(got, [np.inf, np.inf, np.inf, np.nan, np.nan])


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 12])  # of more, signs depend on the processor
def test_normal_vectors_of_one_covariance_are_those_of_jax(n, method):
    """Roots by eigenvectors have LAPACK's signs."""
    # Of few bits: their products are exact, the same on every machine.
    a = np.round(np.random.default_rng(n).normal(size=(n, n)) * 64).astype(np.float32) / 64
    covariance, mean = a @ a.T + np.eye(n, dtype=np.float32), np.arange(n, dtype=np.float32)

    def draw(module, key):
        return module.multivariate_normal(key, mean, covariance, (3,), method=method)

    want = _draw_of_jax(draw)
    for how in ("eager", "jit"):
        np.testing.assert_allclose(_draw(draw, how), want, rtol=1e-3, atol=2e-3)
