"""unxt and quaxed: arithmetic of quantities with units, compiled and differentiated."""

import sys

import jax.numpy as jnp
import numpy as np
import quaxed.numpy as qnp
import unxt as u
from unxt.experimental import grad

distance = u.Quantity(jnp.array([1.0, 2.0, 4.0]), "km")
time = u.Quantity(jnp.array([1.0, 3.0, 2.0]), "s")
speed = qnp.divide(distance, time)
energy = (0.5 * u.Quantity(2.0, "kg") * qnp.square(speed)).uconvert("J")
slope = grad(lambda x: x**3, units=("km",))(u.Quantity(2.0, "km"))
try:
    distance + time
    refused = False
except Exception:
    refused = True

np.savez(
    sys.argv[1],
    speed=speed.ustrip("m / s"),
    energy=energy.value,
    mean=qnp.mean(distance).ustrip("m"),
    sine=qnp.sin(u.Quantity(jnp.array([0.0, 30.0, 90.0]), "deg")).value,
    slope=slope.ustrip("km2"),
    refused=refused,
)
