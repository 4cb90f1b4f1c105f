"""What `no_collectives` forbids, for both packages: run by `test_no_collectives`."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

if sys.argv[1] == "jitney":
    import jitney as jax
    import jitney.numpy as jnp
else:
    import jax
    import jax.numpy as jnp

import numpy as np

P, lax = jax.P, jax.lax
AxisType = jax.sharding.AxisType
MESH = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
AUTO = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
X = jax.device_put(np.arange(8.0, dtype=np.float32).reshape(4, 2), jax.NamedSharding(MESH, P("x")))
rows = P("x")


def mapped(f, out=rows):
    return jax.shard_map(f, in_specs=rows, out_specs=out)


def gram(x, **place):
    return jnp.einsum("ij,ik->jk", x, x, **place)


CASES = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(1),
    "max": lambda x: x.max(),
    "mean": lambda x: x.mean(0),
    "elementwise": lambda x: jnp.where(x > 1, x + 1, 0),
    "jitted": jax.jit(lambda x: x.sum()),
    "jitted elementwise": jax.jit(lambda x: x * 2),
    "program": lambda x: jax.make_jaxpr(lambda x: x.sum())(x),
    "gradient": jax.grad(lambda x: (x * 2).sum()),
    "branch": lambda x: lax.cond(True, lambda x: x.sum(), lambda x: 0.0, x),
    "loop": lambda x: lax.scan(lambda c, r: (c, r * 2), 0.0, x.T)[1],
    "whole": lambda x: jax.reshard(x, P()),
    "another axis": lambda x: jax.reshard(x, P(None, "x")),
    "the same place": lambda x: jax.reshard(x, P("x")),
    "another axis of the mesh": lambda x: jax.reshard(x, P("x", "y")),
    "device_put": lambda x: jax.device_put(x, P()),
    "product": lambda x: x @ jnp.ones((2, 2)),
    "contraction": lambda x: gram(x, out_sharding=P()),
    "contraction, divided": lambda x: gram(x, out_sharding=P("x")),
    "contraction, unreduced": lambda x: gram(x, out_sharding=P(unreduced={"x"})).shape,
    "transpose": lambda x: x.T,
    "softmax of rows": lambda x: jax.nn.softmax(x, axis=1).shape,
    "psum": mapped(lambda x: lax.psum(x, "x"), P()),
    "psum over both": mapped(lambda x: lax.psum(lax.pcast(x, "y", to="varying"), ("x", "y")), P()),
    "pmean": mapped(lambda x: lax.pmean(x, "x"), P()),
    "pmax": mapped(lambda x: lax.pmax(x, "x"), P()),
    "all_gather": mapped(lambda x: lax.all_gather(x, "x", tiled=True)),
    "ppermute": mapped(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)])),
    "psum_scatter": mapped(lambda x: lax.psum_scatter(x, "x", tiled=True)),
    "all_to_all": mapped(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True)),
    "parts": mapped(lambda x: x * 2),
    "axis_index": mapped(lambda x: x + lax.axis_index("x")),
    "vmap": lambda x: jax.vmap(lambda y: lax.psum(y, "x"), axis_name="x")(jnp.ones(2)),
}


def shown(f, *args):
    try:
        out = f(*args)
        return str(np.asarray(out).tolist()) if hasattr(out, "dtype") else str(out)
    except Exception as error:
        return type(error).__name__


for axes in ({"x"}, {"y"}, set(), frozenset({"x", "y"})):
    with jax.set_mesh(MESH), jax.sharding.no_collectives(axes):
        for name, f in CASES.items():
            print(f"{sorted(axes)}: {name}:", shown(f, X))

with jax.sharding.no_collectives({"x"}):
    y = jax.device_put(np.arange(4.0, dtype=np.float32), jax.NamedSharding(AUTO, rows))
    print("auto:", shown(lambda y: y.sum(), y))
    summed = jax.shard_map(lambda y: lax.psum(y, "x"), mesh=AUTO, in_specs=rows, out_specs=P())
    print("auto, psum:", shown(summed, y))
    print("auto, jitted psum:", shown(jax.jit(summed), y))
    print("value:", sorted(jax.sharding.no_collectives.value))
print("after:", sorted(jax.sharding.no_collectives.value), shown(lambda x: x.sum(), X))
for wrong in ("x", ["x"], True):
    print("wrong:", wrong, shown(jax.sharding.no_collectives, wrong))
print("without:", shown(jax.sharding.no_collectives))
print("decorated:", shown(jax.sharding.no_collectives({"x"})(lambda: 3)))
