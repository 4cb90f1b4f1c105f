"""ott-jax: optimal transport by Sinkhorn's algorithm, gradients through it, Gromov-Wasserstein."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from ott.geometry import costs, pointcloud
from ott.problems.linear import linear_problem
from ott.problems.quadratic import quadratic_problem
from ott.solvers import linear
from ott.solvers.linear import sinkhorn
from ott.solvers.quadratic import gromov_wasserstein
from ott.tools import sinkhorn_divergence

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(10, 2)), jnp.float32)
y = jnp.asarray(rng.normal(size=(12, 2)) + 0.5, jnp.float32)


@jax.jit
def cost(x):
    return linear.solve(pointcloud.PointCloud(x, y, epsilon=0.2)).reg_ot_cost


@jax.jit
def flow(x):
    """Points that descend towards others: the example of the documentation."""

    def step(x, _):
        value, grads = jax.value_and_grad(cost)(x)
        return x - 0.5 * grads, value

    return jax.lax.scan(step, x, length=5)


matched = linear.solve(pointcloud.PointCloud(x, y, epsilon=0.2))
moved, values = flow(x)
manhattan = linear_problem.LinearProblem(
    pointcloud.PointCloud(x, y, cost_fn=costs.PNormP(1.0), epsilon=0.3),
    a=jnp.arange(1.0, 11) / 55, tau_b=0.9,
)  # fmt: skip
unbalanced = jax.jit(sinkhorn.Sinkhorn(lse_mode=False))(manhattan)
structure = quadratic_problem.QuadraticProblem(pointcloud.PointCloud(x), pointcloud.PointCloud(y))
solver = gromov_wasserstein.GromovWasserstein(
    linear_solver=sinkhorn.Sinkhorn(), epsilon=0.5, max_iterations=5
)
np.savez(
    sys.argv[1],
    plan=matched.matrix,
    steps=matched.n_iters,
    converged=matched.converged,
    hessian=jax.jit(jax.hessian(lambda t: cost(x + t)))(jnp.zeros(2)),
    moved=moved,
    values=values,
    unbalanced=unbalanced.matrix,
    gromov=solver(structure).matrix,
    divergence=sinkhorn_divergence.sinkhorn_divergence(
        pointcloud.PointCloud, x, y, epsilon=0.2)[0],
)  # fmt: skip
