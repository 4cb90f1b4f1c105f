"""What a process of four devices computes with values that are unreduced or reduced, printed.

The argument is `jitney` or `jax`: `tests/api/test_meshes.py` compares what the two print: types within
`shard_map` and of its results, sums, and derivatives.
"""

from __future__ import annotations

import importlib
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import numpy as np

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(f"{sys.argv[1]}.numpy")
lax, P, reshard = jax.lax, jax.P, jax.sharding.reshard
kinds = jax.sharding.AxisType
MESH = jax.make_mesh((2, 2), ("x", "y"), axis_types=(kinds.Explicit,) * 2)
ROW = np.arange(8, dtype=np.float32)
SQUARE = (np.arange(32, dtype=np.float32) * 7 % 19 / 8 - 1).reshape(8, 4)
TYPES = []


def seen(value):
    """The value; its type is printed."""
    TYPES.append(str(jax.typeof(value)))
    return value


def mapped(body, in_specs, out_specs, **options):
    return jax.shard_map(
        lambda *xs: seen(body(*map(seen, xs))), in_specs=in_specs, out_specs=out_specs, **options
    )


def gradients(f, *args):
    """Derivatives of the sum of f(*args) by all of these."""
    return jax.jit(jax.grad(lambda *xs: reshard(f(*xs), P()).sum(), tuple(range(len(args)))))(*args)


divided, terms, same, total = P("x"), P(unreduced={"x"}), P(), P(reduced={"x"})
psum = lambda v: lax.psum(v, "x")  # noqa: E731
scatter = lambda v: lax.psum_scatter(v, "x", tiled=True)  # noqa: E731
gather = lambda v: lax.all_gather(v, "x", tiled=True, to="reduced")  # noqa: E731


def cast(to, name="x"):
    return lambda v: lax.pcast(v, name, to=to)


def cases():
    values = {spec: jax.device_put(ROW, spec) for spec in (divided, same, total)}
    values[terms] = reshard(jnp.asarray(ROW), terms)
    square = jax.device_put(SQUARE, P("x", "y"))
    weights = jax.device_put(SQUARE.T.copy(), P("y", None, reduced={"x"}))
    specs = {"divided": divided, "terms": terms, "same": same, "reduced": total}
    for name, spec in specs.items():
        for to, out in (("varying", divided), ("unreduced", terms), ("reduced", total)):
            f = mapped(cast(to), spec, out)
            yield f"{name} as {to}", f, (values[spec],)
        yield f"psum of {name}", mapped(psum, spec, same), (values[spec],)
        yield f"psum_scatter of {name}", mapped(scatter, spec, divided), (values[spec],)
        yield f"all_gather of {name}", mapped(gather, spec, total), (values[spec],)
        yield f"sine of {name}", mapped(jnp.sin, spec, spec), (values[spec],)
        yield f"square of {name}", mapped(lambda v: v * v, spec, spec), (values[spec],)
        yield f"sum of {name}", mapped(lambda v: v + v, spec, spec), (values[spec],)
        yield f"one more than {name}", mapped(lambda v: v + 1, spec, spec), (values[spec],)
        yield f"pmax of {name}", mapped(lambda v: lax.pmax(v, "x"), spec, same), (values[spec],)
        for other, out in specs.items():
            if other != name:
                yield (
                    f"{name} put together as {other}",
                    mapped(lambda v: v, spec, out),
                    (values[spec],),
                )
    yield "product with terms", mapped(lambda a, b: a * b, (terms, total), terms), (
        values[terms], values[total],
    )  # fmt: skip
    yield (
        "reduced beside divided",
        mapped(
            lambda a, w: lax.psum(jnp.dot(a, w), "y"),
            (P("x", "y"), P("y", None, reduced={"x"})),
            P("x"),
        ),
        (square, weights),
    )
    yield (
        "contracted",
        mapped(lambda a, b: jnp.dot(a, b), (P("x", "y"), P("y")), P("x", unreduced={"y"})),
        (square, jax.device_put(SQUARE[:4], P("y"))),
    )
    yield "inferred", jax.shard_map(lambda v: scatter(seen(v)), out_specs=divided), (values[terms],)
    both = P(unreduced={"x", "y"})
    yield (
        "of two axes",
        mapped(lambda v: lax.psum(lax.psum_scatter(v, "y", tiled=True), "x"), both, P("y")),
        (reshard(jnp.asarray(ROW), both),),
    )
    yield "gathered along two", mapped(
        lambda v: lax.all_gather(v, ("x", "y"), axis=1, tiled=True, to="reduced"),
        P(None, ("x", "y")), P(reduced={"x", "y"}),
    ), (jax.device_put(SQUARE, P(None, ("x", "y"))),)  # fmt: skip
    yield (
        "in a loop",
        mapped(lambda v: lax.scan(lambda c, _: (c + v, None), v, None, length=3)[0], terms, terms),
        (values[terms],),
    )
    # what chooses elements is the same on all devices
    yield (
        "chosen",
        mapped(lambda v: lax.select_n(jnp.arange(8) < 3, v, v + v), terms, terms),
        (values[terms],),
    )
    yield (
        "chosen, reduced",
        mapped(lambda v: lax.select_n(jnp.arange(8) < 3, v, v + v), total, total),
        (values[total],),
    )
    yield "without types", mapped(scatter, terms, divided, check_vma=False), (values[terms],)
    yield (
        "whose axes are two kinds",
        mapped(lambda v: lax.psum(lax.pcast(v, "x", to="unreduced"), ("x", "y")), P("x", "y"), P()),
        (square,),
    )
    yield "partly mapped", mapped(psum, terms, same, axis_names={"x"}), (values[terms],)


def shown(value):
    spec = value.sharding.spec
    lies = f"{spec.partitions} {sorted(spec.unreduced)} {sorted(spec.reduced)}"
    return f"{lies} {np.round(np.asarray(reshard(value, P()), np.float64), 3).tolist()}"


def printed(name, make):
    TYPES.clear()
    try:
        found = make()
    except Exception as error:  # what is refused is refused by both
        kinds_of = (ValueError, NotImplementedError, TypeError)
        kind = next((k for k in kinds_of if isinstance(error, k)), type(error))
        found = f"raises {kind.__name__}"
    # a function may be traced any number of times
    print(name, found, " ".join(dict.fromkeys(TYPES)) if not found.startswith("raises") else "")


with jax.set_mesh(MESH):
    for name, f, args in cases():
        printed(name, lambda f=f, args=args: shown(jax.jit(f)(*args)))
        printed(f"{name}: eager", lambda f=f, args=args: shown(f(*args)))
        if name.split(",")[0] in ("in a loop", "chosen"):  # has no gradients in JAX
            continue
        printed(
            f"{name}: gradients",
            lambda f=f, args=args: "; ".join(map(shown, gradients(f, *args))),
        )
auto = jax.make_mesh((2, 2), ("x", "y"), axis_types=(kinds.Auto,) * 2)
with jax.set_mesh(auto):
    printed("along Auto axes", lambda: str(mapped(psum, terms, same)(ROW)))
with jax.set_mesh(MESH):
    printed("as text", lambda: str(reshard(jnp.asarray(ROW), terms)).split("spec=")[0])
    printed("as a short text", lambda: f"{reshard(jnp.asarray(ROW), terms)!r:.40}")
    printed("compared", lambda: str(reshard(jnp.asarray(ROW), terms).sum() > 1))
