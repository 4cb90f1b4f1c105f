"""What `shard_alike`, `mesh_utils` and `topologies` do in a process of four devices, printed.

The argument is `jitney` or `jax`: `test_places.py` compares what the two print.
"""

from __future__ import annotations

import importlib
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import numpy as np

library = sys.argv[1]
jax = importlib.import_module(library)
jnp = importlib.import_module(f"{library}.numpy")
utils, topologies, alike = [
    importlib.import_module(f"{library}.experimental.{name}")
    for name in ("mesh_utils", "topologies", "shard_alike")
]
shard_alike, P = alike.shard_alike, jax.P
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def put(x, *spec):
    return jax.device_put(x, jax.NamedSharding(mesh, P(*spec)))


def shown(what):
    if isinstance(what, tuple | list):
        return [shown(x) for x in what]
    if hasattr(what, "sharding"):
        return f"{getattr(what.sharding, 'spec', 'one')} {np.asarray(what).tolist()}"
    if isinstance(what, np.ndarray):
        return f"{what.shape} {what.tolist()}"
    return str(what)


def check(name, make):
    try:
        found = shown(make())
    except Exception as error:
        found = f"raises {type(error).__name__}"
    print(f"{name}: {found}")


# --- shard_alike ----------------------------------------------------------------------------------

x, ones = put(np.arange(8.0), "x"), jnp.ones(8)
check("eager", lambda: shard_alike(x, ones))
check("jit", lambda: jax.jit(shard_alike)(x, ones))
check("value within", lambda: jax.jit(lambda x: shard_alike(x, jnp.zeros(8))[1])(x))
check("trees", lambda: tuple(jax.jit(shard_alike)({"a": x}, {"a": ones})[1].values()))
check("dtypes", lambda: shard_alike(x, jnp.arange(8)))
check("shapes", lambda: shard_alike(x, jnp.ones(4)))
check("structures", lambda: shard_alike([x], x))
check("no array", lambda: shard_alike("x", x))
both = jnp.ones((2, 3)), jnp.ones(3)
for name, program in {
    "jvp": lambda: jax.make_jaxpr(lambda x: jax.jvp(shard_alike, (x, x), (x, x)))(ones),
    "grad": lambda: jax.make_jaxpr(jax.grad(
        lambda x, y: (shard_alike(x, y)[0] * shard_alike(x, y)[1]).sum(), (0, 1)))(ones, ones),
    "vmap": lambda: jax.make_jaxpr(jax.vmap(shard_alike, (0, 1)))(both[0], both[0].T),
}.items():  # fmt: skip
    check(name, program)
check("vmap over one", lambda: jax.vmap(shard_alike, (0, None))(*both))

# --- meshes ---------------------------------------------------------------------------------------

check("mesh", lambda: utils.create_device_mesh((2, 2)))
check("some", lambda: utils.create_device_mesh((2,), jax.devices()[2:], contiguous_submeshes=True))
check("array", lambda: utils.create_device_mesh((4, 1), np.array(jax.devices())))
check("too many", lambda: utils.create_device_mesh((2, 3)))
check("too few", lambda: utils.create_device_mesh((2,)))
check("slices", lambda: utils.create_hybrid_device_mesh((2, 2), (1, 1)))
for shapes in (((2, 2), (1, 1)), ((2, 2), (1,)), ((4,), (1,)), ((2, 1), (2, 1)), ((1, 2), (1, 1))):
    check(f"granules {shapes}", lambda shapes=shapes: utils.create_hybrid_device_mesh(
        *shapes, process_is_granule=True))  # fmt: skip
attached = topologies.get_attached_topology()
check("attached", lambda: attached.devices)
check("mesh of a topology", lambda: topologies.make_mesh(attached, (2, 2), ("a", "b")))
check("absent", lambda: topologies.get_topology_desc("any", "cpu"))
