"""What types say of arrays along Explicit axes, for both packages: run by `test_explicit_sharding`."""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

if sys.argv[1] == "jitney":
    import jitney as jax
    import jitney.numpy as jnp
    from jitney.sharding import AxisType, NamedSharding, auto_axes, explicit_axes, reshard
else:
    import jax
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, auto_axes, explicit_axes, reshard

import numpy as np

P = jax.sharding.PartitionSpec
MESH = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
X = np.arange(16.0, dtype=np.float32).reshape(8, 2)


def put(value, *spec):
    return jax.device_put(value, NamedSharding(MESH, P(*spec)))


def loss(f):
    return lambda *args: jnp.sum(f(*args) ** 2)


def total(x):
    return jnp.sum(x)


def over_rows(x):
    spec = P("x", None)
    return jax.shard_map(jnp.sin, in_specs=spec, out_specs=spec)(x)


def partly(f):
    """`f`, mapped over one axis of the mesh; along the other one types say how parts are divided."""
    spec = P("x", None)
    return jax.shard_map(f, in_specs=spec, out_specs=spec, axis_names={"x"})


def over_both(f):
    inner = jax.smap(f, in_axes=1, out_axes=1, axis_name="y")
    return jax.smap(inner, in_axes=0, out_axes=0, axis_name="x")


def in_regions(x):
    """References to whole and to divided arrays in a region whose `in_specs` are inferred."""

    @jax.jit
    def run(x):
        ref = jax.new_ref(x * 2)
        jax.shard_map(lambda part: part.addupdate(jnp.sin(part[...])), out_specs=None)(ref)
        out_specs = jax.typeof(ref).sharding.spec
        return jax.shard_map(lambda part: part[...], out_specs=out_specs)(ref.at[...]), ref[...]

    return run(x)


def references(x):
    """Reads and writes of the whole, and reads of parts along an axis that is not divided."""
    ref = jax.new_ref(x)
    ref[...] = ref[...] + x
    return ref[...], ref[:, 0:1], jax.freeze(ref)


def references_in_loops(x):
    ref = jax.new_ref(x)

    def step(c, i):
        ref[...] = jnp.sin(ref[...]) * 2
        return c, i

    jax.lax.scan(step, 0, jnp.arange(3))
    return jax.vmap(lambda row: jax.new_ref(row)[...] * 2)(ref[...]).sum()


def in_views(x):
    @jax.jit
    def run(x):
        ref = jax.new_ref(x)
        return jax.shard_map(lambda v: v[...] * 2, in_specs=P("x"), out_specs=P("x"))(ref.at[:])

    return run(x)


def branched(v):
    return jax.lax.cond(v.sum() > 3, lambda v: jnp.sin(v), lambda v: v, v)


x, rows, columns = put(X, "x", "y"), put(X, "x", None), put(X.T.copy(), None, "y")
both = put(X[:, 0], ("x", "y"))
tall = put(X.T.copy(), "y", None)
batch = put(np.ones((4, 8, 2), np.float32), "x", None, "y")

