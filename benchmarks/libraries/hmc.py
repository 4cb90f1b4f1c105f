"""blackjax: 1,000 steps of HMC on a logistic regression of 10 weights and 200 cases."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.libraries.timing import report

rng = np.random.default_rng(0)
cases = jnp.asarray(rng.normal(size=(200, 10)), jnp.float32)
classes = jnp.asarray(rng.random(200) < 0.5, jnp.float32)


def log_density(weights):
    logits = cases @ weights
    return jnp.sum(classes * logits - jax.nn.softplus(logits)) - jnp.sum(weights**2) / 2


sampler = blackjax.hmc(log_density, 0.05, jnp.ones(10), 10)


@jax.jit
def chain(key, state):
    def step(state, key):
        state, _ = sampler.step(key, state)
        return state, state.position

    return jax.lax.scan(step, state, jax.random.split(key, 1000))[1]


state, key = sampler.init(jnp.zeros(10)), jax.random.key(0)
report(lambda: chain(key, state).mean(0))
