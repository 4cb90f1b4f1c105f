"""pgx: games of Go, Backgammon and Connect Four played at random, in batches."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pgx

results = {}
for name in ("go_9x9", "connect_four", "backgammon", "tic_tac_toe"):
    env = pgx.make(name)

    def play(key, env=env):
        def turn(state, key):
            choose, chance = jax.random.split(key)
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            action = jax.random.categorical(choose, logits)
            state = env.step(state, action, chance)
            return state, (action, state.current_player)

        state, turns = jax.lax.scan(turn, env.init(key), jax.random.split(key, 20))
        return state.observation, state.rewards, turns

    observation, rewards, (actions, players) = jax.jit(jax.vmap(play))(
        jax.random.split(jax.random.PRNGKey(0), 3)
    )
    results[f"{name}_observation"] = observation
    results[f"{name}_rewards"] = rewards
    results[f"{name}_actions"] = actions
    results[f"{name}_players"] = players
np.savez(sys.argv[1], **results)
