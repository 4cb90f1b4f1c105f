"""What a process of four devices computes with `custom_partitioning`, printed.

The argument is `jitney` or `jax`: `test_custom_partitioning.py` compares what the two print.
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
module = importlib.import_module(f"{library}.experimental.custom_partitioning")
custom_partitioning, P = module.custom_partitioning, jax.P
NamedSharding = jax.sharding.NamedSharding

mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
numbers = np.arange(32, dtype=np.float32).reshape(8, 4)


def at(*spec):
    return NamedSharding(mesh, P(*spec))


def put(x, *spec):
    return jax.device_put(x, at(*spec))


def shown(what):
    if isinstance(what, tuple | list):
        return [shown(x) for x in what]
    if isinstance(what, dict):
        return {name: shown(x) for name, x in what.items()}
    if isinstance(what, jax.ShapeDtypeStruct):
        return f"{what.dtype}{what.shape} {what.sharding.spec} {what.sharding.mesh.axis_types}"
    if hasattr(what, "sharding"):
        return f"{getattr(what.sharding, 'spec', 'one')} {np.asarray(what).round(4).tolist()}"
    return str(what)


def check(name, make):
    try:
        found = shown(make())
    except Exception as error:
        found = f"raises {type(error).__name__}"
    print(f"{name}: {found}")


def telling(
    fun, of_parts=None, args=None, results=None, rule: object = "i j -> i j", static=(), **options
):
    """`fun`, whose callback prints what it is told."""

    def partition(*told):
        *fixed, own_mesh, given, wanted = told
        print("  partition", fixed, dict(own_mesh.shape), shown(given), shown(wanted))

        def body(*parts):
            print("  parts", [x.shape for x in jax.tree.leaves(parts)])
            return (of_parts or fun)(*parts, *fixed)

        return (
            own_mesh,
            body,
            results or jax.tree.map(lambda x: x.sharding, wanted),
            args or jax.tree.map(lambda x: x.sharding, given),
        )

    out = custom_partitioning(fun, static_argnums=static)
    out.def_partition(partition, sharding_rule=rule, **options)
    return out


x = put(numbers, "x", "y")
sine = telling(jnp.sin)
check("eager", lambda: sine(x))
check("jit", lambda: jax.jit(sine)(x))
check("in a program", lambda: jax.jit(lambda x: 2 * sine(x + 1))(x))
check("one device", lambda: jax.jit(sine)(numbers))
check("placed otherwise", lambda: jax.jit(sine)(put(numbers, None, "x")))
check("constraint", lambda: jax.jit(
    lambda x: sine(jax.lax.with_sharding_constraint(x, at("y", "x"))))(x))  # fmt: skip
check("loop", lambda: jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, c: sine(c), x))(x))
check("twice", lambda: jax.jit(lambda x: sine(sine(x).T))(x))
check("not used", lambda: jax.jit(lambda x: (sine(x), x)[1])(x))
check("within shard_map", lambda: jax.jit(jax.shard_map(
    sine, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y")))(x))  # fmt: skip
explicit = jax.make_mesh((4,), ("z",))
check("nested", lambda: jax.jit(lambda x: jax.jit(sine)(x) + jax.jit(sine)(x.T).T)(x))
check("branch", lambda: jax.jit(lambda x: jax.lax.cond(x.sum() > 0, sine, lambda x: x, x))(x))
check("scan", lambda: jax.jit(lambda x: jax.lax.scan(
    lambda c, row: (c + sine(row), None), jnp.zeros((8, 4)), jnp.stack([x] * 3)))(x))  # fmt: skip
check("in_shardings", lambda: jax.jit(sine, in_shardings=at("x"))(numbers))
other = jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=at("y", "x"))
compiled = jax.jit(lambda x: sine(x) + 1).lower(other).compile()
check("compiled", lambda: compiled(put(numbers, "y", "x")))
check("no elements", lambda: jax.jit(sine)(put(np.zeros((0, 4), np.float32), "x")))
check("Explicit", lambda: jax.jit(sine)(jax.device_put(numbers, NamedSharding(explicit, P("z")))))

# --- sums over parts ------------------------------------------------------------------------------

total = telling(
    lambda x: x.sum(axis=1), lambda x: jax.lax.psum(x.sum(axis=1), "y"), (at("x", "y"),),
    at("x"), "i j -> i", reduction_factors=("j",),
)  # fmt: skip
check("sum", lambda: jax.jit(total)(x))
check("sum moved", lambda: jax.jit(total)(put(numbers, "y")))
everything = telling(lambda x: x.sum(), lambda x: jax.lax.psum(x.sum(), ("x", "y")), rule="i j ->")
check("scalar", lambda: jax.jit(everything)(x))
product = telling(
    lambda x, y: x @ y, lambda x, y: jax.lax.psum(x @ y, "y"), (at("x", "y"), at("y")), at("x"),
    "i k, k j -> i j", reduction_factors=("k",),
)  # fmt: skip
check("product", lambda: jax.jit(product)(x, put(numbers.T, "y", "x")))

# --- rules ----------------------------------------------------------------------------------------


def plus(x, y):
    return x + y


add = telling(plus, rule="i j, i j -> i j", args=(at("x"), at("x")), results=at("x"))
check("two agree", lambda: jax.jit(add)(put(numbers, "x"), put(numbers, "x", "y")))
check("two contradict", lambda: jax.jit(add)(x, put(numbers, "y", "x")))
check("open operand", lambda: jax.jit(
    lambda x: telling(plus, rule="i j, i j -> i j")(x, jnp.ones((8, 4))))(x))  # fmt: skip
flat = telling(lambda x: x.reshape(-1), rule="i j -> (i j)")
check("merged", lambda: jax.jit(flat)(put(numbers, "x")))
check("split", lambda: jax.jit(
    telling(lambda x: x.reshape(4, -1), lambda x: x.reshape(2, -1), rule="(i j) -> i j"))(
        put(numbers.ravel(), "x")))  # fmt: skip
check("leading", lambda: jax.jit(telling(jnp.cos, rule="... k -> ... k"))(
    put(numbers.reshape(2, 4, 4), "x", "y")))  # fmt: skip
by_rows = {"results": at("x"), "args": (at("x"),), "need_replication_factors": ("j",)}
check("replicated factor", lambda: jax.jit(telling(jnp.cos, **by_rows))(x))
by_function = telling(jnp.cos, rule=lambda mesh, args, results: "a b -> a b")
check("function", lambda: jax.jit(by_function)(x))
objects = module.SdyShardingRule((module.ArrayMapping("i", "j"),), (module.ArrayMapping("i", "j"),))
check("object", lambda: jax.jit(telling(jnp.cos, rule=objects))(x))
for wrong in ("i -> i", "i j, k -> i", "i j -> i, j"):
    check(wrong, lambda wrong=wrong: jax.jit(telling(jnp.cos, rule=wrong))(x))

# --- arguments ------------------------------------------------------------------------------------

check("static", lambda: jax.jit(telling(lambda x, n: x * n, static=(1,)), static_argnums=1)(x, 3))
check("keyword", lambda: jax.jit(lambda x: telling(lambda x, n: x * n, static=(1,))(x=x, n=2))(x))
check("left out", lambda: jax.jit(telling(lambda x, n: x * n, static=(1,)))(x))
check("keyword only", lambda: telling(lambda x, *, n: x * n)(x, n=2))
check("pytrees", lambda: jax.jit(telling(
    lambda d: (d["a"] * 2, {"b": d["b"]}), rule="i j, k -> i j, k"))(
        {"a": x, "b": put(numbers[0], "y")}))  # fmt: skip
check("undefined", lambda: custom_partitioning(lambda x: x)(x))

# --- transformations ------------------------------------------------------------------------------

check("vmap", lambda: jax.vmap(sine)(jnp.stack([x])))
check("jvp", lambda: jax.jvp(sine, (x,), (x,)))


@jax.custom_vjp
def smooth(x):
    return sine(x)


smooth.defvjp(lambda x: (sine(x), x), lambda x, ct: (telling(jnp.cos)(x) * ct,))
check("custom_vjp", lambda: jax.jit(jax.grad(lambda x: smooth(x).sum()))(x))


@jax.custom_batching.custom_vmap
def mapped(x):
    return sine(x)


mapped.def_vmap(lambda size, is_mapped, x: (telling(jnp.sin, rule="b i j -> b i j")(x), True))
check("custom_vmap", lambda: jax.jit(jax.vmap(mapped))(put(numbers.reshape(2, 4, 4), "x", "y")))
