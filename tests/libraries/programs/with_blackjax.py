"""blackjax: a logistic regression sampled by HMC and NUTS, whose steps window adaptation finds."""

import sys

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
features = jnp.asarray(rng.normal(size=(50, 3)), jnp.float32)
labels = jnp.asarray(rng.integers(0, 2, size=50), jnp.float32)


def log_density(position):
    logits = features @ position["w"] + position["b"]
    likelihood = jnp.sum(labels * logits - jax.nn.softplus(logits))
    return likelihood - 0.5 * (jnp.sum(position["w"] ** 2) + position["b"] ** 2)


def sample(kernel, state, key, n):
    step = jax.jit(kernel.step)
    positions = []
    for k in jax.random.split(key, n):
        state, info = step(k, state)
        positions.append(np.concatenate([state.position["w"], state.position["b"][None]]))
    return np.stack(positions), info.acceptance_rate


start = {"w": jnp.zeros(3), "b": jnp.zeros(())}
hmc = blackjax.hmc(log_density, 0.1, jnp.ones(4), num_integration_steps=5)
by_hmc, accepted = sample(hmc, hmc.init(start), jax.random.key(0), 20)
nuts = blackjax.nuts(log_density, 0.2, jnp.ones(4))
by_nuts, _ = sample(nuts, nuts.init(start), jax.random.key(1), 5)
warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
(state, found), _ = jax.jit(warmup.run, static_argnums=2)(jax.random.key(2), start, 100)
tuned = blackjax.nuts(log_density, **found)
draws = jax.jit(
    lambda state, keys: jax.lax.scan(lambda s, k: (tuned.step(k, s)[0],) * 2, state, keys)[1]
)(state, jax.random.split(jax.random.key(3), 400))
np.savez(
    sys.argv[1],
    by_hmc=by_hmc,
    accepted=accepted,
    by_nuts=by_nuts,
    statistics_of_w=np.stack([draws.position["w"].mean(0), draws.position["w"].std(0)]),
)
