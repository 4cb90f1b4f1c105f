"""JAX-GalSim: galaxies convolved with a point spread function, drawn, and differentiated."""

import sys

import jax
import jax_galsim as galsim
import numpy as np


def draw(radius):
    galaxy = galsim.Exponential(half_light_radius=radius, flux=10.0).shear(g1=0.1, g2=-0.2)
    psf = galsim.Gaussian(fwhm=0.9)
    image = galsim.Convolve([galaxy, psf]).drawImage(nx=17, ny=17, scale=0.2, method="no_pixel")
    return image.array


gaussian = galsim.Gaussian(sigma=1.0, flux=2.0).shift(0.3, -0.1)
np.savez(
    sys.argv[1],
    image=draw(1.2),
    slope=jax.jacfwd(lambda r: draw(r).sum())(1.2),
    profile=gaussian.drawImage(nx=9, ny=9, scale=0.5).array,
    flux=np.float32(gaussian.flux),
)
