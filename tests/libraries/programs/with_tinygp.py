"""tinygp: a Gaussian process fitted by gradient descent, predictions, and quasiseparable kernels."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tinygp import GaussianProcess, kernels, transforms

rng = np.random.default_rng(0)
t = jnp.asarray(np.sort(rng.uniform(0, 10, 40)), jnp.float32)
y = jnp.asarray(np.sin(np.asarray(t)) + 0.1 * rng.normal(size=40), jnp.float32)


def process(params):
    kernel = jnp.exp(params["amplitude"]) * kernels.Matern32(jnp.exp(params["scale"]))
    return GaussianProcess(kernel, t, diag=jnp.exp(params["noise"]), mean=params["mean"])


@jax.jit
def loss(params):
    return -process(params).log_probability(y)


params = {name: jnp.float32(x) for name, x in (
    ("amplitude", 0.0), ("scale", 0.0), ("noise", -2.0), ("mean", 0.0)
)}  # fmt: skip
optimizer = optax.adam(0.05)
state = optimizer.init(params)
losses = []
for _ in range(20):
    value, gradient = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(gradient, state)
    params = optax.apply_updates(params, updates)
    losses.append(value)

grid = jnp.linspace(0, 10, 12)
conditioned = process(params).condition(y, grid).gp
fast = GaussianProcess(
    kernels.quasisep.Matern32(scale=1.5) + kernels.quasisep.Cosine(2.0), t, diag=0.1
)
anisotropic = transforms.Linear(jnp.array([[1.0, 0.2], [0.0, 0.5]]), kernels.ExpSquared())
points = jnp.asarray(rng.normal(size=(6, 2)), jnp.float32)


def of_scale(scale):
    return GaussianProcess(kernels.quasisep.Matern52(scale), t, diag=0.1).log_probability(y)


np.savez(
    sys.argv[1],
    losses=np.array(losses),
    mean=conditioned.loc,
    variance=conditioned.variance,
    quasiseparable=fast.log_probability(y),
    sample=fast.sample(jax.random.key(0)),
    anisotropic=anisotropic(points, points),
    gradient=jax.grad(of_scale)(1.2),
)