CASES = {
    "elementwise": lambda: x * 2 + jnp.sin(x),
    "broadcast": lambda: x + jnp.ones(2, jnp.float32),
    "sums": lambda: (x.sum(0), x.mean(1), x.max(), jnp.argmax(x, axis=1), x.std()),
    "turned": lambda: (x.T, jnp.moveaxis(batch, 0, 1), x[None], x[None].squeeze(0)),
    "reshape": lambda: (
        x.reshape(2, 4, 2),
        rows.reshape(16),
        both.reshape(2, 4),
        batch.reshape(32, 2),
    ),
    "reshape of no elements": lambda: (
        put(np.zeros((0, 4), np.float32), None, "x").reshape(0, 2, 2),
        put(np.zeros((4, 0), np.float32), "x", None).reshape(2, 2, 0),
    ),
    "reshape that moves": lambda: (
        put(X, "x", "y").reshape(16),
        jax.grad(lambda v: jnp.sum(jnp.sin(v.reshape(16))))(put(X, "x", "y")),
    ),
    "transforms": lambda: (
        jnp.abs(jnp.fft.fft(x, axis=0)),
        jnp.fft.irfft(put(X[:6], "x"), axis=0),
        jax.grad(lambda v: jnp.abs(jnp.fft.fft(v)).sum())(both),
    ),
    "clamped": lambda: (jax.lax.clamp(x, rows, rows + 1), jax.lax.clamp(0.0, x, 9.0)),
    "systems": lambda: jax.lax.linalg.triangular_solve(
        put(np.tri(2, dtype=np.float32)), put(X.T.copy(), None, "x"), left_side=True, lower=True
    ),
    "systems from the right": lambda: jax.lax.linalg.triangular_solve(
        put(np.tri(2, dtype=np.float32)), put(X, "x"), left_side=False, lower=True
    ),
    "gradients of systems": lambda: jax.grad(
        lambda b: jnp.sum(
            jax.lax.linalg.triangular_solve(
                put(np.tri(2, dtype=np.float32)), b, left_side=True, lower=True
            )
        )
    )(put(X.T.copy(), None, "x")),
    "systems with parts of unknowns": lambda: jax.lax.linalg.triangular_solve(
        put(np.eye(8, dtype=np.float32)), put(X, "x"), left_side=True
    ),
    "systems that are divided twice": lambda: jax.lax.linalg.triangular_solve(
        put(np.ones((2, 2, 2), np.float32), "x"),
        put(np.ones((2, 2, 2), np.float32), None, None, "x"),
        left_side=True,
    ),
    "polynomials": lambda: (
        jnp.polyval(jnp.arange(3.0), x),
        jnp.polyval(put(X, None, "y"), 2.0),
        jax.grad(lambda v: jnp.polyval(jnp.arange(3.0), v).sum())(x),
    ),
    "joined": lambda: (
        jnp.concatenate([rows, rows], axis=1),
        jnp.stack([x, x]),
        jnp.pad(rows, ((0, 0), (1, 1))),
    ),
    "product": lambda: (
        rows @ columns,
        jnp.einsum("bij,ik->bjk", batch, rows, out_sharding=P("x", "y")),
    ),
    "matmul": lambda: jnp.matmul(x, put(X.T.copy(), "y", None), out_sharding=P("x", None)),
    "gradient": lambda: jax.grad(loss(jnp.tanh))(x),
    "gradients": lambda: jax.grad(loss(jnp.matmul), (0, 1))(rows, columns),
    "of a sum": lambda: (jax.grad(total)(x), jax.jit(jax.grad(total))(x)),
    "of a reshape": lambda: jax.grad(loss(lambda x: x.reshape(2, 4, 2)))(x),
    "softmax": lambda: jax.nn.softmax(rows, axis=1),
    "where": lambda: jnp.where(x > 3, x, 0.0),
    "running": lambda: (jnp.cumsum(rows, axis=1), jnp.sort(rows, axis=1)),
    "parts": lambda: (rows[:, 0], jnp.take(rows, jnp.array([1, 0]), axis=1)),
    "scan": lambda: jax.lax.scan(lambda c, _: (c * 2, c), x, None, length=3),
    "scanned": lambda: jax.lax.scan(lambda c, r: (c + r, r * c), put(X[0], "y"), put(X, None, "y")),
    "loop": lambda: jax.lax.fori_loop(0, 3, lambda i, x: x * 2, x),
    "branch": lambda: jax.lax.cond(True, lambda x: x * 2, lambda x: x, x),
    "vmap": lambda: (jax.vmap(lambda r: r * 2)(x), jax.vmap(jnp.sum)(rows)),
    "remat": lambda: jax.grad(lambda x: total(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x)))(x),
    "reshard": lambda: (reshard(x, P(None, "x")), jax.jit(lambda x: reshard(x, P("y", None)))(x)),
    "made": lambda: (jnp.ones((8, 2), jnp.float32, out_sharding=P("x")), jnp.zeros_like(x)),
    "auto": lambda: auto_axes(lambda x: x @ x.T, out_sharding=P("x", None))(x),
    "jit": lambda: jax.jit(lambda x, y: x @ y + 1)(rows, columns),
    "print": lambda: str(jax.make_jaxpr(lambda x: reshard(jnp.sin(x), P(None, "x")).sum(0))(x)),
    "shapes": lambda: str(jax.eval_shape(lambda x: x.T, x).sharding.spec),
    "parts of devices": lambda: (
        jax.shard_map(lambda a: jax.lax.psum(a, "x"), in_specs=P("x", "y"), out_specs=P(None, "y"))(
            x
        ),
        jax.jit(jax.shard_map(jnp.sin, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))(x),
        jax.grad(lambda x: total(over_rows(x)))(rows),
    ),
    "vmapped places": lambda: (
        jax.vmap(lambda r: reshard(r * 2, P("y")))(rows),
        jax.vmap(lambda r: jnp.reshape(r, (1, 2), out_sharding=P(None, "y")))(rows),
        jax.vmap(lambda r: jnp.einsum("i,ij->j", r, jnp.ones((2, 4)), out_sharding=P("y")))(rows),
        jax.vmap(lambda r: jnp.zeros(3, jnp.float32), out_axes=1)(rows),
        jax.grad(lambda x: total(jax.vmap(jnp.sum)(x)))(rows),
    ),
    "mapped apart": lambda: jax.vmap(jnp.add)(rows, X),
    "blocks": lambda: (
        jnp.linalg.solve(
            put(np.broadcast_to(np.eye(3, dtype=np.float32), (4, 3, 3)), "x"),
            put(np.ones((4, 3, 1), np.float32), "x"),
        ),
        abs(jnp.fft.fft(batch.sum(2), axis=1)),
        jax.lax.top_k(rows, 1)[0],
        jnp.tile(rows, (1, 2)),
        jnp.unstack(columns, axis=0),
        jnp.split(x, 2, axis=0),
    ),
    "windows": lambda: (
        jax.lax.reduce_window(batch, -jnp.inf, jax.lax.max, (1, 2, 1), (1, 2, 1), "SAME"),
        jax.lax.conv_general_dilated(
            put(np.ones((4, 8, 2), np.float32), "x", "y"),
            np.ones((3, 2, 5), np.float32),
            (1,),
            "SAME",
            dimension_numbers=("NWC", "WIO", "NWC"),
        ),
    ),
    "bits": lambda: jax.lax.bitcast_convert_type(x, jnp.uint8).astype(jnp.float32),
    "at": lambda: (
        rows.at[jnp.array([0, 3])].get(out_sharding=P(None, "x")),
        rows.at[jnp.array([0, 3]), 1].set(jnp.float32(7), out_sharding=P("x", None)),
        rows.at[0].multiply(2.0, out_sharding=P("y", None)),
    ),
    "laid": lambda: (
        jnp.ravel(x, out_sharding=P("x")),
        jnp.broadcast_to(put(X[0]), (8, 2), out_sharding=P("y", None)),
        jnp.repeat(rows, 2, axis=0, out_sharding=P("x", None)),
        jnp.bincount(jnp.array([0, 1, 1]), length=4, out_sharding=P()),
        jax.ops.segment_sum(rows, jnp.arange(8) % 2, 2, out_sharding=P("y", None)),
    ),
    "mapped partly": lambda: (
        partly(lambda v: v.T * 2)(x),
        jax.jit(partly(lambda v: reshard(v * 2, P(None, None)).reshape(2, 4)))(x),
        jax.jit(partly(branched))(rows),
        jax.jit(jax.grad(lambda x: total(partly(lambda v: jnp.sin(v) * v)(x))))(x),
        jax.jit(over_both(lambda u: u * 2 + jax.lax.psum(u, "x")))(x),
    ),
    "batched beside": lambda: jax.jit(
        jax.vmap(
            jax.shard_map(lambda u, v: u * v, in_specs=(P("y"), P()), out_specs=P("y")),
            in_axes=(0, None),
            spmd_axis_name="x",
        )
    )(x, jnp.float32(2)),
    "reduced": lambda: (
        types(jax.grad(lambda x, w: total(jnp.sin(x) @ jnp.sin(w)), (0, 1)), rows, reduced),
        types(jax.grad(lambda w: total(w * 2)), reduced),
        types(jax.grad(lambda w: total(jnp.concatenate([w, w]) * 2.0)), reduced),
    ),
    "unreduced": lambda: (
        types(lambda x, y: jnp.dot(x, y, out_sharding=P("x", unreduced={"y"})), x, tall),
        jax.jit(lambda x, y: reshard(jnp.dot(x, y, out_sharding=P("x", unreduced={"y"})), P("x")))(
            x, tall
        ),
        types(lambda r: jax.lax.reduce_sum(r, (0,), out_sharding=P(None, unreduced={"x"})), rows),
        types(lambda u: jnp.reshape(u, (2, 8)) + jnp.reshape(u, (2, 8)), unreduced),
        types(jax.grad(lambda u: total(reshard(u + u, P()))), unreduced),
    ),
    "unreduced quotients": lambda: (
        types(lambda u, r: u / jax.reshard(r, P(reduced={"x"})), unreduced, X + 1),
        types(jax.grad(lambda r: total(r / 2.0)), reduced),
        jax.jit(lambda u, r: reshard(u / jax.reshard(r, P(reduced={"x"})), P()))(unreduced, X + 1),
        jax.jit(jax.grad(lambda r: jnp.max(jax.reshard(r, P(None, reduced={"x"})))))(rows),
    ),
    "parts of reduced arrays": lambda: (
        types(lambda r: (r[jnp.array([1, 0])], jax.lax.dynamic_slice(r, (0, 1), (1, 2))), reduced),
        types(jax.grad(lambda r: total(r[jnp.array([1, 1])] * 2.0)), reduced),
        jax.jit(lambda r: reshard(jax.grad(lambda r: total(r[jnp.array([1, 1])]))(r), P()))(
            reduced
        ),
        types(lambda u: u.at[jnp.array([1, 0])].add(u[:2]), unreduced),
        jax.jit(lambda u: reshard(u.at[jnp.array([1, 1])].add(u[:2]), P()))(unreduced),
        types(jax.grad(lambda u: total(u.at[jnp.array([1, 0])].add(u[:2]))), unreduced),
    ),
    "chosen": lambda: (
        types(lambda u: jax.lax.select_n(put(np.bool_(True)), u, u + u), unreduced),
        types(lambda r: jax.lax.select_n(put(np.bool_(True)), r, r + r), reduced),
        types(jax.lax.stop_gradient, unreduced),
    ),
    "terms": lambda: str([shard.data.tolist() for shard in unreduced.addressable_shards]),
    "reduced and divided": lambda: jax.device_put(X, P(reduced={"x"})) * rows,
    "unreduced along others": lambda: types(
        lambda x: reshard(x, P(unreduced={"x"})) + reshard(x, P(unreduced={"y"})), X
    ),
    "one element": lambda: (
        jax.jit(lambda x: x[0, 0])(x),
        jax.jit(lambda v: (v[3], v[-1:], v[jnp.int32(2)], jnp.split(v, 8)))(both),
        jax.lax.dynamic_slice(x, (7, 1), (1, 1)),
        jax.lax.pad(both, jnp.float32(0), [(0, -7, 0)]),
    ),
    "one row": lambda: x[0],
    "like a type": lambda: jax.lax.broadcast_like(
        put(X[:, :1], "x"), jax.eval_shape(jnp.sin, rows)
    ),
    "without in_specs": lambda: (
        jax.jit(lambda x: jax.shard_map(lambda x: x * 2, mesh=MESH, out_specs=P())(x + 1))(
            np.arange(4.0, dtype=np.float32)
        ),
        in_regions(x),
        in_regions(X),
    ),
    "references": lambda: (jax.jit(references)(rows), jax.jit(jax.grad(references_in_loops))(x)),
    "views of references": lambda: in_views(rows),
    "types of references": lambda: str(jax.make_jaxpr(references_in_loops)(x)),
    "arguments that are None": lambda: jax.shard_map(
        lambda pair: pair[0], in_specs=P("x"), out_specs=P("x")
    )((rows, None)),
    "clash": lambda: x + put(X, "y", "x"),
    "contracted": lambda: x @ put(X.T.copy(), "y", "x"),
    "twice": lambda: rows @ put(X.T.copy(), None, "x"),
    "apart": lambda: put(np.ones((2, 2, 2), np.float32), "x", None, "y").reshape(8),
}


