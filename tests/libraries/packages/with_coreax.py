"""coreax: a coreset of points by kernel herding, and its weights."""

import sys

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from coreax import Data
from coreax.kernels import SquaredExponentialKernel, median_heuristic
from coreax.metrics import MMD
from coreax.solvers import KernelHerding

points = jnp.concatenate([jr.normal(jr.key(0), (60, 2)), jr.normal(jr.key(1), (40, 2)) * 0.5 + 3.0])
data = Data(points)
kernel = SquaredExponentialKernel(length_scale=median_heuristic(points))
coreset, state = KernelHerding(coreset_size=12, kernel=kernel).reduce(data)
distance = coreset.compute_metric(MMD(kernel))

np.savez(
    sys.argv[1], nodes=coreset.unweighted_indices, points=coreset.points.data, distance=distance
)
