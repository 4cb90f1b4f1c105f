"""jaxns: nested sampling of a line's slope and intercept."""

import contextlib
import os
import sys

import jax
import numpy as np
from jax import numpy as jnp
from tensorflow_probability.substrates import jax as tfp

with contextlib.chdir(os.path.dirname(sys.argv[1])):  # where jaxns writes a log
    from jaxns.core import NestedSampler
    from jaxns.model import Model
    from jaxns.priors import Prior

tfpd = tfp.distributions


def prior_model(predictor, observations, uncertainty):
    intercept = Prior(tfpd.Normal(loc=0.0, scale=1.0), name="intercept").realise()
    slope = Prior(tfpd.Normal(loc=0.0, scale=2.0), name="slope").realise()
    prediction = intercept + slope * predictor
    return jnp.sum(tfpd.Normal(loc=prediction, scale=uncertainty).log_prob(observations))


model = Model(prior_model=prior_model)
observed = jnp.asarray([0.15, 0.32, 0.83, 1.08, 1.52, 1.77])
args = (jnp.linspace(0.0, 1.0, 6), observed, jnp.asarray(0.15))
model.sanity_check(key=jax.random.PRNGKey(1), args=args)
sampler = NestedSampler(model=model, collect_phantom_samples=True)
state = sampler.run(key=jax.random.PRNGKey(6), args=args)
results = state.to_result().trim()
posterior = results.resample(1000, key=jax.random.PRNGKey(7))
mean_slope = posterior.integrate_fn_over_posterior(lambda x: x["slope"])

np.savez(
    sys.argv[1], log_Z=results.log_Z_mean, uncertainty=results.log_Z_uncert, mean_slope=mean_slope
)
