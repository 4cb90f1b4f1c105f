"""evosax: evolution strategies by ask and tell."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from evosax.algorithms import CMA_ES, PGPE, SNES, Open_ES, Sep_CMA_ES

results = {}
start = jnp.array([1.0, -2.0, 3.0, 0.5])
for strategy in (CMA_ES, Sep_CMA_ES, SNES, Open_ES, PGPE):
    es = strategy(population_size=8, solution=start)
    params = es.default_params

    @jax.jit
    def generation(state, key, es=es, params=params):
        ask, tell = jax.random.split(key)
        population, state = es.ask(ask, state, params)
        fitness = jax.vmap(lambda x: jnp.sum((x - 1) ** 2))(population)
        state, _ = es.tell(tell, population, fitness, state, params)
        return state, fitness.min()

    state = es.init(jax.random.key(0), start, params)
    best = []
    for key in jax.random.split(jax.random.key(1), 10):
        state, least = generation(state, key)
        best.append(least)
    results[f"{strategy.__name__}_best"] = jnp.stack(best)
    results[f"{strategy.__name__}_mean"] = es.get_mean(state)
np.savez(sys.argv[1], **results)
