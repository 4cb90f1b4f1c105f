"""chromax: a breeding program: crosses of plants, and selection by their traits."""

import sys

import numpy as np
from chromax import Simulator
from chromax.sample_data import genetic_map, genome

simulator = Simulator(genetic_map=genetic_map, trait_names=["Yield"], seed=7)
population = simulator.load_population(genome)
children, parents = simulator.random_crosses(population, n_crosses=4, n_offspring=5)
best, indices = simulator.select(children.reshape(-1, *children.shape[2:]), k=4)
lines = simulator.double_haploid(best)
values = simulator.GEBV(lines)

np.savez(
    sys.argv[1],
    parents=parents,
    indices=indices,
    best=best[:, ::50],
    lines=lines[:, ::50],
    values=values,
)
