"""jaxlie: rotations and rigid motions, their exponentials, logarithms and derivatives on manifolds."""

import sys

import jax
import jax.numpy as jnp
import jaxlie
import numpy as np

tangent = jnp.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
motion = jaxlie.SE3.exp(tangent)
rotation = jaxlie.SO3.from_rpy_radians(0.1, 0.2, 0.3)
points = jax.random.normal(jax.random.key(0), (5, 3))


def error(motion):
    return jnp.sum((motion @ points[0] - points[1]) ** 2)


@jax.jit
def step(motion):
    return jaxlie.manifold.rplus(motion, -0.05 * jaxlie.manifold.grad(error)(motion))


fitted = motion
for _ in range(10):
    fitted = step(fitted)

np.savez(
    sys.argv[1],
    matrix=motion.as_matrix(),
    logarithm=motion.log(),
    inverse=(motion.inverse() @ motion).as_matrix(),
    rotated=jax.vmap(lambda p: rotation @ p)(points),
    adjoint=motion.adjoint(),
    slope=jaxlie.manifold.grad(error)(motion),
    fitted=fitted.parameters(),
    plane=jaxlie.SO2.from_radians(0.3).as_matrix(),
)
