"""halox: haloes' mass function and density, and their derivatives."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from halox import cosmology, halo, hmf

jax.config.update("jax_enable_x64", True)
cosmo = cosmology.Planck18()
masses = jnp.logspace(13, 15, 20)
function = hmf.tinker08_mass_function(masses, 0.5, cosmo)
h = halo.nfw.NFWHalo(1e14, 5.0, 0.0, cosmo)
density = h.density(jnp.logspace(-1, 1, 20))
slope = jax.grad(lambda m: hmf.tinker08_mass_function(m, 0.5, cosmo))(1e14)

np.savez(sys.argv[1], function=function, density=density, slope=slope)
