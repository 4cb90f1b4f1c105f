"""mujoco-mjx: a pendulum stepped in a scan, in batches, and differentiated."""

import sys

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx

XML = """
<mujoco>
  <worldbody>
    <light name="top" pos="0 0 1"/>
    <body name="arm" pos="0 0 1">
      <joint name="hinge" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
      <body pos="0 0 -0.4">
        <joint type="hinge" axis="0 1 0"/>
        <geom type="sphere" size="0.08"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" gear="2"/></actuator>
</mujoco>
"""
model = mujoco.MjModel.from_xml_string(XML)
mjx_model = mjx.put_model(model)


def roll(angle):
    data = mjx.make_data(mjx_model)
    data = data.replace(qpos=data.qpos.at[0].set(angle), ctrl=jnp.array([0.3]))
    step = lambda data, _: ((new := mjx.step(mjx_model, data)), new.qpos)  # noqa: E731
    return jax.lax.scan(step, data, None, length=10)[1]


angles = jnp.array([0.1, 0.5, 1.0])
np.savez(
    sys.argv[1],
    paths=jax.jit(jax.vmap(roll))(angles),
    slope=jax.jit(jax.jacfwd(lambda a: roll(a)[-1]))(0.5),
)
