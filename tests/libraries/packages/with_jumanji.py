"""jumanji: environments reset and stepped, in scans and batches."""

import sys

import jax
import jax.numpy as jnp
import jumanji
import numpy as np

results = {}
for name in ("Snake-v1", "Game2048-v1", "Knapsack-v1", "Maze-v0"):
    env = jumanji.make(name)
    spec = env.action_spec

    def play(key, env=env, spec=spec):
        def step(carry, key):
            state, timestep = carry
            mask = timestep.observation.action_mask
            action = jax.random.categorical(key, jnp.where(mask, 0.0, -1e9))
            state, timestep = env.step(state, action.astype(spec.dtype))
            return (state, timestep), (timestep.reward, timestep.discount, action)

        return jax.lax.scan(step, env.reset(key), jax.random.split(key, 12))[1]

    rewards, discounts, actions = jax.jit(jax.vmap(play))(
        jax.random.split(jax.random.PRNGKey(0), 3)
    )
    short = name.split("-")[0]
    results[f"{short}_rewards"] = rewards
    results[f"{short}_discounts"] = discounts
    results[f"{short}_actions"] = actions
np.savez(sys.argv[1], **results)
