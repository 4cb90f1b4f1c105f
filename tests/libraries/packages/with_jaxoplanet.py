"""jaxoplanet: orbits, light curves of transits, and their derivatives."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jaxoplanet.light_curves import limb_dark_light_curve
from jaxoplanet.orbits.keplerian import Body, Central, System
from jaxoplanet.orbits.transit import TransitOrbit

t = jnp.linspace(-0.1, 0.1, 21)
orbit = TransitOrbit(
    period=3.456, duration=0.12, time_transit=0.0, impact_param=0.3, radius_ratio=0.1
)
star = Central(mass=1.1, radius=0.9)
system = System(star, bodies=[Body(period=4.3, radius=0.1, eccentricity=0.2, omega_peri=0.4)])


def flux(radius):
    orbit = TransitOrbit(
        period=3.456, duration=0.12, time_transit=0.0, impact_param=0.3, radius_ratio=radius
    )
    return limb_dark_light_curve(orbit, [0.1, 0.4])(t)


body = system.bodies[0]
np.savez(
    sys.argv[1],
    flux=flux(0.1),
    slope=jax.jacfwd(flux)(0.1),
    transit=jax.jit(limb_dark_light_curve(orbit, [0.3]))(t),
    kepler=limb_dark_light_curve(system, [0.1, 0.3])(t),
    velocity=jnp.stack(body.relative_velocity(t)),
)
