"""Where a process of eight devices puts results, printed.

The argument is `jitney` or `jax`: `tests/api/test_meshes.py` compares what the two print.
"""

from __future__ import annotations

import importlib
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import numpy as np

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(f"{sys.argv[1]}.numpy")
sharding = importlib.import_module(f"{sys.argv[1]}.sharding")
extend_core = importlib.import_module(f"{sys.argv[1]}.extend.core")
P, NamedSharding = sharding.PartitionSpec, sharding.NamedSharding
AUTO, EXPLICIT = sharding.AxisType.Auto, sharding.AxisType.Explicit

# Axes of both types: the results of programs have the entries of their types, and what Auto axes add.
for types in [(AUTO, EXPLICIT), (EXPLICIT, AUTO)]:
    mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=types)
    with jax.set_mesh(mesh):
        for spec in [P(), P("x"), P("y"), P("x", None), P("x", "y"), P("y", "x"), P(None, "x")]:
            a = jax.device_put(np.arange(64.0).reshape(4, 4, 4), NamedSharding(mesh, spec))
            doubled, same, total = jax.jit(lambda x: (x * 2, x, x.sum(2)))(a)
            print(spec, doubled.sharding.spec, same.sharding.spec, total.sharding.spec)
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AUTO, EXPLICIT))
with jax.set_mesh(mesh):
    a = jax.device_put(np.arange(8.0).reshape(4, 2), NamedSharding(mesh, P(("x", "y"))))
    print(jax.jit(lambda x: x)(a).sharding.spec)

# Products whose batch axes have extent 1.
thin = jax.make_mesh((1, 2), ("x", "y"), axis_types=(EXPLICIT,) * 2)
with jax.set_mesh(thin):
    a = jax.reshard(np.ones((1, 1, 4), np.float32), P("x", None, "y"))
    b = jax.reshard(np.ones((1, 4, 2), np.float32), P("x", "y", None))
    product = jax.jit(lambda a, b: jnp.matmul(a, b, out_sharding=P("x", unreduced={"y"})))
    print(product(a, b).sharding.spec, jax.reshard(product(a, b), P("x")))
    print([str(eqn.outvars[0].aval) for eqn in product.trace(a, b).jaxpr.eqns])

# A gather along Auto axes within vmap, and its derivative.
grid = jax.make_mesh((2, 4), ("x", "y"), axis_types=(EXPLICIT,) * 2)
with jax.set_mesh(grid):
    tokens = jax.device_put(np.arange(64, dtype=np.float32).reshape(4, 16), P("x", None))
    ids = jax.device_put(np.arange(32, dtype=np.int32).reshape(4, 8) % 16, P("x", None))

    def picked(t, i):
        return jnp.mean(t.at[i].get(out_sharding=P("y")))

    for by in (jax.vmap(jax.value_and_grad(picked)), jax.jit(jax.vmap(jax.value_and_grad(picked)))):
        value, gradient = by(tokens, ids)
        print(value, value.sharding.spec, gradient.sharding.spec, np.asarray(gradient).sum(0))

# Arrays made by the constructor of their class.
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AUTO,) * 2)
data = np.arange(16, dtype=np.float32).reshape(8, 2)
make = type(jnp.zeros(1))
aval = jax.core.ShapedArray((8, 2), np.dtype("float32"))


def made(place, devices, committed=True, of=aval):
    index = place.devices_indices_map(of.shape)
    parts = [jax.device_put(data[index[d]], d) for d in devices]
    return make(of, place, parts, committed=committed)


whole = made(NamedSharding(mesh, P("x", "y")), jax.devices())
print(whole.sharding.spec, whole.committed, np.asarray(whole).tolist())
print(jax.jit(lambda x: x + 1)(whole).sharding.spec)
one = sharding.SingleDeviceSharding(jax.devices()[0])
for committed in (True, False):
    print(made(one, jax.devices()[:1], committed).committed)
integers = jax.core.ShapedArray((8, 2), np.dtype("int32"))
for arguments in [
    (NamedSharding(mesh, P("x", "y")), jax.devices()[:3]),
    (NamedSharding(mesh, P("x", "y")), [*jax.devices()[:7], jax.devices()[0]]),
    (NamedSharding(mesh, P("x", "y")), jax.devices(), True, integers),
]:
    try:
        made(*arguments)
    except Exception as error:  # its type is compared
        print(type(error).__name__)

