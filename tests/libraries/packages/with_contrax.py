"""contrax: a linear-quadratic regulator, its closed loop simulated and differentiated."""

import sys

import contrax as cx
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
A = jnp.array([[1.0, 0.05], [0.0, 1.0]])
B = jnp.array([[0.0], [0.05]])
system = cx.dss(A, B, jnp.eye(2), jnp.zeros((2, 1)), dt=0.05)
start = jnp.array([1.0, 0.0])


def closed_loop_cost(log_q_diag, log_r):
    K = cx.lqr(system, jnp.diag(jnp.exp(log_q_diag)), jnp.exp(log_r)[None, None]).K
    _, xs, _ = cx.simulate(system, start, lambda t, x: -K @ x, num_steps=80)
    return jnp.sum(xs**2) + 1e-2 * jnp.sum((xs[:-1] @ K.T) ** 2)


cost, (dq, dr) = jax.jit(jax.value_and_grad(closed_loop_cost, argnums=(0, 1)))(
    jnp.zeros(2), jnp.array(0.0)
)
gain = cx.lqr(system, jnp.eye(2), jnp.eye(1)).K

np.savez(sys.argv[1], cost=cost, dq=dq, dr=dr, gain=gain)
