"""jaxkd: k-d trees: neighbours of points, counts within radii, clusters."""

import sys

import jax
import jax.numpy as jnp
import jaxkd as jk
import numpy as np

points = jax.random.normal(jax.random.key(0), (300, 3))
queries = jax.random.normal(jax.random.key(1), (20, 3))
tree = jk.build_tree(points)
neighbors, distances = jk.query_neighbors(tree, queries, k=5)
counts = jk.count_neighbors(tree, queries, r=jnp.array([0.5, 1.0]))
means, labels = jk.extras.k_means(jax.random.key(2), points, k=4, steps=10)

np.savez(
    sys.argv[1], neighbors=neighbors, distances=distances, counts=counts, means=means, labels=labels
)
