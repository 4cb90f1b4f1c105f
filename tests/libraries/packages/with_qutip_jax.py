"""qutip-jax: QuTiP's objects with data in JAX arrays, evolved and differentiated."""

import sys

import jax.numpy as jnp
import numpy as np
import qutip
import qutip_jax

qutip_jax.set_as_default()
h = qutip.sigmax().to("jax")
psi = qutip.basis(2, 0).to("jax")
found = qutip.sesolve(
    h, psi, jnp.linspace(0, 1, 5), e_ops=[qutip.sigmaz().to("jax")],
    options={"method": "diffrax", "normalize_output": False},
)  # fmt: skip

product = h @ qutip.sigmay().to("jax")
np.savez(
    sys.argv[1],
    expect=np.asarray(found.expect[0]),
    product=np.asarray(product.full()),
    exponential=np.asarray((-0.3j * h).expm().full()),
)
