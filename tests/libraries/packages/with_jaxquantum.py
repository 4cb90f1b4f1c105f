"""jaxquantum: operators, states, and a driven oscillator's master equation."""

import sys

import jax.numpy as jnp
import jaxquantum as jqt
import numpy as np

n = 8
a = jqt.destroy(n)
hamiltonian = a.dag() @ a + 0.1 * (a + a.dag())
state = jqt.ket2dm(jqt.basis(n, 0))
times = jnp.linspace(0, 2, 5)
found = jqt.mesolve(hamiltonian, state, times, c_ops=jqt.Qarray.from_list([jnp.sqrt(0.2) * a]))
number = a.dag() @ a

np.savez(
    sys.argv[1],
    commutator=(a @ a.dag() - a.dag() @ a).data,
    coherent=jqt.coherent(n, 0.5).data,
    numbers=jqt.overlap(number, found),
)
