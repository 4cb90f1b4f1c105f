"""Logs of backward passes through `shard_map` and `pmap` on four devices, printed.

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

mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
square = np.arange(16, dtype=np.float32).reshape(4, 4)


def shown(value: object) -> str:
    if type(value).__name__ == "CondSum":
        return f"of branches: {shown(value.index)}; {shown(value.branches)}"
    if hasattr(value, "sharding"):
        place = getattr(value.sharding, "spec", "one device")
        return f"{value.dtype}{value.shape} {place} {np.round(np.asarray(value), 3).tolist()}"
    if isinstance(value, dict):
        return ", ".join(f"{k}: {shown(v)}" for k, v in value.items())
    if isinstance(value, tuple | list):
        return "; ".join(shown(x) for x in value)
    return str(value)


def check(name: str, make: Callable[[], object]) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            print(f"{name}: {shown(make())}")
        except Exception as error:
            print(f"{name}: {type(error).__name__}")


def logging(entry: Callable[..., object]) -> Callable[..., object]:
    @jax.custom_vjp
    def f(x):
        return 2 * x * x

    f.defvjp_with_logs(lambda x: (2 * x * x, x), lambda x, ct: ((4 * x * ct,), {"a": entry(ct)}))
    return f


def pulled(fun, x=square, ct=None, **options):
    mapped = jax.shard_map(fun, mesh=mesh, **options) if options else fun
    _, pullback = jax.vjp(mapped, x)
    return pullback.with_logs(jnp.asarray(x if ct is None else ct))[1]


ENTRIES = {
    "the cotangent": lambda ct: ct * 1,
    "a sum over an axis": lambda ct: lax.psum(ct, "i"),
    "a scalar": lambda ct: ct.sum(),
    "a scalar, summed over an axis": lambda ct: lax.psum(ct.sum(), "i"),
    "a scalar, summed over both": lambda ct: lax.psum(ct.sum(), ("i", "j")),
    "a constant": lambda ct: jnp.ones(2, np.float32),
    "a tree": lambda ct: {"b": ct[0] * 1, "c": [ct.max(), None]},
}
both = {"in_specs": P("i", "j"), "out_specs": P("i", "j")}
for name, entry in ENTRIES.items():
    f = logging(entry)
    check(name, lambda f=f: pulled(f, **both))
    check(f"{name}, by rows", lambda f=f: pulled(f, in_specs=P("i"), out_specs=P("i")))
    check(f"{name}, in a program", lambda f=f: jax.jit(lambda x: pulled(f, x, **both))(square))
f = logging(lambda ct: ct * 1)
for spec in (P("i", "j"), P("i"), P()):
    options = {"in_specs": spec, "out_specs": spec, "check_vma": False}
    check(f"unchecked, {spec}", lambda options=options: pulled(f, **options))
    scalar = logging(lambda ct: ct.sum())
    check(f"unchecked scalar, {spec}", lambda options=options, s=scalar: pulled(s, **options))
check("some axes", lambda: pulled(f, in_specs=P("i"), out_specs=P("i"), axis_names={"i"}))
check("loop", lambda: pulled(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)[0], **both))
check("branch", lambda: pulled(lambda x: lax.cond(x[0, 0] > 2, f, lambda x: x, x), **both))
check("twice", lambda: pulled(lambda x: f(x) + f(x), **both))
check("dropped", lambda: jax.grad(lambda x: jax.shard_map(f, mesh=mesh, **both)(x).sum())(square))
rows = {"mesh": mesh, "in_specs": P("i"), "out_specs": P("i")}
mapped = jax.shard_map(logging(lambda ct: ct.sum()), **rows)
check("vmap of it", lambda: pulled(jax.vmap(mapped)))
check("vmap of the pullback", lambda: jax.vmap(lambda x: pulled(mapped, x))(square))
check("within", lambda: jax.shard_map(lambda x: pulled(f, x), **rows)(square))
check("pmap", lambda: pulled(jax.pmap(f)))
