"""coordinax: positions and velocities with units, in other coordinates and frames."""

import sys

import coordinax as cx
import jax.numpy as jnp
import numpy as np
import unxt as u

q = cx.CartesianPos3D(
    x=u.Q(jnp.arange(0, 10.0), "kpc"),
    y=u.Q(jnp.arange(5, 15.0), "kpc"),
    z=u.Q(jnp.arange(10, 20.0), "kpc"),
)
p = cx.CartesianVel3D(
    x=u.Q(jnp.arange(0, 10.0), "km/s"),
    y=u.Q(jnp.arange(5, 15.0), "km/s"),
    z=u.Q(jnp.arange(10, 20.0), "km/s"),
)
spherical = cx.vconvert(cx.SphericalPos, q)
velocity = cx.vconvert(cx.SphericalVel, p, q)
op = cx.frames.frame_transform_op(cx.frames.ICRS(), cx.frames.Galactocentric())
q_gc, p_gc = op(q, p)

np.savez(
    sys.argv[1],
    text=str(spherical),
    radius=spherical.r.value,
    theta=spherical.theta.value,
    phi=spherical.phi.value,
    radial=velocity.r.value,
    x=q_gc.x.to_value("kpc"),
    y=q_gc.y.to_value("kpc"),
    speed=p_gc.z.to_value("km/s"),
)
