"""Jaxley: a neuron of several compartments, its voltage under a current, and gradients of channels."""

import sys

import jax
import jax.numpy as jnp
import jaxley as jx
import numpy as np
from jaxley.channels import HH
from jaxley.connect import connect
from jaxley.synapses import IonotropicSynapse

jax.config.update("jax_enable_x64", True)  # a spike of float32 moves with the last bits
branch = jx.Branch(jx.Compartment(), ncomp=2)
cell = jx.Cell(branch, parents=[-1, 0, 0])
cell.insert(HH())
cell.branch(0).comp(0).record("v", verbose=False)
cell.branch(2).comp(1).record("v", verbose=False)
current = jx.step_current(i_delay=0.5, i_dur=1.0, i_amp=2.0, delta_t=0.025, t_max=3.0)
cell.branch(0).comp(0).stimulate(current, verbose=False)
voltages = jx.integrate(cell, delta_t=0.025)

cell.branch(0).make_trainable("HH_gNa", verbose=False)
cell.make_trainable("radius", verbose=False)
params = cell.get_parameters()


@jax.jit
def loss(params):
    v = jx.integrate(cell, params=params, delta_t=0.025)
    return jnp.mean((v[0] + 60.0) ** 2)


value, gradient = jax.value_and_grad(loss)(params)

network = jx.Network([cell, cell])
connect(network.cell(0).branch(2).loc(1.0), network.cell(1).branch(0).loc(0.0), IonotropicSynapse())
network.delete_trainables()
network.delete_recordings()
network.cell(1).branch(0).loc(0.0).record("v", verbose=False)
joined = jx.integrate(network, delta_t=0.025, t_max=2.0)

np.savez(
    sys.argv[1],
    voltages=voltages,
    loss=value,
    joined=joined,
    **{f"gradient_{i}": leaf for i, leaf in enumerate(jax.tree.leaves(gradient))},
)