def types(f, *args):
    """The types of f(*args), as texts."""
    return str([str(jax.typeof(leaf)) for leaf in jax.tree.leaves(jax.eval_shape(f, *args))])


def shown(value):
    if isinstance(value, str):
        return value
    leaves = jax.tree.leaves(value)
    if all(isinstance(leaf, str) for leaf in leaves):
        return " ".join(leaves)
    leaves = [leaf for leaf in leaves if not isinstance(leaf, str)]
    values = [np.round(np.asarray(leaf, np.float64).sum(), 3) for leaf in leaves]
    kinds = [str(jax.typeof(leaf)) for leaf in leaves]
    return f"{kinds} {[leaf.sharding.spec for leaf in leaves]} {values}"


with jax.set_mesh(MESH):
    reduced = jax.device_put(X.T.copy(), P(reduced={"x"}))
    unreduced = reshard(jnp.asarray(X), P(unreduced={"x"}))
    for name, case in CASES.items():
        try:
            print(name, shown(case()).replace("\n", " "))
        except Exception as error:  # what is refused is refused by both
            print(name, type(error).__name__)
one = jax.make_mesh((1, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
with jax.set_mesh(one):
    x = jax.device_put(np.ones((1, 8), np.float32), P("x", "y"))
    y = jax.device_put(np.ones((4, 1, 8), np.float32), P("y", "x", None))
    for shape in ((1, 4, 2), (4, 1, 2), (8,), (1, 1, 8)):
        print(shape, jax.typeof(jax.jit(lambda x, n=shape: x.reshape(n))(x)))
    for shape in ((4, 8), (32,), (1, 4, 8), (4, 1, 4, 2)):
        print(shape, jax.typeof(jax.jit(lambda y, n=shape: y.reshape(n))(y)))
auto = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
with jax.set_mesh(auto):
    inner = explicit_axes(lambda x: x * len(str(jax.typeof(x))), in_sharding=P("x", "y"))
    print("explicit", float(inner(jnp.ones((8, 2), jnp.float32))[0, 0]))
mixed = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
with jax.set_mesh(mixed):
    twice = jax.jit(jax.smap(lambda v: v * 2, in_axes=0, out_axes=0, axis_name="y"))
    out = twice(jax.device_put(np.arange(4.0), P("y")))
    print("one axis Auto", out.sharding.spec, np.asarray(out))
