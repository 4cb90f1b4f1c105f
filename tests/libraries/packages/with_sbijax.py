"""sbijax: a posterior from simulations, by a flow of the likelihood."""

import sys

import numpy as np
from jax import numpy as jnp, random as jr
from sbijax import nle, sample, simulate, train
from sbijax.mcmc import make_sampler, nuts
from sbijax.nn import make_maf
from tensorflow_probability.substrates.jax import distributions as tfd

prior = tfd.JointDistributionNamed({"theta": tfd.Normal(jnp.zeros(2), jnp.ones(2))}, batch_ndims=0)


def simulator_fn(seed, theta):
    p = tfd.Normal(jnp.zeros_like(theta["theta"]), 0.1)
    return theta["theta"] + p.sample(seed=seed)


estimator = nle(make_maf(2))
observed = jnp.array([-1.0, 1.0])
data = simulate(jr.key(1), prior, simulator_fn, n=1_000)
params, info = train(jr.key(2), estimator, data, n_iter=3)
samples, _ = sample(
    jr.key(3),
    estimator,
    params,
    observed,
    sampler=make_sampler(nuts, prior=prior),
    n_chains=2,
    n_samples=20,
    n_warmup=10,
)

np.savez(sys.argv[1], y=data["y"], losses=info.losses, samples=samples["theta"])
