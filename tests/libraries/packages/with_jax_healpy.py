"""jax-healpy: pixels of the sphere, their coordinates and neighbours."""

import sys

import jax
import jax.numpy as jnp
import jax_healpy as hp
import numpy as np

jax.config.update("jax_enable_x64", True)
nside = 4
pixels = jnp.arange(hp.nside2npix(nside))
theta, phi = hp.pix2ang(nside, pixels)
back = hp.ang2pix(nside, theta, phi)
nested = hp.ring2nest(nside, pixels)
vectors = jnp.stack(hp.pix2vec(nside, pixels))
sky = jax.random.normal(jax.random.PRNGKey(0), pixels.shape)
between = hp.get_interp_val(sky, theta + 0.01, phi + 0.02)

np.savez(
    sys.argv[1], theta=theta, phi=phi, back=back, nested=nested, vectors=vectors, between=between
)
