"""s2fft: spherical harmonic and Wigner transforms, forward and back."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import s2fft

rng = np.random.default_rng(0)
L = 8
flm = jnp.asarray(s2fft.utils.signal_generator.generate_flm(rng, L, spin=0))
f = s2fft.inverse_jax(flm, L)
back = s2fft.forward_jax(f, L)
healpix = s2fft.inverse_jax(flm, L, nside=4, sampling="healpix")

np.savez(
    sys.argv[1],
    f=f,
    back=back,
    healpix=healpix,
    slope=jax.grad(lambda x: jnp.sum(jnp.abs(s2fft.forward_jax(x, L)) ** 2))(f.real),
)
