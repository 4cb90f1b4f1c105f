"""exponax: the Kuramoto-Sivashinsky and Burgers equations by exponential integrators."""

import sys

import exponax as ex
import jax
import jax.numpy as jnp
import numpy as np

stepper = ex.stepper.KuramotoSivashinskyConservative(
    num_spatial_dims=1, domain_extent=100.0, num_points=100, dt=0.1
)
start = ex.ic.RandomTruncatedFourierSeries(num_spatial_dims=1, cutoff=5)(
    num_points=100, key=jax.random.PRNGKey(0)
)
trajectory = ex.rollout(stepper, 50, include_init=True)(start)
jacobian = jax.jacfwd(stepper)(start)

burgers = ex.stepper.Burgers(2, 1.0, 16, 0.01, diffusivity=0.05)
grid = ex.make_grid(2, 1.0, 16)
flow = jnp.concatenate([jnp.sin(2 * jnp.pi * grid[:1]), jnp.cos(2 * jnp.pi * grid[1:])])
flows = jax.vmap(ex.repeat(burgers, 10))(jnp.stack([flow, 0.5 * flow]))

np.savez(
    sys.argv[1], start=start, trajectory=trajectory[::10], jacobian=jacobian[:, ::10], flows=flows
)
