"""What devices have of unreduced arrays: run by `test_meshes`."""

import importlib
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(f"{sys.argv[1]}.numpy")
sharding = importlib.import_module(f"{sys.argv[1]}.sharding")

import numpy as np  # noqa: E402

P, NamedSharding = sharding.PartitionSpec, sharding.NamedSharding
mesh = jax.make_mesh((2, 2), ("x", "y"))


def show(name, x):
    """Prints the parts of an array, and what they come to."""
    parts = [np.asarray(s.data).tolist() for s in x.addressable_shards]
    spec = x.sharding.spec
    print(name, x.shape, spec.partitions, sorted(spec.unreduced), parts)
    if x.sharding.spec.unreduced:
        print("  sum", np.asarray(jax.jit(lambda x: jax.reshard(x, P()))(x)).tolist())


def put(x, *spec, **sums):
    return jax.device_put(np.asarray(x, np.float32), P(*spec, **sums))


with jax.set_mesh(mesh):
    a, b = put(np.arange(16).reshape(4, 4), "x", "y"), put(np.arange(8).reshape(4, 2), "y", None)
    row, whole = put(np.arange(8), "x"), put(np.arange(4))
    both = put(np.arange(8), ("x", "y"))

    # Operations that leave sums for later.
    dot = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", unreduced={"y"})))
    show("einsum", dot(a, b))
    show("again", dot(a, b + 1))
    batched = jax.jit(lambda a, b: jnp.einsum(
        "bij,bjk->bik", a, b, out_sharding=P("x", None, None, unreduced={"y"})))  # fmt: skip
    show("batched", batched(put(np.arange(8).reshape(2, 1, 4), "x", None, "y"),
                            put(np.arange(8).reshape(2, 4, 1), "x", "y", None)))  # fmt: skip

    def total(spec):
        return jax.jit(lambda x: jax.lax.reduce_sum(x, (0,), out_sharding=spec))

    show("reduce_sum", total(P(unreduced={"x"}))(row))
    show("rows", total(P("y", unreduced={"x"}))(a))
    show("over two axes", total(P(unreduced={"x", "y"}))(both))
    show("turned", jax.jit(lambda a, b: dot(a, b).T)(a, b))
    show("sum of sums", jax.jit(lambda a, b: dot(a, b) + dot(2 * a, b))(a, b))
    for name, spec in (("along", P(None, "x", unreduced={"y"})), ("whole", P(unreduced={"y"}))):
        moved = jax.jit(lambda a, b, spec=spec: jax.reshard(dot(a, b), spec))
        show(f"moved {name}", moved(a, b))
    show("taken", jax.jit(lambda a, b: jax.reshard(dot(a, b), P("x")) + 1)(a, b))

    # Outside of programs.
    whole_product = jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", None))
    later = jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", unreduced={"y"}))
    show("at once", later)
    show("turned at once", later.T)
    show("summed at once", later + later)
    for name, f in (
        ("square", lambda x: x * x), ("product", lambda x: x * 2.0), ("plus", lambda x: x + 1.0),
        ("minus", lambda x: x - 1), ("other", lambda x: x + whole_product), ("sine", jnp.sin),
    ):  # fmt: skip
        try:
            print(name, f(later))
        except Exception:  # of types that are not the same where an operation has no rule at all
            print(name, "is refused")
    show("reduced at once", jax.lax.reduce_sum(row, (0,), out_sharding=P(unreduced={"x"})))
    show("gradient at once", jax.grad(lambda x: (jax.reshard(x, P("x")) * 3).sum())(
        put(np.arange(4), None, reduced={"x"})))  # fmt: skip

    # Arrays that are put where they are such sums.
    for name, x in (("whole", whole), ("row", row), ("both", both)):
        for axes in ({"x"}, {"y"}, {"x", "y"}):
            spec = P(unreduced=axes)
            show(f"{name} put", jax.device_put(x, spec))
            show(f"{name} traced", jax.jit(lambda x, spec=spec: jax.reshard(x, spec))(x))
            show(f"{name} out", jax.jit(lambda x: x * 1, out_shardings=spec)(x))
    parts = [
        jax.device_put(np.full((2,), k, np.float32), d) for k, d in enumerate(mesh.devices.flat)
    ]
    made = jax.make_array_from_single_device_arrays(
        (4,), NamedSharding(mesh, P("y", unreduced={"x"})), parts)  # fmt: skip
    show("made", made)
    show("doubled", jax.jit(lambda x: x + x)(made))

    grid = put(np.arange(16).reshape(4, 4), "x", "y")
    for spec in (P("x", unreduced={"y"}), P(unreduced={"x"}), P(None, "y", unreduced={"x"})):
        show("grid", jax.jit(lambda x, spec=spec: jax.reshard(x, spec))(grid))

    # Derivatives of what is reduced.
    known = put(np.arange(4), None, reduced={"x"})
    show("gradient", jax.jit(jax.grad(lambda x: (jax.reshard(x, P("x")) * 3).sum()))(known))

    # Programs of devices.
    def smap(ins, outs, check):
        return lambda f: jax.jit(jax.shard_map(f, in_specs=ins, out_specs=outs, check_vma=check))

    for check in (True, False):
        product = smap((P("x", "y"), P("y")), P("x", None, unreduced={"y"}), check)(jnp.matmul)
        show(f"product {check}", product(a, b))
        terms = smap(P("x"), P(unreduced={"x"}), check)(lambda x: x)(row)
        show(f"terms {check}", terms)
        show(f"summed {check}", smap(P(unreduced={"x"}), P(), check)(
            lambda x: jax.lax.psum(x, "x"))(terms))  # fmt: skip
        show(f"doubled {check}", smap(P(unreduced={"x"}), P(unreduced={"x"}), check)(
            lambda x: x + x)(terms))  # fmt: skip
    show("back", smap(P(unreduced={"x"}), P("x"), False)(lambda x: x)(terms))
    show("square", smap(P(unreduced={"x"}), P("x"), False)(lambda x: x * x)(terms))
    kept = jax.shard_map(lambda x: x, in_specs=P("x"), out_specs=P(unreduced={"x"}))(row)
    show("kept at once", kept)
    squares = jax.shard_map(
        lambda x: x * x, in_specs=P(unreduced={"x"}), out_specs=P("x"), check_vma=False
    )
    show("squares at once", squares(kept))
    show("all", smap(P(), P(unreduced={"x"}), False)(lambda x: x)(whole))

    # Sums by number.
    ids = jax.device_put(np.array([0, 0, 1, 1, 1, 2, 2, 3]), P("x"))
    show("segment_sum", jax.jit(lambda x, i: jax.ops.segment_sum(
        x, i, num_segments=4, out_sharding=P(unreduced={"x"})))(row, ids))  # fmt: skip

with jax.set_mesh(jax.make_mesh((4,), ("x",))):
    ids = jax.device_put(ids, P("x"))

    def count(spec):
        return jax.jit(lambda i: jnp.bincount(i, length=4, out_sharding=spec))(ids)

    show("bincount", count(P(unreduced={"x"})))
    try:
        count(P("x"))
    except Exception as error:
        print("bincount along an axis", type(error).__name__)

# Types that do not tell of axes of one device.
jax.config.update("jax_remove_size_one_mesh_axis_from_type", True)
with jax.set_mesh(jax.make_mesh((2, 1), ("x", "y"))):
    narrow = put(np.arange(8).reshape(4, 2), "x", "y")
    whole_sum = jax.shard_map(lambda x: jax.lax.psum(x, "x"), in_specs=P("x", "y"), out_specs=P())
    print(jax.typeof(narrow))
    show("psum", jax.jit(whole_sum)(narrow))
    show("psum outside", whole_sum(narrow))
