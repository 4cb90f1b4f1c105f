"""numpyro: eight schools by NUTS, a robust regression by variational inference, densities."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, log_likelihood
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.reparam import LocScaleReparam

effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@numpyro.handlers.reparam(config={"theta": LocScaleReparam(0)})
def schools(effects=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("effects", dist.Normal(theta, errors), obs=effects)


def regression(x, y=None):
    w = numpyro.sample("w", dist.Normal(jnp.zeros(3), 1.0).to_event(1))
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with numpyro.plate("data", len(x)):
        numpyro.sample("y", dist.StudentT(4.0, x @ w, scale), obs=y)


mcmc = MCMC(NUTS(schools), num_warmup=300, num_samples=700, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0), effects)
samples = mcmc.get_samples()
short = MCMC(NUTS(schools, step_size=0.1), num_warmup=0, num_samples=5, progress_bar=False)
short.run(jax.random.PRNGKey(1), effects)

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(40, 3)), jnp.float32)
y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.1
guide = AutoNormal(regression)
svi = SVI(regression, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
result = svi.run(jax.random.PRNGKey(2), 50, x, y, progress_bar=False)
draws = guide.sample_posterior(jax.random.PRNGKey(3), result.params, sample_shape=(4,))
np.savez(
    sys.argv[1],
    first_steps=short.get_samples()["mu"],
    moments=np.stack([samples["mu"].mean(), samples["mu"].std(), samples["theta"].mean()]),
    losses=result.losses,
    predicted=Predictive(regression, draws)(jax.random.PRNGKey(4), x)["y"],
    likelihood=log_likelihood(regression, draws, x, y)["y"],
    densities=np.stack(
        [
            dist.Gamma(2.0, 3.0).log_prob(0.7),
            dist.Beta(2.0, 3.0).log_prob(0.3),
            dist.NegativeBinomial2(3.0, 2.0).log_prob(4),
            dist.VonMises(0.1, 2.0).log_prob(0.4),
            dist.LKJCholesky(3, 1.5).log_prob(jnp.eye(3)),
            dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])).log_prob(jnp.array([0.2, 0.3, 0.5])),
        ]
    ),
)
