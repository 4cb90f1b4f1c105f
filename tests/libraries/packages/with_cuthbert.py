"""cuthbert: a Kalman filter of a linear Gaussian model, in parallel and in sequence."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from cuthbert import filter as run_filter
from cuthbert.gaussian import kalman

ys = jnp.cumsum(jax.random.normal(jax.random.key(0), (12, 1)), 0)
F, chol_Q = jnp.array([[1.0, 0.1], [0.0, 0.9]]), 0.3 * jnp.eye(2)
H, chol_R = jnp.array([[1.0, 0.0]]), 0.5 * jnp.eye(1)


def loglikelihood(scale, parallel):
    model = kalman.build_filter(
        jnp.zeros(2),
        jnp.eye(2),
        lambda inputs: (F, jnp.zeros(2), scale * chol_Q),
        lambda inputs: (H, jnp.zeros(1), chol_R, ys[inputs - 1]),
    )
    return run_filter(model, jnp.arange(1, 13), model.init_prepare(), parallel=parallel)


states = {p: loglikelihood(1.0, p) for p in (False, True)}
np.savez(
    sys.argv[1],
    sequential=states[False].log_normalizing_constant,
    parallel=states[True].log_normalizing_constant,
    mean=states[False].mean,
    slope=jax.grad(lambda s: loglikelihood(s, False).log_normalizing_constant[-1])(1.0),
)
