"""netket: a variational state of a spin chain, its energy and gradient, and exact diagonalization."""

import sys

import jax
import netket as nk
import numpy as np

graph = nk.graph.Chain(6, pbc=True)
space = nk.hilbert.Spin(0.5, 6)
hamiltonian = nk.operator.Ising(space, graph, h=1.0)
state = nk.vqs.FullSumState(space, nk.models.RBM(alpha=1, param_dtype=float), seed=0)
energy, slope = state.expect_and_grad(hamiltonian)
driver = nk.VMC(hamiltonian, nk.optimizer.Sgd(0.05), variational_state=state)
driver.run(5, out=None, show_progress=False)
np.savez(
    sys.argv[1],
    energy=np.asarray(energy.mean),
    slope=np.concatenate([np.ravel(x) for x in jax.tree.leaves(slope)]),
    later=np.asarray(state.expect(hamiltonian).mean),
    exact=nk.exact.lanczos_ed(hamiltonian),
    matrix=hamiltonian.to_dense()[:4],
)
