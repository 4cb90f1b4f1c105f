"""coix: variational inference by combinators of numpyro's programs."""

import sys

import coix
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax

coix.set_backend("coix.numpyro")
data = jnp.array([[0.5, 1.0], [0.8, 1.4], [0.3, 0.9]])


def model(params):
    z = numpyro.sample("z", dist.Normal(jnp.zeros(2), 1.0).to_event())
    numpyro.sample("x", dist.Normal(jnp.broadcast_to(z, data.shape), 0.5).to_event(), obs=data)
    return (z,)


def guide(params, *args):
    z = numpyro.sample("z", dist.Normal(params["loc"], jnp.exp(params["log_scale"])).to_event())
    return (z,)


def loss_fn(params, key, make=coix.algo.svi):
    def of_one(key):
        program = make(lambda *a: model(params), lambda *a: guide(params, *a))
        return coix.traced_evaluate(program, seed=key)()[2]

    metrics = jax.vmap(of_one)(jax.random.split(key, 4))
    return jnp.mean(metrics["loss"]), metrics


params = {"loc": jnp.zeros(2), "log_scale": jnp.zeros(2)}
optimizer = optax.adam(0.05)
state = optimizer.init(params)
step = jax.jit(jax.value_and_grad(loss_fn, has_aux=True))
losses = []
for i in range(40):
    (loss, _), slope = step(params, jax.random.key(i))
    updates, state = optimizer.update(slope, state)
    params = optax.apply_updates(params, updates)
    losses.append(loss)
slopes = [
    jax.grad(lambda p, make=make: loss_fn(p, jax.random.key(0), make)[0])(params)
    for make in (coix.algo.svi, coix.algo.svi_stl)
]

np.savez(
    sys.argv[1],
    losses=np.array(losses),
    slopes=jnp.stack([s["loc"] for s in slopes]),
    **params,
)
