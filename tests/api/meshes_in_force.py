"""Where values lie while a mesh is in force, for both packages: run by `test_meshes_in_force`."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pjit import pjit
from jax.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec as P,
    SingleDeviceSharding,
    auto_axes,
    explicit_axes,
    get_abstract_mesh,
    get_mesh,
    reshard,
    use_abstract_mesh,
)  # fmt: skip

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit
HOST = np.arange(8.0, dtype=np.float32)
BEFORE = jnp.arange(8.0)
DEVICES = jax.devices()
wsc = jax.lax.with_sharding_constraint


def plain(x):
    return re.sub(r", device_kind.*?platform=cpu", "", str(x))


def lies(x):
    return plain(x.sharding) if hasattr(x, "sharding") else plain(x)


def show(name, f):
    """Prints where the results of f lie."""
    try:
        found = f()
        shown = [
            lies(x) for x in jax.tree.leaves(found, is_leaf=lambda x: not isinstance(x, tuple))
        ]
    except Exception as error:  # what is refused is refused by both
        shown = type(error).__name__
    print(name, shown)


def types(f, *args):
    return [plain(aval.sharding) for aval in jax.make_jaxpr(f)(*args).out_avals]


def loops(x):
    carry = jax.lax.fori_loop(0, 3, lambda i, c: c * 2, x)
    total, _ = jax.lax.scan(lambda c, r: (c + r, r * 2), jnp.float32(0), x)
    return carry, total, jax.lax.cond(x[0] < 1, lambda x: x + 1, lambda x: x * 2, x)


def none_in_force():
    with jax.set_mesh(None):
        return get_mesh().empty, jnp.ones(3), jax.jit(lambda x: x * 2)(HOST)


IN_FORCE = {
    "made": lambda: (jnp.ones(8), jnp.zeros(()), jnp.arange(8), jnp.full((2, 2), 3)),
    "like": lambda: (jnp.zeros_like(BEFORE), jnp.full_like(HOST, 2)),
    "arithmetic": lambda: (HOST + jnp.ones(8), BEFORE * 2, 2 + BEFORE, BEFORE + BEFORE),
    "put": lambda: jax.device_put(HOST, DEVICES[0]),
    "jit": lambda: (jax.jit(lambda x: x * 2)(HOST), jax.jit(lambda x: x * 2)(BEFORE)),
    "random": lambda: jax.random.uniform(jax.random.key(0), (8,)),
    "derivatives": lambda: (
        jax.grad(lambda x: (x**2).sum())(HOST),
        jax.vmap(lambda x: x * 2)(HOST),
    ),
    "sums": lambda: (jnp.ones((8, 2)).sum(0), jnp.matmul(jnp.ones((2, 3)), jnp.ones((3, 2)))),
    "loops": lambda: jax.jit(loops)(HOST),
    "meshes": lambda: (get_mesh(), get_abstract_mesh()),
    "constraint": lambda: (wsc(HOST, P("x")), jax.jit(lambda x: wsc(x, P("x")))(HOST)),
    "options": lambda: jax.jit(lambda x: x * 2, out_shardings=P("x"))(HOST),
    "apart": lambda: jax.jit(lambda x: x * 2)(jax.device_put(HOST, DEVICES[7])),
    "spec": lambda: jax.ShapeDtypeStruct((8,), np.float32, sharding=P("x")),
    "none": none_in_force,
}
MESHES = {
    "auto": jax.make_mesh((2,), ("x",), axis_types=(AUTO,)),
    "explicit": jax.make_mesh((2,), ("x",)),
    "both": jax.make_mesh((2, 2), ("x", "y"), axis_types=(AUTO, EXPLICIT)),
}
for kind, mesh in MESHES.items():
    with jax.set_mesh(mesh):
        for name, case in IN_FORCE.items():
            show(f"{kind} {name}", case)
        after = jnp.ones(8)
    show(f"{kind} after", lambda: (after, after * 2, after + BEFORE))  # noqa: B023
    with mesh:
        show(f"{kind} entered", lambda: (get_mesh(), jnp.ones(8), jax.jit(jnp.sin)(HOST)))
        show("pjit", lambda: pjit(lambda x: x * 2)(HOST).sharding.mesh)
        show("jit with a spec", lambda: jax.jit(jnp.sin, in_shardings=P("x"))(HOST))
        show("None", lambda: pjit(lambda x: x * 2, in_shardings=P("x"), out_shardings=None)(HOST))
        show("put", lambda: jax.device_put(HOST, P("x")))
        show("made", lambda: jnp.ones(8, out_sharding=P("x")))
        show("constraint", lambda: wsc(HOST, P("x")))
        show("device", lambda: pjit(lambda x: x * 2, device=DEVICES[0])(HOST))

auto, explicit, both = MESHES.values()
divided = jax.device_put(HOST, NamedSharding(auto, P("x")))
on_axes = NamedSharding(auto.abstract_mesh, P())
show("axes of a mesh", lambda: (wsc(divided, on_axes), jax.jit(lambda x: wsc(x, on_axes))(divided)))
show("of another", lambda: wsc(divided, NamedSharding(AbstractMesh((2,), ("y",), (AUTO,)), P("y"))))
show("on no mesh", lambda: wsc(BEFORE, on_axes))
show("order", lambda: wsc(divided, NamedSharding(Mesh(DEVICES[1::-1], "x"), P("x"))))
show("other devices", lambda: wsc(divided, NamedSharding(Mesh(DEVICES[2:4], "x"), P("x"))))
show("one device", lambda: wsc(divided, SingleDeviceSharding(DEVICES[0])))
show("no place", lambda: wsc(HOST, None))
show("explicit axes", lambda: wsc(HOST, NamedSharding(explicit, P("x"))))
show("unconstrained", lambda: NamedSharding(explicit, P(P.UNCONSTRAINED)))
show("twice", lambda: jax.vmap(lambda x: wsc(x, NamedSharding(auto, P("x"))), spmd_axis_name="x")(
    jnp.ones((4, 2))))  # fmt: skip
show("too few axes", lambda: jax.ShapeDtypeStruct((8,), np.float32, sharding=P(None, "x")))
show("no spec", lambda: jax.ShapeDtypeStruct((8,), np.float32, sharding=P("x")).sharding)
like = jax.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(auto, P("x")))
show("like a type", lambda: (jnp.zeros_like(like), jax.lax.full_like(like, 1)))
with jax.set_mesh(explicit):
    rows = jax.device_put(HOST.reshape(4, 2), P("x"))
    show("assert", lambda: wsc(rows, P("x")))
    show("assert another", lambda: wsc(rows, P(None, "x")))
    show("as it lies", lambda: str(jax.make_jaxpr(lambda x: wsc(x, P("x")))(rows)))
    show("broadcast like", lambda: jax.lax.broadcast_like(np.ones(2, np.float32), rows))
    show("broadcast to", lambda: jax.lax.broadcast_like(reshard(jnp.ones(2), P("x")), rows))
    show("where it is", lambda: jax.lax.broadcast_in_dim(
        jnp.ones((4, 2)), (4, 2), (0, 1), out_sharding=P("x")))  # fmt: skip
    for name in ("zeros", "ones"):
        make = getattr(jax.nn.initializers, name)
        show(name, lambda: make(jax.random.key(0), (4, 2), out_sharding=P("x")))  # noqa: B023
    normal = jax.nn.initializers.he_normal()
    show("normal", lambda: normal(jax.random.key(0), (4, 2), out_sharding=P("x")))
    show("rows", lambda: tuple([row.shape for row in rows]))
    show("types", lambda: types(lambda x: (jnp.ones(2), x, x * 2), HOST))
    with use_abstract_mesh(AbstractMesh((2,), ("y",), (AUTO,))):
        show("other axes", lambda: jnp.arange(8))
    with use_abstract_mesh(AbstractMesh((2,), ("y",), (EXPLICIT,))):
        show("other Explicit axes", lambda: (jnp.arange(8), reshard(HOST, P("y"))))

    def more_devices():
        with use_abstract_mesh(AbstractMesh((4,), ("x",), (AUTO,))):
            return jnp.ones(4)

    show("more devices", more_devices)
    show("late", lambda: auto_axes(lambda x: x * 2)(HOST, out_sharding=P("x")))
    show("missing", lambda: auto_axes(lambda x: x * 2)(HOST))
    show("given", lambda: auto_axes(lambda x: x * 2, out_sharding=P("x"))(HOST, out_sharding=P()))
with jax.set_mesh(both):
    show("one is Auto", lambda: auto_axes(lambda x: x * 2, axes="x", out_sharding=P("y"))(BEFORE))
    show("all to be", lambda: auto_axes(lambda x: x * 2, out_sharding=P("y"))(BEFORE))
    show(
        "one is Explicit", lambda: explicit_axes(lambda x: x, axes="y", in_sharding=P("y"))(BEFORE)
    )
with jax.set_mesh(auto):
    show("late Explicit", lambda: explicit_axes(lambda x: x * 2)(HOST, in_sharding=P("x")))
    show("missing", lambda: explicit_axes(lambda x: x * 2)(HOST))
    show("auto already", lambda: auto_axes(lambda x: x * 2, out_sharding=P("x"))(BEFORE))

four = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AUTO, AUTO))
keys = jax.random.wrap_key_data(
    jax.device_put(np.ones((8, 2, 2), np.uint32), NamedSharding(four, P("x", "y")))
)
show("keys", lambda: (keys, keys.T))
words = jax.random.key_data(keys.T)
print("words", words.sharding.is_equivalent_to(NamedSharding(four, P("y", "x")), 3))
one = jax.device_put(HOST, NamedSharding(Mesh(DEVICES[:1], "x"), P("x")))
show("one device", lambda: (jax.jit(lambda x: x)(one), one * 2))
for place in (NamedSharding(auto, P("x")), NamedSharding(auto, P())):
    for f in (lambda x: x @ x.T, lambda x: x.reshape(16), lambda x: x * 2, lambda x: x.astype(int)):
        x = jax.device_put(HOST.repeat(2).reshape(8, 2), place)
        jax.jit(f, donate_argnums=0)(x)
        show("donated", lambda: x.is_deleted())  # noqa: B023

there = jax.device_put(HOST, DEVICES[0])
show("elsewhere", lambda: jnp.array(there, device=DEVICES[1]))
show("elsewhere", lambda: jnp.asarray(there, device=DEVICES[1]))
show("like it", lambda: jnp.zeros_like(there, device=DEVICES[1]))
parts = jax.device_put((HOST + 1, HOST + 2), NamedSharding(auto, P("x")))
moved = jax.device_put(parts, NamedSharding(explicit, P()), donate=(True, False))
show("not donated", lambda: parts[1].is_deleted())
show("forwarded", lambda: jax.jit(lambda x, y: (x, y, x * 2))(divided, moved[0])[:2])
show("as it was given", lambda: jax.jit(jnp.sin)(jax.device_put(
    HOST.reshape(4, 2), NamedSharding(auto, P("x", None)))))  # fmt: skip
placed_by_jit = jax.jit(lambda x: x * 2, out_shardings=NamedSharding(auto, P("x")))
show("batched", lambda: jax.vmap(placed_by_jit)(jnp.ones((4, 2))))
show("derived", lambda: jax.jvp(placed_by_jit, (HOST,), (HOST,)))
show("all None", lambda: jax.jit(lambda x: x, out_shardings={"a": None})({"b": HOST}))
with jax.set_mesh(explicit):
    left = jax.device_put(np.ones((4, 3), np.float32), P("x"))
    loss = lambda w: (left @ w).sum()  # noqa: E731
    show("cotangents", lambda: jax.jit(jax.grad(loss))(np.ones((3, 2), np.float32)))
    other = jax.device_put(HOST, NamedSharding(Mesh(DEVICES[:2], "y", (EXPLICIT,)), P()))
    show("another mesh", lambda: jax.jit(lambda x: x * 2)(other))
    for shape in ((2, 2, 2), (4, 1, 2), (2, 4), (1, 8), (8, 1), (4, 2, 1)):
        show("reshaped", lambda: jax.jit(lambda x: x.reshape(shape))(  # noqa: B023
            jax.device_put(HOST.reshape(4, 2), P("x"))))  # fmt: skip


def on_axes_alone(mesh, axes, spec):
    """Operations that take a sharding on the axes of a mesh alone, on arguments of all kinds."""
    place = NamedSharding(axes, spec)
    operations = {
        "constraint": lambda x: wsc(x, place) * 2,
        "out": lambda x: jax.jit(lambda x: x * 2, out_shardings=place)(x),
        "put": lambda x: jax.device_put(x, place),
        "reshard": lambda x: reshard(x, place),
        "ones": lambda x: jnp.ones(4, device=place),
        "zeros_like": lambda x: jnp.zeros_like(x, device=place),
    }
    transforms = {
        "eager": lambda f: f,
        "vmap": jax.vmap,
        "vmap of columns": lambda f: jax.vmap(f, in_axes=1),
        "grad": lambda f: jax.grad(lambda x: (f(x) ** 2).sum()),
        "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,)),
    }
    rows = HOST.repeat(2).reshape(4, 4)
    arguments = {"host": rows, "divided": jax.device_put(rows, NamedSharding(mesh, P("x")))}
    for operation, f in operations.items():
        for transform, changed in transforms.items():
            for argument, x in arguments.items():
                # Transformations make arrays of host arguments, which JAX leaves alone.
                is_told = argument == "divided" or not get_mesh().empty
                if transform == "eager" or (operation in ("constraint", "reshard") and is_told):
                    name = f"{spec} {operation} {transform} {argument}"
                    show(f"axes alone, {get_mesh()}, {name}", lambda: changed(f)(x))  # noqa: B023


four_rows = jax.make_mesh((4,), ("x",), axis_types=(AUTO,))
four_explicit = jax.make_mesh((4,), ("x",))
for spec in (P("x"), P()):
    on_axes_alone(four_rows, four_rows.abstract_mesh, spec)
    with jax.set_mesh(four_rows):
        on_axes_alone(four_rows, four_rows.abstract_mesh, spec)
four_places = {
    "one": jax.device_put(HOST, DEVICES[0]),
    "host": HOST,
    "divided": jax.device_put(HOST, NamedSharding(four_rows, P("x"))),
}
for alone in (
    NamedSharding(AbstractMesh((4,), ("z",), (AUTO,)), P("z")),
    NamedSharding(four_explicit.abstract_mesh, P("x")),
    NamedSharding(AbstractMesh((2, 2), ("x", "y"), (AUTO, AUTO)), P("x")),
    NamedSharding(AbstractMesh((2,), ("x",), (AUTO,)), P("x")),
):
    on_it = jax.jit(lambda x: x * 2, out_shardings=alone)
    for name, x in four_places.items():
        show(f"{alone.spec} {name}", lambda: on_it(x))  # noqa: B023
        with jax.set_mesh(four_rows):
            show(f"{alone.spec} {name} set", lambda: on_it(x))  # noqa: B023
alone = NamedSharding(four_rows.abstract_mesh, P("x"))
whole = NamedSharding(four_rows, P())
show("no argument", jax.jit(lambda: jnp.ones(4), out_shardings=alone))
show("not used", lambda: jax.jit(lambda x, y: y, out_shardings=alone)(four_places["divided"], HOST))
show("constrained", lambda: jax.jit(lambda x: wsc(x, whole), out_shardings=alone)(HOST))
show("two results", lambda: jax.jit(lambda x: (x, x), out_shardings=(whole, alone))(HOST))
show("its arguments", lambda: jax.jit(jnp.sin, in_shardings=whole, out_shardings=alone)(HOST))
show("asked for", lambda: jax.jit(jnp.sin, in_shardings=alone)(HOST))
with jax.set_mesh(four_rows):
    show("asked for, set", lambda: jax.jit(jnp.sin, in_shardings=alone)(HOST))
    show("a scalar", lambda: jax.jit(jnp.sin, in_shardings=NamedSharding(alone.mesh, P()))(2.0))
    show("one", lambda: jax.jit(lambda x, y: x * y, in_shardings=(alone, None))(HOST, HOST))
    show("placed", lambda: jax.jit(jnp.sin, in_shardings=alone)(four_places["one"]))
with jax.set_mesh(auto):
    show("of another size", lambda: jax.jit(jnp.sin, in_shardings=alone)(HOST))
grid = jax.device_put(HOST.repeat(4).reshape(8, 4), NamedSharding(four, P("x", "y")))
for spec in (P(P.UNCONSTRAINED, "x"), P("y", P.UNCONSTRAINED), P(P.UNCONSTRAINED), P("y")):
    show(f"left free by {spec}", lambda: wsc(grid, NamedSharding(four, spec)))  # noqa: B023
for spec in (P(), P("y"), P("x"), P(P.UNCONSTRAINED)):
    for dim in (0, 1):
        show(f"batches {spec} {dim}", lambda: jax.vmap(
            lambda x: wsc(x, NamedSharding(four, spec)), dim)(grid))  # noqa: B023  # fmt: skip


@auto
def entered(x, *, y):
    return get_mesh(), pjit(lambda x: x + y)(x)


show("decorated", lambda: entered(HOST, y=1.0))
