"""Draws of each distribution, called alike of `jax.random` and of ours: what the tests compare."""

import numpy as np

F32 = np.float32
A = np.array([0.05, 0.5, 1.0, 2.0, 10.0, 300.0], F32)
P = np.array([0.05, 0.3, 0.5, 0.8, 1.0], F32)
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]], F32)
LAM = np.array([0.0, 0.5, 3.0, 9.9, 10.0, 40.0, 90.0, -1.0, np.nan], F32)

# (random module, key) -> draw. Within rounding of real jax's, element by element.
DRAWS = {
    "gamma": lambda r, k: r.gamma(k, A, (40, 6)),
    "gamma_scalar": lambda r, k: r.gamma(k, 2),
    "loggamma": lambda r, k: r.loggamma(k, A, (40, 6)),
    "gamma_edges": lambda r, k: r.gamma(k, np.array([0.0, -0.5, np.nan, np.inf], F32), (9, 4)),
    "loggamma_edges": lambda r, k: r.loggamma(k, np.array([0.0, np.nan, np.inf], F32), (9, 3)),
    "beta": lambda r, k: r.beta(k, A, A[::-1], (40, 6)),
    "dirichlet": lambda r, k: r.dirichlet(k, A, (40,)),
    "dirichlet_batch": lambda r, k: r.dirichlet(k, A.reshape(2, 3)),
    "chisquare": lambda r, k: r.chisquare(k, A, (40, 6)),
    "f": lambda r, k: r.f(k, 2 * A, A[::-1]),
    "t": lambda r, k: r.t(k, 1 + A, (40, 6)),
    "generalized_normal": lambda r, k: r.generalized_normal(k, 1.3, (40,)),
    "ball": lambda r, k: r.ball(k, 4, shape=(9,)),
    "ball_three": lambda r, k: r.ball(k, 4, 3.0, (9,)),
    "lognormal": lambda r, k: r.lognormal(k, 0.5, (40,)),
    "lognormal_complex": lambda r, k: r.lognormal(k, 0.5, (40,), "complex64"),
    "pareto": lambda r, k: r.pareto(k, A, (9, 6)),
    "rayleigh": lambda r, k: r.rayleigh(k, A, (9, 6)),
    "weibull_min": lambda r, k: r.weibull_min(k, 2.0, A, (9, 6)),
    "weibull_min_of_one_draw": lambda r, k: r.weibull_min(k, A, 1 + A),
    "triangular": lambda r, k: r.triangular(k, -1.0, np.array([0.0, 0.5], F32), 2.0, (20, 2)),
    "maxwell": lambda r, k: r.maxwell(k, (20,)),
    "double_sided_maxwell": lambda r, k: r.double_sided_maxwell(k, 1.0, A, (9,)),
    "wald": lambda r, k: r.wald(k, A[:4], (9, 4)),
    "multivariate_normal": lambda r, k: r.multivariate_normal(k, COV[0], COV, (9,)),
    "multivariate_normal_batch": lambda r, k: r.multivariate_normal(k, COV, COV),
    "orthogonal": lambda r, k: r.orthogonal(k, 4, (3,)),
    "orthogonal_wide": lambda r, k: r.orthogonal(k, 2, (3,), m=4),
    "orthogonal_complex": lambda r, k: r.orthogonal(k, 3, (2,), "complex64"),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -A, A, (9, 6)),
    "gumbel_high": lambda r, k: r.gumbel(k, (40,), mode="high"),
}
# Whole numbers: equal.
COUNTS = {
    "poisson": lambda r, k: r.poisson(k, LAM, (60, 9)),
    "poisson_small": lambda r, k: r.poisson(k, 2.5, (500,)),
    "poisson_int8": lambda r, k: r.poisson(k, 4.0, (50,), "int8"),
    "binomial": lambda r, k: r.binomial(k, 40, P, (60, 5)),
    "binomial_large": lambda r, k: r.binomial(k, np.array([50.0, 1e3, 1e6], F32)[:, None], P),
    "binomial_edges": lambda r, k: r.binomial(
        k, np.array([0, 5, -1, np.nan], F32)[:, None], np.array([0, 1, -0.1, np.nan], F32)
    ),
    # The method changes above a mean of 10.
    "binomial_of_mean_10": lambda r, k: r.binomial(
        k, np.array([20, 40, 21], F32), np.array([0.5, 0.25, 0.5], F32), (60, 3)
    ),
    "multinomial": lambda r, k: r.multinomial(k, 30, np.array([0.1, 0.2, 0.7, 0.0], F32)),
    "multinomial_batch": lambda r, k: r.multinomial(
        k, np.array([5.0, 900.0], F32), np.ones((2, 3), F32) / 3, dtype="int32"
    ),
    "geometric": lambda r, k: r.geometric(k, P[:-1], (60, 4)),
    "geometric_int16": lambda r, k: r.geometric(k, 0.2, (60,), "int16"),
    "categorical_without": lambda r, k: r.categorical(
        k, np.log(P), shape=(3,), replace=False
    ),
    "categorical_repeated": lambda r, k: r.categorical(k, np.log(P)[None], shape=(4, 6)),
    "choice_axis": lambda r, k: r.choice(
        k, np.arange(12).reshape(3, 4), (2, 2), axis=1, p=np.array([0.1, 0.2, 0.3, 0.4], F32)
    ),
    # Rounds of sorting grow with the number of elements: one up to 1625 of them.
    "permutation_1625": lambda r, k: r.permutation(k, 1625),
    "permutation_1626": lambda r, k: r.permutation(k, 1626),
    "permutation_independent": lambda r, k: r.permutation(
        k, np.arange(12).reshape(3, 4), axis=1, independent=True
    ),
}  # fmt: skip
