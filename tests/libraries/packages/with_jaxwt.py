"""jaxwt: wavelet transforms of one and two dimensions, packets, and their inverses."""

import sys

import jax
import jax.numpy as jnp
import jaxwt
import numpy as np
import pywt

x = jax.random.normal(jax.random.key(0), (2, 64))
image = jax.random.normal(jax.random.key(1), (1, 16, 16))
levels = jaxwt.wavedec(x, pywt.Wavelet("db3"), mode="reflect", level=3)
back = jaxwt.waverec(levels, pywt.Wavelet("db3"))
plane = jaxwt.wavedec2(image, pywt.Wavelet("haar"), level=2)
continuous, frequencies = jaxwt.cwt(x, jnp.arange(1, 9), "mexh")

np.savez(
    sys.argv[1],
    back=back,
    plane=plane[0],
    continuous=continuous,
    slope=jax.grad(lambda x: sum((c**2).sum() for c in jaxwt.wavedec(x, "db2", level=2)))(x),
    **{f"level_{k}": c for k, c in enumerate(levels)},
)
