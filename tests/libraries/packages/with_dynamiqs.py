"""dynamiqs: a lossy oscillator's master equation, and the gradient of its population."""

import sys

import dynamiqs as dq
import jax
import jax.numpy as jnp
import numpy as np

dq.set_progress_meter(False)
n = 10


def population(omega, kappa, amplitude):
    a = dq.destroy(n)
    found = dq.mesolve(
        omega * dq.dag(a) @ a, [jnp.sqrt(kappa) * a], dq.coherent(n, amplitude),
        jnp.linspace(0, 2, 5), exp_ops=[dq.number(n)],
    )  # fmt: skip
    return found.expects[0].real


closed = dq.sesolve(dq.sigmax(), dq.basis(2, 0), jnp.linspace(0, 1, 4), exp_ops=[dq.sigmaz()])
np.savez(
    sys.argv[1],
    population=population(1.0, 0.1, 1.0),
    slope=jnp.stack(jax.grad(lambda *args: population(*args)[-1], (0, 1, 2))(1.0, 0.1, 1.0)),
    closed=closed.expects,
    fidelity=dq.fidelity(dq.coherent(n, 0.5), dq.coherent(n, 0.6)),
    displaced=dq.displace(n, 0.3).to_jax(),
)
