"""squishyplanet: transits of a planet that is no sphere, and their derivatives."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from squishyplanet import OblateSystem

jax.config.update("jax_enable_x64", True)
times = jnp.linspace(-0.1, 0.1, 60)
given = {
    "t0": 0.0,
    "tidally_locked": False,
    "times": times,
    "a": 20.0,
    "period": 10.0,
    "r": 0.1,
    "i": jnp.pi / 2 - 0.01,
    "ld_u_coeffs": jnp.array([0.3, 0.2]),
    "f1": 0.1,
    "obliq": 0.3,
}
system = OblateSystem(**given)
curve = system.lightcurve()
slope = jax.grad(lambda r: system.lightcurve({"r": r}).sum())(0.1)

np.savez(sys.argv[1], curve=curve, slope=slope)
