"""What a process of eight devices finds, printed: of `jitney` or of `jax`, as the argument says.

`tests/runtime/test_placement.py` compares what the two print.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(f"{sys.argv[1]}.numpy")
sharding = importlib.import_module(f"{sys.argv[1]}.sharding")
lax = jax.lax
importlib.import_module(f"{sys.argv[1]}.extend.sharding")
multihost = importlib.import_module(f"{sys.argv[1]}.experimental.multihost_utils")

import numpy as np  # noqa: E402

P, NamedSharding = sharding.PartitionSpec, sharding.NamedSharding
devices = jax.devices()
auto = (sharding.AxisType.Auto,) * 2
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=auto)
other = jax.sharding.Mesh(np.array(devices).reshape(2, 4), ("x", "y"))


def on(spec: object, of: object = mesh) -> object:
    return NamedSharding(of, spec)


def divided(spec: object, shape: tuple[int, ...] = (8, 4)) -> object:
    return jax.device_put(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), on(spec))


x = divided(P("x", "y"))
row = divided(P("y"), (4,))
plain = jnp.ones(3)
third = jax.device_put(plain, devices[2])


def where(value: object) -> str:
    """The type of an array, where it is, and whether it was put there."""
    return f"{value.dtype}{value.shape} {value.sharding} {value.committed}"


def check(name: str, make: Callable[[], object]) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            found = make()
        except Exception as error:
            found = f"raises {next(k for k in type(error).__mro__ if k.__module__ == 'builtins')}"
    for line in said.getvalue().splitlines():
        if not re.search(r"\.py:\d+:\d+ \(", line):  # JAX prints where some functions are
            print(line)
    if isinstance(found, jax.Array):
        found = f"{where(found)} {np.round(np.asarray(found), 3).tolist()}"
    print(f"{name}: {found}")


def on_second(make: Callable[[], object]) -> object:
    with jax.default_device(devices[1]):
        return make()


def arrays(n: int = 8) -> object:
    parts = [jax.device_put(jnp.full(2, float(i)), d) for i, d in enumerate(devices[:n])]
    return jax.make_array_from_single_device_arrays((16,), on(P(("x", "y"))), parts)


def shards(value: object) -> str:
    return "; ".join(
        f"{s.device} {s.index} {s.replica_id} {np.asarray(s.data).tolist()} {where(s.data)}"
        for s in value.addressable_shards
    )


def by_tiles(spec: object, ndim: int = 2) -> object:
    """The sharding `on(spec)` without a mesh."""
    tiles = on(spec)._to_xla_hlo_sharding(ndim)
    return jax.extend.sharding.GSPMDSharding(devices, tiles)


def tiled(spec: object, f: Callable[[object], object]) -> str:
    """Where results are of a function of an array that lies by tiles, eager and compiled."""
    value = jax.device_put(np.asarray(x), by_tiles(spec))
    outs = [f(value), jax.jit(f)(value)]
    indices = [list(out.sharding.devices_indices_map(out.shape).values()) for out in outs]
    return f"{type(outs[1].sharding).__name__} {indices} {np.asarray(outs[1]).tolist()}"


# --- devices
check("devices", lambda: (devices, jax.device_count(), jax.local_device_count()))
check("counts by platform", lambda: (jax.device_count("cpu"), len(jax.local_devices(0))))
check("no such process", lambda: jax.local_devices(3))
check("ids", lambda: [(d.id, d.local_hardware_id, d.process_index, str(d)) for d in devices])
check("memories", lambda: [repr(m) for m in devices[3].addressable_memories()])
check("too late", lambda: jax.config.update("jax_num_cpu_devices", 2))

# --- one device each
check("plain", lambda: plain)
check("made on the second", lambda: on_second(lambda: jnp.ones(3)))
check("moved on", lambda: on_second(lambda: jnp.ones(3)) + 1)
check("stays by device_put", lambda: jax.device_put(on_second(lambda: jnp.ones(3))))
check("jit on the second", lambda: on_second(lambda: jax.jit(lambda v: v * 2)(np.ones(2))))
check("keys", lambda: on_second(lambda: jax.random.key_data(jax.random.key(1))))
check("platform by name", lambda: jnp.ones(2, device=devices[4]))
check("put", lambda: third)
check("put of a number", lambda: jax.device_put(3, devices[5]))
check("put and number", lambda: third * 2 + 1)
check("put and plain", lambda: third + plain)
check("plain and put", lambda: plain - third)
check("jit", lambda: jax.jit(lambda v: jnp.sin(v).sum())(third))
check("jit, again", lambda: [where(jax.jit(lambda v: v + 1)(v)) for v in (plain, third, plain)])
check("jit of unused", lambda: jax.jit(lambda v, w: w + 1)(third, plain))
check("item", lambda: third[0])
check("slice", lambda: third[1:])
check("update", lambda: third.at[0].set(5.0))
check("reduce", lambda: jnp.sum(third))
check("like", lambda: jnp.zeros_like(third))
check("gradient", lambda: jax.grad(lambda v: (v**2).sum())(third))
check("vmap", lambda: jax.vmap(lambda v: v * 3)(third))
check("scan", lambda: lax.scan(lambda c, v: (c + v, c), jnp.float32(0), third)[1])
check("iteration", lambda: [where(v) for v in third])
check("two devices", lambda: third + jax.device_put(plain, devices[3]))
check("two devices, jit", lambda: jax.jit(jnp.add)(third, jax.device_put(plain, devices[3])))
check("brought together", lambda: third + jax.device_put(plain, third.sharding))
check("to_device", lambda: third.to_device(devices[0]))
check("copies", lambda: (where(third.copy()), where(jnp.array(third)), where(jnp.asarray(third))))
check("pinned", lambda: jax.device_put(plain, devices[0].memory("pinned_host").kind))

# --- meshes
check("mesh", lambda: (mesh, repr(mesh), dict(mesh.shape), mesh.size, mesh.devices.tolist()))
check("mesh too large", lambda: jax.make_mesh((3, 3), ("x", "y")))
check("parts", lambda: on(P("x", "y")).shard_shape((8, 4)))
check("map", lambda: on(P("y", "x")).devices_indices_map((8, 4)))
check("two axes on one", lambda: on(P(("y", "x"))).devices_indices_map((8,)))
check("replicated", lambda: [on(s).is_fully_replicated for s in (P(), P(None), P("x"))])
check("equal", lambda: (on(P("x")) == on(P("x")), on(P("x")) == on(P("x", None))))
check("equivalent", lambda: on(P("x")).is_equivalent_to(on(P(("x",), None)), 2))
check("not equivalent", lambda: on(P("x")).is_equivalent_to(on(P("x"), other), 2))
check(
    "equivalent by another mesh",
    lambda: on(P(("x", "y"))).is_equivalent_to(on(P(("x", "y")), other), 1),
)
check("of one device", lambda: sharding.SingleDeviceSharding(devices[1]).devices_indices_map((3,)))
check("no such name", lambda: on(P("z")))
check("memory", lambda: on(P("x")).with_memory_kind("pinned_host"))
check("no such memory", lambda: on(P("x")).with_memory_kind("attic"))

# --- arrays over meshes
check("whole", lambda: x)
check("device", lambda: x.device)
check("shards", lambda: shards(x))
check("replicas", lambda: shards(row))
check("part", lambda: x.addressable_data(5))
check(
    "global", lambda: [s.index for s in x.global_shards] == [s.index for s in x.addressable_shards]
)
check("replication", lambda: (x.is_fully_replicated, divided(P()).is_fully_replicated))
check("addressable", lambda: (x.is_fully_addressable, len(x.devices())))
check("unequal parts", lambda: divided(P("x"), (6,)))
check("rank", lambda: jax.device_put(np.ones(8), on(P(None, "x"))))
check(
    "tree",
    lambda: [where(v) for v in jax.device_put((np.ones(8), plain), (on(P("x")), devices[1]))],
)
check("single arrays", arrays)
check("too few arrays", lambda: arrays(7))
check("callback", lambda: jax.make_array_from_callback(
    (8, 4), on(P("y", "x")), lambda i: np.arange(32.0).reshape(8, 4)[i]))  # fmt: skip
check("local data", lambda: jax.make_array_from_process_local_data(on(P("x")), np.arange(8.0)))
check("spec without mesh", lambda: jax.device_put(np.ones(8), P("x")))
local, to_local = (
    multihost.host_local_array_to_global_array, multihost.global_array_to_host_local_array
)  # fmt: skip
check("local arrays", lambda: [where(v) for v in jax.tree.leaves(
    local({"a": np.arange(8.0), "b": [third, None]}, mesh, {"a": P("x"), "b": P()}))])  # fmt: skip
check(
    "local, put elsewhere", lambda: local(jax.device_put(np.ones((8, 2)), devices[3]), mesh, P("y"))
)
check("local, does not divide", lambda: local(np.ones(6), mesh, P("x")))
check("local, no spec", lambda: local(np.ones(8), mesh, None))
check("local, not a prefix", lambda: local({"a": np.ones(8)}, mesh, {"b": P()}))
check("local, keys", lambda: local(jax.random.split(jax.random.key(0), 8), mesh, P("x")).sharding)
check("local, jit", lambda: jax.jit(lambda v: local(v, mesh, P("x")) * 2)(jnp.arange(8.0)))
check(
    "to local",
    lambda: (where(to_local(x, mesh, P("y"))), where(to_local(np.ones(8), mesh, P("y")))),
)
check("to local, no spec", lambda: to_local(x, mesh, None))
check(
    "gathered",
    lambda: (multihost.process_allgather(x).shape, type(multihost.process_allgather(x, True))),
)
check("device option", lambda: jnp.arange(8, device=on(P("x"))))
check("like, divided", lambda: jnp.ones_like(x))
check("like, another shape", lambda: jnp.ones_like(x, shape=(2,)))


# --- draws over meshes
explicit = jax.make_mesh((4, 2), ("x", "y"), axis_types=(sharding.AxisType.Explicit,) * 2)


def drawn(draw: Callable[..., object], spec: object) -> object:
    with jax.set_mesh(explicit):
        return draw(jax.random.key(0), out_sharding=spec)


for name, draw in {
    "uniform": lambda k, **o: jax.random.uniform(k, (8,), **o),
    "normal": lambda k, **o: jax.random.normal(k, (8,), **o),
    "gamma": lambda k, **o: jax.random.gamma(k, 2.0, (8,), **o),
    "randint": lambda k, **o: jax.random.randint(k, (8,), 0, 9, **o),
    "permutation": lambda k, **o: jax.random.permutation(k, 8, **o),
    "poisson": lambda k, **o: jax.random.poisson(k, 3.0, (8,), **o),
}.items():
    check(f"{name}, divided", lambda draw=draw: drawn(draw, on(P("x"), explicit)))
    check(f"{name}, by a spec", lambda draw=draw: drawn(draw, P("y")))

# --- operations over meshes
for name, f in {
    "add": lambda v: v + 1, "sin": jnp.sin, "T": lambda v: v.T, "sum": jnp.sum,
    "sum 0": lambda v: v.sum(0), "sum 1": lambda v: v.sum(1), "dot": lambda v: v @ v.T,
    "reshape": lambda v: v.reshape(32), "split": lambda v: v.reshape(4, 2, 4),
    "index": lambda v: v[0], "join": lambda v: jnp.concatenate([v, v]),
    "broadcast": lambda v: v[None] + jnp.ones((3, 1, 1)), "and row": lambda v: v + row,
    "sort": lambda v: jnp.sort(v, 0), "cumsum": lambda v: jnp.cumsum(v, 0),
    "stack": lambda v: jnp.stack([v, v]), "where": lambda v: jnp.where(v > 1, v, 0.0),
    "max": jnp.max, "argmax": lambda v: v.argmax(0), "flip": lambda v: v[::-1],
    "pad": lambda v: jnp.pad(v, 1), "gather": lambda v: v[jnp.array([0, 1])],
    "set": lambda v: v.at[0].set(1.0), "softmax": jax.nn.softmax,
    "while": lambda v: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, v))[1],
    "grad": jax.grad(lambda v: (jnp.tanh(v) ** 2).sum()),
}.items():  # fmt: skip
    check(f"eager {name}", lambda f=f: f(x))
    check(f"jit {name}", lambda f=f: jax.jit(f)(x))
check("mixed devices", lambda: x[0, 0] + third)
check("mixed orders", lambda: jnp.add(divided(P("x"), (8,)), jax.device_put(
    np.ones(8), NamedSharding(jax.sharding.Mesh(np.array(devices[:4]), ("x",)), P("x")))))  # fmt: skip


# --- programs that say where values are
def constrained(spec: object, of: object = mesh) -> Callable[..., object]:
    return lambda v: lax.with_sharding_constraint(v, on(spec, of))


def under_mesh(make: Callable[[], object], of: object = mesh) -> object:
    with jax.set_mesh(of):
        return make()


def jitted(f: Callable[..., object], *args: object, **options: object) -> object:
    return jax.jit(f, **options)(*args)


def twice(v: object) -> object:
    return v * 2


eight, six = jnp.arange(8.0), jnp.arange(6.0)
by_x, by_y = on(P("x")), on(P("y"))
line = jax.make_mesh((8,), ("z",), axis_types=auto[:1])
check("constraint", lambda: jitted(lambda v: constrained(P("x"))(v) * 2, eight))
check(
    "constraints", lambda: jitted(lambda v: constrained(P("x"))(v) + constrained(P("y"))(v), eight)
)
check("constraint kept free", lambda: jitted(constrained(P(P.UNCONSTRAINED, "y")), divided(P("x"))))
check("constraint in scan", lambda: jitted(lambda v: lax.scan(
    lambda c, _: (constrained(P("x"))(c + 1), None), v, length=2)[0], eight))  # fmt: skip
check("constraint in vmap", lambda: jitted(jax.vmap(constrained(P("x"))), jnp.ones((2, 8))))
check("constraint in grad", lambda: jitted(
    jax.grad(lambda v: (constrained(P("x"))(v) ** 2).sum()), eight))  # fmt: skip
check("constraint in jit in jit", lambda: jitted(lambda v: jax.jit(
    twice, out_shardings=by_y)(v) + 1, eight))  # fmt: skip
check("constraint does not divide", lambda: jitted(lambda v: constrained(P("x"))(v) + 1, six))
check("constraint of a scalar", lambda: jitted(constrained(P("x")), 1.0))
check("constraint, eager", lambda: constrained(P("x"))(eight))
check("constraint, eager, does not divide", lambda: constrained(P("x"))(six))
check("constraint elsewhere", lambda: jitted(constrained(P("x")), third))
check("constraint by a spec", lambda: under_mesh(
    lambda: jitted(lambda v: lax.with_sharding_constraint(v, P("y")), eight)))  # fmt: skip
check("constraint without mesh", lambda: jitted(
    lambda v: lax.with_sharding_constraint(v, P("y")), eight))  # fmt: skip
check("mesh in force", lambda: under_mesh(lambda: jitted(twice, eight)))
by_spec = jax.jit(lambda v: lax.with_sharding_constraint(v, P("x")))
check("other mesh in force", lambda: [
    where(under_mesh(lambda m=m: by_spec(eight), m)) for m in (mesh, other, mesh)])  # fmt: skip
check("in", lambda: jitted(twice, eight, in_shardings=by_x))
check("in, put there", lambda: jitted(twice, divided(P("x"), (8,)), in_shardings=by_x))
check("in, put elsewhere", lambda: jitted(twice, divided(P(), (8,)), in_shardings=by_x))
check("in, on a device", lambda: jitted(twice, third, in_shardings=by_x))
check("in, does not divide", lambda: jitted(twice, six, in_shardings=by_x))
check("in, of a scalar", lambda: jitted(twice, 1.0, in_shardings=by_x))
check(
    "in, one for all",
    lambda: jitted(lambda v, w: v @ w["a"], eight, {"a": eight}, in_shardings=by_x),
)
check("in, one each", lambda: jitted(jnp.outer, eight, eight, in_shardings=(by_x, by_y)))
check("in, None", lambda: jitted(jnp.outer, eight, eight, in_shardings=(None, by_y)))
check("in, nothing", lambda: jitted(twice, eight, in_shardings=None, out_shardings=None))
check("in, too many", lambda: jitted(twice, eight, in_shardings=(by_x, by_x)))
check(
    "in, static",
    lambda: jitted(lambda v, n: v * n, eight, 3, in_shardings=(by_x,), static_argnums=1),
)
check("in, by name", lambda: jax.jit(lambda v, n: v * n, in_shardings=(by_x, None))(eight, n=3))
check("in, a number", lambda: jitted(twice, eight, in_shardings=3))
check("in, spec", lambda: under_mesh(lambda: jitted(twice, eight, in_shardings=P("x"))))
check("in, spec without mesh", lambda: jitted(twice, eight, in_shardings=P("x")))
check("in, device", lambda: jitted(
    twice, eight, in_shardings=sharding.SingleDeviceSharding(devices[1])))  # fmt: skip
check("out", lambda: jitted(twice, eight, out_shardings=by_x))
check(
    "out, another mesh",
    lambda: jitted(twice, eight, in_shardings=by_x, out_shardings=on(P("z"), line)),
)
check("out, other devices", lambda: jitted(
    twice, eight, in_shardings=by_x,
    out_shardings=sharding.SingleDeviceSharding(devices[1])))  # fmt: skip
check("out, tree", lambda: [where(v) for v in jitted(
    lambda v: {"a": v, "b": (v, v + 1)}, eight, out_shardings={"a": by_x, "b": by_y}).values()
    for v in jax.tree.leaves(v)])  # fmt: skip
check("out, too many", lambda: jitted(lambda v: (v, v), eight, out_shardings=(by_x,) * 3))
check("out, does not divide", lambda: jitted(twice, six, out_shardings=by_x))
check("out, spec", lambda: under_mesh(lambda: jitted(twice, eight, out_shardings=P("y"))))
check("in again", lambda: (lambda f: [where(f(eight)) for _ in range(3)])(
    jax.jit(twice, in_shardings=by_x, out_shardings=by_y)))  # fmt: skip
check("compiled", lambda: (lambda c: (c.input_shardings, c.output_shardings, where(c(eight))))(
    jax.jit(twice, in_shardings=by_x).lower(eight).compile()))  # fmt: skip
check("reshard along Auto", lambda: jax.reshard(eight, by_x))
check("reshard", lambda: under_mesh(lambda: jax.reshard(eight, P("x")), explicit))
check("reshard without mesh", lambda: jax.reshard(eight, P("x")))

contrary = {"first": divided(P("x")), "second": divided(P("y")), "third": divided(P(("x", "y")))}
for one in contrary:
    others = (*contrary.values(), divided(P(None, "y")))
    check(f"{one} and others", lambda a=one, all_=others: [
        (contrary[a] + b).sharding.spec for b in all_])  # fmt: skip
for spec in (P("x"), P("y"), P(), P(None, "y")):
    check(f"loop, {spec}", lambda spec=spec: jitted(lambda v: lax.fori_loop(
        0, 2, lambda _, c: constrained(spec)(c), v), contrary["first"]).sharding.spec)  # fmt: skip
for spec in (P("x"), P(), P(None, "y")):
    check(f"branch, {spec}", lambda spec=spec: jitted(lambda v: lax.cond(
        v[0, 0] > 0, twice, constrained(spec), v), contrary["first"]).sharding.spec)  # fmt: skip

# --- ends
gone = divided(P("x"))
gone.delete()
check("deleted", lambda: (gone.is_deleted(), gone.sharding, gone.shape))
check("use of it", lambda: gone + 1)
given = divided(P("x"))
check("donated", lambda: jax.jit(lambda v: v + 1, donate_argnums=0)(given))
check("given", lambda: given.is_deleted())
moved = divided(P("x"))
check("moved", lambda: jax.device_put(moved, on(P("y")), donate=True))

# --- shardings
check(
    "tiles", lambda: [str(on(s)._to_xla_hlo_sharding(2)) for s in (P("x", "y"), P(), P(("x", "y")))]
)
check("tiles with replicas", lambda: str(on(P(None, "x"))._to_xla_hlo_sharding(2)))
check("in Shardy", lambda: by_tiles(P("y"))._to_sdy_sharding(2) is not None)
check("tiles are the mesh's", lambda: by_tiles(P("y")).is_equivalent_to(on(P("y")), 2))
check("tiles of other axes", lambda: by_tiles(P("y")).is_equivalent_to(on(P("x")), 2))
check("equal tiles", lambda: by_tiles(P("y")) == by_tiles(P("y", None)) != by_tiles(P("x")))
check("by tiles", lambda: tiled(P("y"), lambda v: v * 2))
check("by tiles, transposed", lambda: tiled(P("y"), lambda v: v.T + 1))
check("by tiles, whole", lambda: tiled(P(), lambda v: v - 1))
check("like a placed one", lambda: jax.ShapeDtypeStruct.like(x).sharding == x.sharding)
check("like one that is not placed", lambda: jax.ShapeDtypeStruct.like(plain).sharding)
check("names of two roles", lambda: P("x", unreduced={"x"}))
check(
    "sum of specs",
    lambda: P("x", unreduced={"z"}) + P("a", unreduced={"b"}) == P("x", "a", unreduced={"z", "b"}),
)
check("unreduced and tuple", lambda: (None,) + P("x", unreduced={"y"}))
check("tuple and spec", lambda: P("x") + (None,))
check("nested tuples", lambda: P("x", ("y", ("z",))))
check("subclass", lambda: type("Own", (P,), {}))
check("unreduced along Auto", lambda: on(P("x", unreduced={"y"})))
check("types of axes", lambda: jax.make_mesh((4, 2), ("x", "y"), axis_types=auto[:1]))
check("no types of axes", lambda: jax.sharding.AbstractMesh((2,), ("x",), axis_types=("explicit",)))
check("meshes by types", lambda: hash(mesh) == hash(jax.make_mesh((4, 2), ("x", "y"))))
check(
    "parts of other type",
    lambda: jax.make_array_from_single_device_arrays(
        (3,), third.sharding, [third], dtype=jnp.int32
    ),
)
check(
    "traced parts",
    lambda: jax.jit(lambda v: jax.make_array_from_single_device_arrays((3,), third.sharding, [v]))(
        third
    ),
)
check(
    "traced callback",
    lambda: jax.jit(lambda v: jax.make_array_from_callback((3,), third.sharding, lambda i: v[i]))(
        third
    ),
)
check("no parts", lambda: jax.make_array_from_single_device_arrays((8, 2), on(P("x")), []))


def from_process(spec: object) -> object:
    with jax.set_mesh(mesh):
        return jax.make_array_from_process_local_data(spec, np.ones((4, 2), np.float32))


check("of the process", lambda: from_process(P("x")))

# --- the options `device` and `backend` of jit ----------------------------------------------------

warnings.simplefilter("ignore", DeprecationWarning)
fifth = jax.jit(lambda a, b: a + b, device=devices[4])
check("jit on a device", lambda: fifth(1, 2))
check("jit on a device, by name", lambda: fifth(b=1, a=plain))
check("jit on a device, from another", lambda: fifth(third, 1.0))
check("jit on a device, from two", lambda: fifth(third, jax.device_put(plain, devices[3])))
check("jit on a device, within another", lambda: jax.jit(lambda a: fifth(a, a) * 2)(plain))
check("jit on a device, no arguments", lambda: jax.jit(lambda: jnp.ones(2), device=devices[1])())
check("jit, backend", lambda: jax.jit(jnp.sin, backend="cpu")(plain))
check("jit, no such backend", lambda: jax.jit(jnp.sin, backend="bogus")(plain))
check("jit, backend and device", lambda: jax.jit(jnp.sin, backend="cpu", device=devices[0]))
check(
    "jit, device and shardings", lambda: jax.jit(jnp.sin, device=devices[0], in_shardings=on(P()))
)
check(
    "jit, results on one device",
    lambda: jax.jit(jnp.sin, out_shardings=sharding.SingleDeviceSharding(devices[3]))(plain),
)

# --- under the names that libraries know ----------------------------------------------------------

check("parts", lambda: [part.tolist() for part in x._arrays])
check("data", lambda: x._npy_value is None or x._npy_value.tolist() == np.asarray(x).tolist())
check("replica", lambda: divided(P())._fully_replicated_shard())


def deleted() -> object:
    gone = divided(P("x"))
    gone.delete()
    return gone._arrays, gone._npy_value


check("deleted parts", deleted)
check("flat devices", lambda: mesh._flat_devices_tuple == tuple(devices))
check("put while derived", lambda: jax.value_and_grad(lambda v: jax.device_put(v, devices[1]))(
    jax.device_put(2.0, devices[3])))  # fmt: skip
check("gradient goes back", lambda: jax.grad(lambda v: jax.device_put(v, devices[1]))(
    jax.device_put(2.0, devices[3])))  # fmt: skip
check("spec of more axes", lambda: on(P("x", None)).shard_shape((8,)))
check("put by a spec of more axes", lambda: jax.device_put(np.ones(8), on(P("x", None))))
check("filled by a spec of more axes", lambda: lax.full((8,), 1.0, sharding=on(P("x", None))))


def like_traced() -> object:
    explicit = jax.make_mesh((8,), ("z",), axis_types=(sharding.AxisType.Explicit,))
    found = []
    with jax.set_mesh(explicit):
        v = jax.device_put(np.arange(8.0, dtype=np.float32), on(P("z"), explicit))
        jax.jit(lambda v: found.append(jax.ShapeDtypeStruct.like(v).sharding.spec))(v)
    return found


check("like a traced one", like_traced)

# --- looking at shardings ---------------------------------------------------------------------------


def inspected(make: Callable[[object], object], *args: object) -> object:
    found: list[str] = []

    def look(v: object) -> None:
        jax.debug.inspect_array_sharding(v, callback=lambda s: found.append(str(s)))

    make(look)(*args)
    jax.effects_barrier()
    return found


check("inspected", lambda: inspected(lambda look: lambda v: look(v * 2), x))
check("inspected in jit", lambda: inspected(lambda look: jax.jit(lambda v: look(v.T * 2)), x))
check("inspected on one", lambda: len(inspected(lambda look: jax.jit(lambda v: look(v)), third)))
check("inspected, derived", lambda: inspected(
    lambda look: jax.jit(jax.grad(lambda v: (look(v), jnp.sin(v).sum())[1])), row))  # fmt: skip
check("inspected, constrained", lambda: inspected(lambda look: jax.jit(
    lambda v: look(lax.with_sharding_constraint(v, on(P(None, "y"))) + 1)), x))  # fmt: skip
check("inspected, batched", lambda: inspected(lambda look: jax.vmap(lambda v: look(v)), row))


def picture(name: str, shape: tuple[int, ...], spec: object, **options: object) -> None:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        jax.debug.visualize_sharding(shape, on(spec), **options)
    for k, line in enumerate(told.getvalue().splitlines()):
        print(f"picture {name} {k}: {line}")


picture("both", (8, 16), P("x", "y"))
picture("high", (16, 8), P("x", "y"))
picture("other", (8, 8), P("y", "x"))
picture("row", (8,), P("x"))
picture("long row", (800,), P(("x", "y")))
picture("thin", (2000, 4), P("x", "y"))
picture("columns", (8, 16), P(None, "y"))
picture("narrow cells", (8, 16), P("x", "y"), min_width=12)
picture("whole", (8, 16), P())
picture("small", (16, 32), P("x"), scale=0.5)
picture("square", (64, 64), P("x", "y"))
check("picture of a cube", lambda: jax.debug.visualize_sharding((8, 8, 8), on(P())))
check("picture of a scalar", lambda: jax.debug.visualize_sharding((), on(P())))


def shown(make: Callable[[], object], in_force: bool = True) -> list[str]:
    """The lines that are printed, sorted: devices have no order."""
    told = io.StringIO()
    setting = jax.set_mesh(mesh) if in_force else contextlib.nullcontext()
    with contextlib.redirect_stdout(told), setting:
        make()
        jax.effects_barrier()
    return sorted(told.getvalue().splitlines())


def part(v: object, fmt: str = "{}") -> None:
    jax.debug.print(fmt, v, partitioned=True)


def in_loop(v: object) -> object:
    return lax.fori_loop(0, 2, lambda i, c: (part(c[0]), c + 1)[1], v)


check("prints of parts", lambda: shown(lambda: jax.jit(part)(row)))
check("prints of parts, one first", lambda: shown(lambda: (
    (f := jax.jit(part)), f(jax.device_put(np.ones(4), devices[1])), f(row), f(row * 2))))  # fmt: skip
check("prints of parts, computed", lambda: shown(lambda: jax.jit(lambda v: part(v[0] + 1))(x)))
check("prints of parts, batched", lambda: shown(lambda: jax.jit(jax.vmap(part))(x)))
check("prints of parts in a loop", lambda: len(shown(lambda: jax.jit(in_loop)(x))))
check("prints of scalars", lambda: shown(lambda: jax.jit(lambda v: part(v.sum()))(row)))


def print_each(*, ordered: bool = False) -> object:
    return jax.pmap(lambda v: jax.debug.print("{}", v, ordered=ordered))(np.arange(8))


check("prints of pmap", lambda: shown(print_each, in_force=False))
check("ordered prints of pmap", lambda: shown(lambda: print_each(ordered=True), in_force=False))
check("pmap of None", lambda: jax.pmap(lambda v, w: (v[0], w))((row[:2], None), None)[1])

# --- checkify -------------------------------------------------------------------------------------

checkify = importlib.import_module(f"{sys.argv[1]}.experimental.checkify")
squares = np.arange(8, dtype=np.float32).reshape(4, 2)


def errors_of(f: Callable[..., object], *args: object) -> object:
    error, out = checkify.checkify(f, errors=checkify.all_checks)(*args)
    told = error.get()
    return told and told.splitlines(), jax.tree_util.tree_map(lambda v: np.asarray(v).tolist(), out)


def on_parts(f: Callable[..., object], check_vma: bool = True) -> Callable[..., object]:
    spec = P("x", "y")
    return jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check_vma)


def total(v: object) -> object:
    checkify.check(v.sum() < 5, "too much: {}", v.sum())
    return v


for vma in (True, False):
    inverse, limited = on_parts(lambda v: 1 / v, vma), on_parts(total, vma)
    check(f"error of a device, {vma}", lambda f=inverse: errors_of(f, squares))
    check(f"error of a device in jit, {vma}", lambda f=inverse: errors_of(jax.jit(f), squares))
    check(f"no error, {vma}", lambda f=inverse: errors_of(f, squares + 1))
    check(f"checks of devices, {vma}", lambda f=limited: errors_of(f, squares))
check("error of pmap", lambda: errors_of(jax.pmap(lambda v: 1 / v), np.arange(4.0)))
check("no error of pmap", lambda: errors_of(jax.pmap(lambda v: 1 / v), np.arange(4.0) + 1))


def with_none() -> object:
    grid = jax.make_mesh((8,), ("z",), axis_types=(sharding.AxisType.Explicit,))
    v = jax.device_put(np.arange(8.0, dtype=np.float32), on(P("z"), grid))
    with jax.set_mesh(grid):
        return jax.shard_map(lambda v, w: v * 2 if w is None else v, out_specs=P("z"))(v, None)


check("shard_map of None", with_none)
