"""efax: exponential families: entropies, divergences, conversions and samples."""

import sys

import efax
import jax
import jax.numpy as jnp
import numpy as np

p = efax.BernoulliNP(jnp.array([0.2, -1.0]))
q = efax.BernoulliNP(jnp.array([-0.3, 0.5]))
dirichlet = efax.DirichletNP(jnp.asarray([1.2, 3.4, 0.5]))
draws = dirichlet.sample(jax.random.key(0), (50,))
fitted = dirichlet.sufficient_statistics(draws)
mean = jax.tree.map(lambda x: jnp.mean(x, axis=0), fitted)
likeliest = mean.to_nat()
poisson = efax.PoissonNP(jnp.log(jnp.array([1.0, 4.0])))
slope = jax.grad(lambda x: efax.PoissonNP(x).to_exp().mean.sum())(jnp.array([0.5, 1.0]))

np.savez(
    sys.argv[1],
    entropy=p.to_exp().entropy(),
    cross=p.to_exp().cross_entropy(q),
    divergence=p.kl_divergence(q),
    draws=draws,
    likeliest=likeliest.alpha_minus_one,
    log_pdf=poisson.log_pdf(jnp.array([2, 3])),
    slope=slope,
)
