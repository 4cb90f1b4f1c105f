"""diffrax: differential equations, ordinary and stochastic, and the gradients of their solutions."""

import sys

import diffrax
import jax
import jax.numpy as jnp
import numpy as np


def lorenz(t, y, args):
    sigma, rho, beta = args
    return jnp.stack([sigma * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - beta * y[2]])


def solve(args, solver, adjoint, **options):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lorenz), solver, 0.0, 1.0, 0.01, jnp.array([1.0, 0.5, 0.2]), args,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 1.0, 5)), adjoint=adjoint, **options,
    )  # fmt: skip


args = jnp.array([10.0, 28.0, 8 / 3])
adaptive = diffrax.PIDController(rtol=1e-5, atol=1e-6)
by_steps = diffrax.RecursiveCheckpointAdjoint()


@jax.jit
def end_of(args):
    solution = solve(args, diffrax.Tsit5(), by_steps, stepsize_controller=adaptive)
    return jnp.sum(solution.ys[-1])


solution = solve(args, diffrax.Tsit5(), by_steps, stepsize_controller=adaptive)
brownian = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-2, (2,), jax.random.key(0))
noisy = diffrax.diffeqsolve(
    diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, _: -y),
        diffrax.ControlTerm(lambda t, y, _: 0.1 * jnp.eye(2), brownian),
    ),
    diffrax.EulerHeun(), 0.0, 1.0, 0.05, jnp.ones(2),
)  # fmt: skip
np.savez(
    sys.argv[1],
    ys=solution.ys,
    steps=solution.stats["num_steps"],
    gradient=jax.grad(end_of)(args),
    implicit=solve(args, diffrax.Kvaerno3(), by_steps, stepsize_controller=adaptive).ys,
    batch=jax.vmap(lambda a: solve(a, diffrax.Heun(), by_steps).ys[-1])(
        jnp.stack([args, args * 0.9])
    ),
    noisy=noisy.ys,
)
