"""pennylane: a variational circuit on its simulator in JAX, differentiated and trained."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

if not hasattr(jax.core, "is_concrete"):  # which JAX 0.12 has removed
    jax.core.is_concrete = lambda x: not isinstance(x, jax.core.Tracer)

import pennylane as qml

device = qml.device("default.qubit", wires=3)


@jax.jit
@qml.qnode(device, interface="jax")
def circuit(angles):
    for wire in range(3):
        qml.RX(angles[wire], wires=wire)
        qml.RY(angles[wire + 3], wires=wire)
    qml.CNOT(wires=[0, 1])
    qml.CNOT(wires=[1, 2])
    return qml.expval(qml.PauliZ(0) @ qml.PauliX(2))


@qml.qnode(device, interface="jax")
def state(angles):
    qml.Hadamard(0)
    qml.CRX(angles[0], wires=[0, 1])
    qml.QFT(wires=[0, 1, 2])
    return qml.state()


angles = jnp.linspace(0.1, 1.6, 6)
value, slope = jax.value_and_grad(circuit)(angles)
for _ in range(20):
    angles = angles - 0.4 * jax.grad(circuit)(angles)

np.savez(
    sys.argv[1],
    value=value,
    slope=slope,
    trained=circuit(angles),
    batch=jax.vmap(circuit)(jnp.linspace(0, 1, 24).reshape(4, 6)),
    state=state(jnp.array([0.7])),
)
