"""brax: environments stepped in a scan, in batches, and a gradient through the physics."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from brax import envs
from brax.training import distribution, networks

results = {}
backends = {"inverted_pendulum": "generalized", "ant": "positional", "reacher": "spring"}
for name, backend in backends.items():
    env = envs.create(name, backend=backend, episode_length=20, auto_reset=True)
    state = jax.jit(env.reset)(jax.random.key(0))
    actions = 0.3 * jax.random.normal(jax.random.key(1), (6, env.action_size))

    def step(state, action, env=env):
        state = env.step(state, action)
        return state, (state.obs, state.reward, state.done)

    _, (observations, rewards, done) = jax.jit(lambda s, a, step=step: jax.lax.scan(step, s, a))(
        state, actions
    )
    results |= {f"{name}_{k}": v for k, v in zip("xrd", (observations, rewards, done), strict=True)}

env = envs.create("inverted_pendulum", backend="generalized", episode_length=10, batch_size=3)
batch = jax.jit(env.reset)(jax.random.key(2))
batch = jax.jit(env.step)(batch, jnp.zeros((3, env.action_size)))

policy = networks.MLP(layer_sizes=(8, 2))
params = policy.init(jax.random.key(3), batch.obs)
actions = distribution.NormalTanhDistribution(event_size=1)
sampled = actions.sample(policy.apply(params, batch.obs), jax.random.key(4))

single = envs.get_environment("inverted_pendulum", backend="generalized")
start = jax.jit(single.reset)(jax.random.key(5))


def height(action):
    state = jax.lax.fori_loop(0, 3, lambda _, s: single.step(s, action), start)
    return state.obs[1] ** 2


np.savez(
    sys.argv[1],
    batch=batch.obs,
    sampled=sampled,
    height=jax.jit(height)(jnp.ones(1) * 0.1),
    tangent=jax.jit(jax.jacfwd(height))(jnp.ones(1) * 0.1),
    **results,
)
