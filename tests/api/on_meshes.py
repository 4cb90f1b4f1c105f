"""What a process of four devices computes with `shard_map` and `pmap`, printed.

The argument is `jitney` or `jax`: `tests/api/test_meshes.py` compares what the two print.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Callable

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import numpy as np

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(f"{sys.argv[1]}.numpy")
lax, P = jax.lax, jax.P

auto = (jax.sharding.AxisType.Auto,) * 2
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=auto)
line = jax.make_mesh((4,), ("x",), axis_types=auto[:1])
square = np.arange(32, dtype=np.float32).reshape(8, 4)
rows = np.arange(4, dtype=np.float32)


def shown(value: object) -> str:
    if hasattr(value, "sharding"):
        value = jax.numpy.asarray(value)
        place = getattr(value.sharding, "spec", "one device")
        return f"{value.dtype}{value.shape} {place} {np.round(np.asarray(value), 4).tolist()}"
    if isinstance(value, tuple | list):
        return "; ".join(shown(x) for x in value)
    return str(value)


def check(name: str, make: Callable[[], object]) -> None:
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # JAX prints where some functions are
            found = shown(make())
    except Exception as error:  # its type is compared
        kind = ValueError if isinstance(error, ValueError) else type(error)
        found = f"raises {kind.__name__}"
    print(f"{name}: {found}")


def mapped(body, in_specs, out_specs, over=mesh, **options):
    return jax.shard_map(body, mesh=over, in_specs=in_specs, out_specs=out_specs, **options)


# --- shard_map: specifications, checks, transformations ------------------------------------------

both = P("x", "y")


def layer(x, w):
    return jnp.tanh(lax.psum(x @ w, "y"))


product = mapped(layer, (both, P("y")), P("x"))
weights = np.cos(np.arange(12, dtype=np.float32)).reshape(4, 3) / 9


def loss(w, x):
    return (product(x, w) ** 2).mean()


check("eager", lambda: product(square / 32, weights))
check("grad", lambda: jax.jit(jax.value_and_grad(loss))(weights, square / 32))
check(
    "vmap",
    lambda: jax.jit(jax.vmap(mapped(lambda x: lax.psum(x, "x"), P("x"), P()), in_axes=1))(square),
)
check(
    "partly manual",
    lambda: jax.jit(mapped(lambda x: lax.psum(x, "y") * 2, P(None, "y"), P(), axis_names={"y"}))(
        square
    ),
)


def nested(x):
    inner = jax.shard_map(lambda y: y - lax.axis_index("y"), in_specs=P(None, "y"),
                          out_specs=P(None, "y"), axis_names={"y"})  # fmt: skip
    return inner(x + lax.axis_index("x"))


twice = mapped(nested, P("x"), P("x"), axis_names={"x"})
check("nested", lambda: np.asarray(jax.jit(twice)(square)).tolist())


def rotated(x):
    def step(carry, _):
        carry = lax.ppermute(carry, "x", [(i, (i + 1) % 4) for i in range(4)])
        return carry, carry[0]

    return lax.scan(step, x, None, length=3)


check("scan", lambda: jax.jit(mapped(rotated, P("x"), (P("x"), P(None, "x")), line))(rows[:, None]))
check("unequal result", lambda: mapped(lambda x: x, P("x"), P())(square))
check(
    "unequal carry",
    lambda: mapped(
        lambda x: lax.fori_loop(0, 2, lambda _, total: total + x.sum(), 0.0), P("x"), P()
    )(square),
)
check("indivisible", lambda: mapped(lambda x: x, P("x"), P("x"), line)(square[:3]))
check(
    "of first device",
    lambda: jax.jit(mapped(lambda x: x[:1] * 2, P("x"), P(), line, check_vma=False))(rows),
)

check("groups of several axes", lambda: jax.jit(mapped(
    lambda x: lax.psum_scatter(x, ("x", "y"), axis_index_groups=((0, 3), (1, 2)), tiled=True),
    P(None, ("x", "y")), P(None, ("x", "y"))))(square))  # fmt: skip
by_rows = jax.grad(mapped(lambda x: jnp.sin(x.sum()), P("y"), P(), check_vma=False))
check("of two axes", lambda: np.asarray(jax.vmap(by_rows, spmd_axis_name="x")(square)).round(3))
check("nothing", lambda: mapped(lambda x: (x, None), (P("x"),), (P("x"), None))(square)[1])


def branched(x, y):
    return lax.cond(jnp.any(y > 8), lambda x: x, lambda x: x + 1, x)


check("branches", lambda: mapped(branched, (P("x"), P("y")), P("x"))(square, square))

# --- shard_map: what types say, and what is refused ------------------------------------------------


def with_rule(backward):
    @jax.custom_vjp
    def total(x):
        return lax.psum(x, "x")

    total.defvjp(lambda x: (total(x), x), backward)
    whole = mapped(total, P("x"), P())
    return jax.grad(lambda x: whole(x).sum())(rows)


def like_a_type(x):
    struct = jax.eval_shape(lambda x: 2 * x, x)
    assert jax.typeof(struct) == jax.typeof(2 * x), struct
    return lax.full_like(struct, 3) + jnp.zeros_like(struct) + x


def constrained(spec, names):
    body = lambda x: lax.with_sharding_constraint(x, spec) * 2  # noqa: E731
    return np.asarray(jax.jit(mapped(body, P("x"), P("x"), axis_names=names))(square))


def nested_over(mesh_within, **options):
    inner = jax.shard_map(lambda x: x * 2, mesh=mesh_within, in_specs=P(None, "y"),
                          out_specs=P(None, "y"), **options)  # fmt: skip
    outer = mapped(inner, P("x"), P("x"), axis_names={"x"})
    return np.asarray(jax.jit(outer)(square)).tolist()


thin = jax.make_mesh((2, 1), ("x", "y"), axis_types=auto)


def without_thin_axes(flag):
    with jax.remove_size_one_mesh_axis_from_type(flag):
        f = mapped(
            lambda x: [types.append(str(jax.typeof(x))), lax.psum(x, "x")][1], both, P(), thin
        )
        types = []
        return [np.asarray(f(square)).tolist(), types[:1]]


check("rule that sums", lambda: with_rule(lambda x, ct: (lax.psum(ct, "x"),)))
check("rule that hands on", lambda: with_rule(lambda x, ct: (ct,)))
check("rule that casts", lambda: with_rule(lambda x, ct: (lax.pcast(ct, "x", to="varying"),)))
check("type as an argument", lambda: mapped(like_a_type, P("x"), P("x"))(rows))
check("constraint", lambda: constrained(P(None, "y"), {"x"}).tolist())
check("constraint along a mapped axis", lambda: constrained(P("x"), {"x"}).tolist())
check("nested over the same mesh", lambda: nested_over(mesh, axis_names={"y"}))
check("nested over no mesh", lambda: nested_over(None))
check("axes of one index", lambda: without_thin_axes(True))
check("axes of one index have types", lambda: without_thin_axes(False))
check("wrong number of specs", lambda: mapped(lambda x: x, ([P("x")],), P("x"))([rows, rows]))
check("pcast to an axis that is none", lambda: mapped(
    lambda x: lax.pcast(x, "y", to="varying"), P("x"), P("x"), axis_names={"x"})(rows))  # fmt: skip


def curve(x):
    return jnp.sin(x) * x.sum()


def differentiated(f):
    return np.asarray(jax.jit(mapped(f, P("x"), P("x")))(rows)).round(3).tolist()


one = np.ones(2, np.float32)  # the same on all devices, where the points of derivatives vary
check("jacrev", lambda: differentiated(jax.jacrev(curve)))
check("jacfwd", lambda: differentiated(jax.jacfwd(curve)))
check("hessian", lambda: differentiated(jax.hessian(lambda x: curve(x).sum())))
check("tangent of one value", lambda: differentiated(lambda x: jax.linearize(curve, x)[1](one)))
check("cotangent of one value", lambda: differentiated(lambda x: jax.vjp(curve, x)[1](one)[0]))
check("varying cotangent", lambda: differentiated(lambda x: jax.vjp(curve, one)[1](x)[0]))
check(
    "transpose at one value",
    lambda: differentiated(lambda x: jax.linear_transpose(lambda v: 2 * v, one)(x)[0]),
)
check("tangent by jvp", lambda: differentiated(lambda x: jax.jvp(curve, (x,), (one,))[1]))


def batched_along_x(flag):
    jax.config.update("jax_disable_vmap_shmap_error", flag)
    f = mapped(lambda x, y: x + lax.all_gather(y, "x", tiled=True), (P(None), P("x")), P(None),
               check_vma=False)  # fmt: skip
    try:
        return jax.jit(jax.vmap(f, in_axes=(0, None), spmd_axis_name="x"))(square, rows)
    finally:
        jax.config.update("jax_disable_vmap_shmap_error", False)


check("vmap along a mapped axis", lambda: batched_along_x(False))
check("vmap along a mapped axis, no error", lambda: batched_along_x(True))

# --- shard_map outside of programs: values that all devices share are known --------------------------


def by_value(x):
    total = lax.psum(x, ("x", "y"))
    if total.sum() > 3:
        x = -x
    for _ in range(int(lax.psum(lax.axis_index("x"), "x")) + 1):
        x = 2 * x
    return x, lax.psum(x, "x")


def unequal(x):
    return x if x.sum() > 9 else -x


def asked(body):
    def asking(x):
        assert lax.psum(x.sum(), ("x", "y")) > 0
        return body(x)

    return asking


check("branch by value", lambda: mapped(by_value, both, (both, P(None, "y")))(square))
check("branch along one axis", lambda: mapped(asked(jnp.sin), P("x"), P("x"))(rows))
check("branch that differs", lambda: mapped(unequal, both, both)(square))
check("branch in a program", lambda: jax.jit(mapped(by_value, both, (both, P(None, "y"))))(square))
check("branch, unequal result", lambda: mapped(asked(lambda x: x), both, P("x"))(square))
ones = asked(lambda x: lax.pcast(jnp.ones(2), ("x", "y"), to="varying"))
check("branch, cast", lambda: mapped(ones, both, P(("x", "y")))(square))

# --- shard_map: mutable references ------------------------------------------------------------------

by_x = P("x")


def held(body, in_specs, *values, spec=by_x):
    """What a reference that the body is given holds afterwards, and what the body returns."""
    ref = jax.new_ref(jax.device_put(rows, jax.sharding.NamedSharding(mesh, spec)))
    out = jax.jit(mapped(body, (spec, *in_specs), P("x")))(ref, *values)
    return ref[...], out


def counted(ref, x):
    ref[...] += lax.axis_index("x").astype("float32") * x
    return ref[...].sum()[None]


def scratch(x):
    ref = jax.new_ref(jnp.zeros_like(x))
    ref[...] = jnp.sin(x)
    ref[0] = ref[1] * x[0]
    return ref[...]


def looped(ref, x):
    def body(k, _):
        ref[0] += x[k]

    lax.fori_loop(0, 2, body, None)
    return ref[...]


def same_everywhere(ref, x):
    ref[...] = ref[...] * 2
    return x


check("reference", lambda: held(counted, (P("x"),), rows))
check("reference in a loop", lambda: held(looped, (P("x"),), rows))
check("reference to one array", lambda: held(same_everywhere, (P("x"),), rows, spec=P()))
check("reference of each device", lambda: jax.jit(mapped(scratch, P("x"), P("x")))(rows))
check(
    "reference of each device: grad",
    lambda: jax.jit(jax.grad(lambda x: mapped(scratch, P("x"), P("x"))(x).sum()))(rows),
)
check("reference returned", lambda: jax.jit(mapped(jax.new_ref, P("x"), P("x")))(rows))
laid = jax.device_put(square, jax.sharding.NamedSharding(mesh, P("x", "y")))
check("rows of a divided array", lambda: list(laid))

# --- pmap ----------------------------------------------------------------------------------------

check(
    "pmap", lambda: jax.pmap(lambda x, y: lax.psum(x, "i") + y, "i", in_axes=(0, None))(rows, 2.0)
)
check("pmap axes", lambda: jax.pmap(lambda x: x * 2, in_axes=1, out_axes=1)(square))
check("pmap grad", lambda: jax.grad(lambda x: jax.pmap(jnp.sin)(x).sum())(rows))
check(
    "pmap nested",
    lambda: jax.pmap(
        lambda x: jax.vmap(lambda y: y / lax.psum(y, ("i", "j")), axis_name="j")(x), "i"
    )(square[:4]),
)
check("pmap too long", lambda: jax.pmap(lambda x: x)(square))
third = jax.device_put(rows, jax.devices()[2])
check("pmap from one device", lambda: jax.pmap(lambda x: x * 2)(third))
check("pmap unequal", lambda: jax.pmap(lambda x, y: x + y)(rows, square[:3]))


def grouped(reduce):
    body = lambda x: jnp.sin(reduce(x, "i", axis_index_groups=[[0], [2, 1, 3]]))  # noqa: E731
    return jax.pmap(body, "i")


for reduce in (lax.psum, lax.pmax, lax.pmin):
    check(f"pmap {reduce.__name__} in groups", lambda reduce=reduce: grouped(reduce)(rows))
check("pmap groups: grad", lambda: jax.grad(lambda x: grouped(lax.psum)(x).sum())(rows))
check(
    "pmap nested over too many",
    lambda: jax.pmap(lambda x: jax.pmap(lambda x: 2 * x)(x))(square.reshape(4, 2, 4)),
)
third = jax.device_put(rows, jax.devices()[2])
for name, index in (("mask", rows > 9), ("no indices", np.zeros(0, int)), ("nothing", np.s_[:0])):
    check(f"{name}, on a device", lambda index=index: str(third[index].devices()))
