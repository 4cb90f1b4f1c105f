"""tensorcircuit: circuits on its backend of JAX, their expectations and gradients."""

import sys

import numpy as np
import tensorcircuit as tc

backend = tc.set_backend("jax")
n = 4


def energy(theta):
    c = tc.Circuit(n)
    for k in range(n):
        c.rx(k, theta=theta[k])
    for k in range(n - 1):
        c.cnot(k, k + 1)
    for k in range(n):
        c.ry(k, theta=theta[n + k])
    found = 0.0
    for k in range(n - 1):
        found += backend.real(c.expectation_ps(z=[k, k + 1]))
    return found - backend.real(c.expectation_ps(x=[0]))


theta = backend.convert_to_tensor(np.linspace(0.1, 0.8, 2 * n).astype(np.float32))
value, slope = backend.jit(backend.value_and_grad(energy))(theta)
c = tc.Circuit(2)
c.H(0)
c.CNOT(0, 1)
c.rx(1, theta=0.2)
np.savez(
    sys.argv[1],
    value=np.asarray(value),
    slope=np.asarray(slope),
    state=np.asarray(c.wavefunction()),
    batch=np.asarray(backend.vmap(energy)(backend.stack([theta, 2 * theta]))),
)
