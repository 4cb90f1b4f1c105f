"""Stages of programs over several devices, and options that name places: run by `test_stages`."""

import importlib
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(f"{sys.argv[1]}.numpy")
sharding = importlib.import_module(f"{sys.argv[1]}.sharding")

import numpy as np  # noqa: E402

AUTO, EXPLICIT = sharding.AxisType.Auto, sharding.AxisType.Explicit
P, NamedSharding = sharding.PartitionSpec, sharding.NamedSharding
devices = jax.devices()
pair, single = jax.make_mesh((2,), ("x",)), jax.make_mesh((1,), ("x",))
auto = jax.make_mesh((2,), ("x",), axis_types=(AUTO,))
other = jax.make_mesh((2,), ("y",))


def show(name, f):
    """Prints what f returns, or which error it raises."""
    try:
        shown = f()
    except Exception as error:  # what is refused is refused by both
        shown = type(error).__name__
    print(name, shown)


# --- devices of compiled programs -------------------------------------------------------------------


def row(mesh):
    return jax.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(mesh, P("x")))


def lowered(f, *args):
    return jax.jit(f).trace(*args).lower(lowering_platforms=("cpu",))


def ids(compiled):
    return [d.id for d in compiled(np.ones(8, np.float32)).sharding.mesh.devices.flat]


double = lowered(lambda x: x * 2, row(pair.abstract_mesh))
show("axes alone", double.compile)
show("too few", lambda: double.compile(device_assignment=tuple(devices[:1])))
show("as many", lambda: ids(double.compile(device_assignment=tuple(devices[2:4]))))
show("twice", lambda: ids(double.compile(device_assignment=tuple(devices[4:6]))))
text = double.compile(device_assignment=tuple(devices[:2])).as_text()
print("[4]" in text, "[8]" in text)
show("options alone", lambda: jax.jit(
    lambda x: x * 2, in_shardings=row(pair.abstract_mesh).sharding,
    out_shardings=row(pair.abstract_mesh).sharding,
).trace(row(pair.abstract_mesh)).lower(lowering_platforms=("cpu",)).compile())  # fmt: skip
show("options", lambda: ids(jax.jit(
    lambda x: x * 2, in_shardings=row(pair.abstract_mesh).sharding,
    out_shardings=row(pair.abstract_mesh).sharding,
).trace(row(pair.abstract_mesh)).lower(lowering_platforms=("cpu",)).compile(
    device_assignment=tuple(devices[6:]))))  # fmt: skip
for n, given in (("others", devices[2:4]), ("the same", devices[:2]), ("fewer", devices[:1])):
    show(n, lambda given=tuple(given): type(
        lowered(lambda x: x, row(pair)).compile(device_assignment=given)).__name__)  # fmt: skip
plain = lowered(lambda x: x, np.ones(8, np.float32))
show("none, and none wanted", lambda: type(plain.compile()).__name__)
show("another", lambda: plain.compile(device_assignment=(devices[1],)))
show("sizes differ", lambda: lowered(lambda x, y: (x, y), row(single.abstract_mesh), row(pair)))
show("those of others", lambda: type(
    lowered(lambda x, y: (x, y), row(pair.abstract_mesh), row(pair)).compile()).__name__)  # fmt: skip
with jax.set_mesh(pair):
    show("mesh in force", lambda: ids(lowered(lambda x: x, row(pair.abstract_mesh)).compile()))

# --- out_sharding -----------------------------------------------------------------------------------

KEY = jax.random.key(0)
PLACES = {
    "one device": sharding.SingleDeviceSharding(devices[1]),
    "spec": P("x"),
    "explicit": NamedSharding(pair, P("x")),
    "abstract": NamedSharding(pair.abstract_mesh, P("x")),
    "other": NamedSharding(other, P("y")),
    "auto": NamedSharding(auto, P("x")),
    "memory": NamedSharding(pair.abstract_mesh, P("x"), memory_kind="pinned_host"),
    "memory of devices": NamedSharding(pair, P("x"), memory_kind="pinned_host"),
}
CALLS = {
    "full": lambda s: jnp.full((2,), 1.0, out_sharding=s),
    "zeros": lambda s: jnp.zeros((2,), out_sharding=s),
    "arange": lambda s: jnp.arange(2.0, out_sharding=s),
    "array": lambda s: jnp.array([1.0, 2.0], out_sharding=s),
    "normal": lambda s: jax.random.normal(KEY, (2,), out_sharding=s),
    "reshape": lambda s: jnp.reshape(np.ones((2, 1)), (2,), out_sharding=s),
    "reshape to the same": lambda s: jnp.ones(2).reshape(2, out_sharding=s),
    "broadcast_to": lambda s: jnp.broadcast_to(1.0, (2,), out_sharding=s),
    "dot": lambda s: jnp.dot(np.ones((2, 2)), np.ones(2), out_sharding=s),
}
with jax.set_mesh(pair):
    for place, s in PLACES.items():
        for call, f in CALLS.items():
            if place == "one device" and call == "dot":
                continue  # an AssertionError there
            show(f"{call} {place}", lambda f=f, s=s: f(s).sharding)
            show(
                f"{call} {place} traced", lambda f=f, s=s: jax.jit(f, static_argnums=0)(s).sharding
            )

# --- device= names memories, too --------------------------------------------------------------------

for mesh in (pair, auto):
    host = NamedSharding(mesh, P("x"), memory_kind="pinned_host")
    show("zeros in memory", lambda host=host: jnp.zeros(2, device=host).sharding)
    show("arange in memory", lambda host=host: jnp.arange(2, device=host).sharding)
    show("like in memory", lambda host=host: jnp.zeros_like(jnp.ones(2), device=host).sharding)

# --- constraints on values that are no arrays on a mesh ---------------------------------------------

axes = NamedSharding(auto.abstract_mesh, P("x"))
wsc = jax.lax.with_sharding_constraint
show("numpy", lambda: wsc(np.arange(8), axes))
show("one device", lambda: wsc(jnp.arange(8), axes))
with jax.set_mesh(auto):
    show("in force", lambda: wsc(jnp.arange(8), axes).sharding)

# --- programs lowered within a mesh in force run on it, as calls do ----------------------------------

CONSTRAINED = {
    "nothing": lambda x: x * 2,
    "a spec": lambda x: wsc(x * 2, P("x")),
    "axes alone": lambda x: wsc(x * 2, axes),
    "a spec in a loop": lambda x: jax.lax.fori_loop(0, 2, lambda _, y: wsc(y * 2, P("x")), x),
}
for label, constrained in CONSTRAINED.items():
    with jax.set_mesh(auto):
        called = jax.jit(constrained)(jnp.arange(8)).sharding
        by_hand = jax.jit(constrained).lower(jnp.arange(8))
        compiled = by_hand.compile()
        show(f"called: {label}", lambda called=called: called)
        show(f"lowered: {label}", lambda compiled=compiled: compiled(jnp.arange(8)).sharding)
    show(
        f"compiled outside: {label}",
        lambda by_hand=by_hand: by_hand.compile()(jnp.arange(8)).sharding,
    )
    show(f"described: {label}", lambda compiled=compiled: compiled.output_shardings)