# What an equation of a jitted function gives away, and what it cannot use.
line = jax.make_mesh((2,), ("x",), axis_types=(AUTO,))
for f in (lambda x: (x, x * 2), lambda x: x[:2], lambda x: jnp.arange(3)):
    x = jax.device_put(jnp.zeros(64, dtype="int32"), NamedSharding(line, P()))
    closed = jax.make_jaxpr(jax.jit(f, donate_argnums=0))(x)
    out = extend_core.jaxpr_as_fun(closed)(x)
    print(x.is_deleted(), [y.is_deleted() for y in out])

# Derivatives go back to where users say that arrays come from.
here = NamedSharding(sharding.Mesh(jax.devices()[:4], "x"), P("x"))
there = NamedSharding(sharding.Mesh(jax.devices()[4:], "x"), P("x"))
square, triple = jax.jit(lambda x: x**2), jax.jit(lambda x: x * 3)


def moved(x):
    return jnp.sum(triple(jax.device_put(square(x), there, src=here)))


def pulled_back(x):
    value, pullback = jax.vjp(moved, x)
    return pullback(value)


x = jax.device_put(np.arange(4, dtype=np.float32), here)
print(jax.grad(moved)(x).sharding == here)
print(jax.jvp(pulled_back, (x,), (np.ones(4, np.float32),)))

# Callbacks in order: each device calls for its own part.
calls = []
callback = importlib.import_module(f"{sys.argv[1]}.experimental").io_callback


def noted(x):
    callback(lambda part: calls.append(np.asarray(part).tolist()), None, x[0, 0], ordered=True)
    return callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)


by_columns = P(None, "x")
over = jax.shard_map(noted, mesh=line, in_specs=by_columns, out_specs=by_columns)
print(jax.jit(over)(jnp.arange(8.0).reshape(2, 4)))
jax.effects_barrier()
print(sorted(calls))

# The mesh in force where an equation was recorded is that where its derivative is taken.
square_mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(EXPLICIT,) * 2)
other_axes = square_mesh.abstract_mesh.update(axis_sizes=(4, 1), axis_names=("a", "b"))


@jax.jit
def through(x):
    x = jnp.sin(x)
    with sharding.use_abstract_mesh(other_axes):
        x = sharding.reshard(x, P(("a", "b"), None)) * 2
    return sharding.reshard(x, P("y", None))


with jax.set_mesh(square_mesh):
    x = jax.device_put(np.arange(16, dtype=np.float32).reshape(8, 2), P("x", "y"))
    for slope in (
        jax.grad(lambda x: through(x).sum()),
        jax.jit(jax.grad(lambda x: through(x).sum())),
    ):
        print(slope(x).sharding.spec, np.round(np.asarray(slope(x)), 4).tolist())

# Options of `jit` that say where arguments and results are: their structures.
single = sharding.SingleDeviceSharding(jax.devices()[0])
for made_by, out in [
    (tuple, [single] * 2),
    (list, [single] * 2),
    (list, (single,) * 2),
    (tuple, single),
]:
    try:
        print(jax.jit(lambda x, by=made_by: by([x, x]), out_shardings=out)(np.float32(1)))
    except Exception as error:  # its type is compared
        print(type(error).__name__)
for given in ([single], [single] * 2, {"a": single}, (single, single), single):
    try:
        print(jax.jit(lambda x, y: x + y, in_shardings=given)(np.float32(1), np.float32(2)))
    except Exception as error:  # its type is compared
        print(type(error).__name__)

# Terms of a sum and numbers: a factor is to be the same on all devices, and says so.
with jax.set_mesh(jax.make_mesh((2,), ("x",), axis_types=(EXPLICIT,))):
    terms = jax.reshard(jnp.arange(4.0), P(unreduced={"x"}))
    for f in (lambda x: x * 2, lambda x: 2.0 * x, lambda x: x + 1, lambda x: x + x):
        try:
            print(jax.typeof(jax.jit(f)(terms)))
        except Exception as error:  # its type is compared
            print(type(error).__name__)
    w = jax.device_put(np.ones((4, 3), np.float32), P(None, reduced={"x"}))
    rows = jax.device_put(np.ones((4, 4), np.float32), P("x", None))
    for f in (lambda w: rows @ (w * 2), lambda w: rows @ (2.0 * w) + rows @ w):
        gradient = jax.jit(jax.grad(lambda w, f=f: f(w).sum()))(w)
        print(jax.typeof(gradient), np.asarray(jax.reshard(gradient, P())).tolist())
    sliced = jax.jit(jax.grad(lambda w: jax.lax.slice(w, (0, 0), (2, 3)).sum()))(w)
    print(jax.typeof(sliced), np.asarray(jax.reshard(sliced, P())).tolist())
