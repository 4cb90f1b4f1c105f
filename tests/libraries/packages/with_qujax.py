"""qujax: circuits of gates as functions of angles, expectations and their gradients."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import qujax

gates = ["H", "Rz", "Rz", "CX", "Ry"]
qubits = [[0], [0], [1], [0, 1], [1]]
angles = [[], [0], [1], [], [2]]
state_of = qujax.get_params_to_statetensor_func(gates, qubits, angles)
unitary_of = qujax.get_params_to_unitarytensor_func(gates, qubits, angles)
energy_of = qujax.get_statetensor_to_expectation_func(
    [["Z"], ["X", "X"]], [[0], [0, 1]], [0.5, -1.0]
)
params = jnp.array([0.1, 0.2, 0.3])


@jax.jit
def energy(params):
    return energy_of(state_of(params))


np.savez(
    sys.argv[1],
    state=state_of(params),
    unitary=unitary_of(params),
    energy=energy(params),
    slope=jax.grad(energy)(params),
    batch=jax.vmap(energy)(jnp.stack([params, 2 * params])),
)
