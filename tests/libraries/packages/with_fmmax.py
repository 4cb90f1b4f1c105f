"""fmmax: the Fourier modal method: eigenmodes of a grating, reflection, and its derivative."""

import sys

import fmmax
import jax
import jax.numpy as jnp
import numpy as np

lattice = fmmax.LatticeVectors(u=fmmax.X, v=fmmax.Y)
expansion = fmmax.generate_expansion(
    lattice, approximate_num_terms=9, truncation=fmmax.Truncation.CIRCULAR
)
x, y = jnp.meshgrid(jnp.linspace(-0.5, 0.5, 16), jnp.linspace(-0.5, 0.5, 16), indexing="ij")


def scattering(index):
    density = jnp.where(x**2 + y**2 < 0.09, 1.0, 0.0)
    permittivities = [
        jnp.full((1, 1), 1.0 + 0j),
        1.0 + (index**2 - 1.0) * density + 0j,
        jnp.full((1, 1), 2.25 + 0j),
    ]
    solved = [
        fmmax.eigensolve_isotropic_media(
            wavelength=jnp.float32(0.6), in_plane_wavevector=jnp.zeros(2),
            primitive_lattice_vectors=lattice, permittivity=p, expansion=expansion,
            formulation=fmmax.Formulation.FFT,
        )
        for p in permittivities
    ]  # fmt: skip
    return fmmax.stack_s_matrix(solved, [jnp.float32(1.0), jnp.float32(0.3), jnp.float32(1.0)])


found = jax.jit(scattering)(2.0)
total = lambda index: jnp.sum(jnp.abs(scattering(index).s21) ** 2)  # noqa: E731
np.savez(
    sys.argv[1],
    transmitted=total(2.0),
    reflected=jnp.sum(jnp.abs(found.s11) ** 2),
    slope=jax.grad(total)(2.0),
)
