"""numpyro: NUTS on eight schools, 1,000 steps of warm-up and 1,000 samples."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

from benchmarks.libraries.timing import report

effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def model(errors, effects):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", 8):
        offset = numpyro.sample("offset", dist.Normal(0, 1))
        numpyro.sample("effect", dist.Normal(mu + tau * offset, errors), obs=effects)


mcmc = MCMC(NUTS(model), num_warmup=1000, num_samples=1000, progress_bar=False)


def sample():
    mcmc.run(jax.random.key(0), errors, effects)
    return mcmc.get_samples()["mu"].mean()


report(sample, samples=3)
