"""jax-cosmo: distances, growth, power spectra and lensing, with a Fisher derivative."""

import sys

import jax
import jax.numpy as jnp
import jax_cosmo as jc
import numpy as np

cosmo = jc.Planck15()
a = jnp.linspace(0.3, 1.0, 8)
k = jnp.logspace(-3, 0, 12)


def spectrum(omega):
    return jc.power.linear_matter_power(jc.Planck15(Omega_c=omega), k, 1.0)


np.savez(
    sys.argv[1],
    distance=jc.background.radial_comoving_distance(cosmo, a),
    growth=jc.background.growth_factor(cosmo, a),
    power=spectrum(cosmo.Omega_c),
    halofit=jc.power.nonlinear_matter_power(cosmo, k, 1.0),
    slope=jax.jacfwd(spectrum)(cosmo.Omega_c),
)
