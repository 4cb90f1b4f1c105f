"""craftax: its survival game reset and stepped at random, in batches."""

import sys

import jax
import numpy as np
from craftax.craftax_env import make_craftax_env_from_name

env = make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)
params = env.default_params


def play(key):
    start, key = jax.random.split(key)
    observation, state = env.reset(start, params)

    def turn(state, key):
        choose, chance = jax.random.split(key)
        action = jax.random.randint(choose, (), 0, env.action_space(params).n)
        observation, state, reward, done, _ = env.step(chance, state, action, params)
        return state, (observation, reward, done, action)

    return observation, jax.lax.scan(turn, state, jax.random.split(key, 15))[1]


first, (observations, rewards, done, actions) = jax.jit(jax.vmap(play))(
    jax.random.split(jax.random.key(0), 2)
)

np.savez(
    sys.argv[1],
    first=first,
    observations=observations[:, -1],
    rewards=rewards,
    done=done,
    actions=actions,
)
