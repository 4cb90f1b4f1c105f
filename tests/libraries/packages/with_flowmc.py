"""flowMC: networks of its normalizing flows, evaluated, inverted and fitted to samples."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flowMC.resource.model.nf_model.realNVP import RealNVP
from flowMC.resource.model.nf_model.rqSpline import MaskedCouplingRQSpline

key = jax.random.PRNGKey(0)
data = jax.random.normal(key, (64, 2)) * jnp.array([1.0, 0.5]) + 0.3
results = {}
for name, flow in {
    "nvp": RealNVP(2, 2, 8, key),
    "spline": MaskedCouplingRQSpline(2, 2, [8], 4, key),
}.items():
    results[f"{name}_density"] = eqx.filter_vmap(flow.log_prob)(data)
    results[f"{name}_samples"] = flow.sample(jax.random.PRNGKey(1), 5)
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(flow, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(flow, state, optimizer=optimizer):
        loss, slope = eqx.filter_value_and_grad(
            lambda flow: -jnp.mean(eqx.filter_vmap(flow.log_prob)(data))
        )(flow)
        updates, state = optimizer.update(slope, state)
        return eqx.apply_updates(flow, updates), state, loss

    losses = []
    for _ in range(4):
        flow, state, loss = step(flow, state)
        losses.append(loss)
    results[f"{name}_losses"] = jnp.stack(losses)
np.savez(sys.argv[1], **results)
