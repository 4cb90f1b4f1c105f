"""xminigrid: grid worlds reset and stepped at random, in batches."""

import sys

import jax
import numpy as np
import xminigrid

results = {}
for name in ("MiniGrid-Empty-8x8", "MiniGrid-DoorKey-6x6", "MiniGrid-FourRooms"):
    env, params = xminigrid.make(name)

    def play(key, env=env, params=params):
        def step(timestep, key):
            action = jax.random.randint(key, (), 0, env.num_actions(params))
            timestep = env.step(params, timestep, action)
            return timestep, (timestep.reward, timestep.step_type)

        timestep, found = jax.lax.scan(step, env.reset(params, key), jax.random.split(key, 25))
        return timestep.observation, found

    observation, (reward, kind) = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), 3))
    short = name.split("-")[1]
    results |= {f"{short}_seen": observation, f"{short}_reward": reward, f"{short}_kind": kind}
np.savez(sys.argv[1], **results)
