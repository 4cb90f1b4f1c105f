"""What `psum_scatter_start` and user-defined types in `shard_map` do on four devices, printed.

The argument is `jitney` or `jax`: `test_futures.py` compares what the two print.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import numpy as np

library = sys.argv[1]
jax = importlib.import_module(library)
jnp = importlib.import_module(f"{library}.numpy")
hijax = importlib.import_module(f"{library}.experimental.hijax")
P = jax.P
mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
x = jnp.arange(16.0)


ROWS = P("x")


def on_devices(f, in_specs=ROWS, out_specs=ROWS):
    return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def shown(what):
    if isinstance(what, tuple | list):
        return [shown(y) for y in what]
    return np.asarray(what).tolist() if hasattr(what, "dtype") else str(what)


def report(use):
    try:
        print(shown(use()))
    except Exception as error:
        print(type(error).__name__)


# --- futures --------------------------------------------------------------------------------------

start = jax.lax.psum_scatter_start


def done(y, **options):
    return start(y, "x", **options).done()


def two(y):
    futures = start({"a": y, "b": 2 * y}, "x", tiled=True)
    inside = jnp.sin(y)
    return futures["b"].done() + inside[:1], futures["a"].done(), futures["a"].shape


def programs(text):
    return " ".join(text.split())


report(lambda: jax.jit(on_devices(lambda y: done(y, tiled=True)))(x))
report(lambda: jax.jit(on_devices(lambda y: two(y)[:2], out_specs=(P("x"), P("x"))))(x)[1])
report(
    lambda: jax.jit(on_devices(lambda y: done(y, tiled=True, axis_index_groups=[[0, 1], [2, 3]])))(
        x
    )
)
report(lambda: programs(str(jax.make_jaxpr(on_devices(lambda y: done(y, tiled=True)))(x))))
report(lambda: programs(str(jax.make_jaxpr(on_devices(lambda y: start(y, "x", tiled=True)))(x))))
report(lambda: on_devices(lambda y: done(y, tiled=True))(jnp.arange(20.0)))
report(lambda: jax.make_jaxpr(on_devices(lambda y: start(y, "x", tiled=True) + 1))(x))
report(lambda: start(x, "x"))
report(lambda: jax.grad(lambda y: on_devices(lambda y: done(y, tiled=True))(y).sum())(x))
report(lambda: jax.vmap(on_devices(lambda y: done(y, tiled=True)))(x[None]))

# --- user-defined types ---------------------------------------------------------------------------


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


@dataclass(frozen=True)
class Rows(hijax.HiPspec):
    spec: object

    def to_lo(self):
        return self.spec, P()

    def to_tangent_spec(self):
        return self

    to_ct_spec = to_tangent_spec


@dataclass(frozen=True)
class PairType(hijax.HiType):
    a: object
    b: object

    def lo_ty(self):
        return [self.a, self.b]

    def lower_val(self, pair):
        return [pair.a, pair.b]

    def raise_val(self, a, b):
        return Pair(a, b)

    def to_tangent_aval(self):
        return self

    def str_short(self, short_dtypes=False, **_):
        return f"pair[{self.a.str_short(True)},{self.b.str_short(True)}]"

    def shard(self, mesh, manual_axes, check_vma, spec):
        of_a, of_b = spec.to_lo()
        return PairType(
            self.a.shard(mesh, manual_axes, check_vma, of_a),
            self.b.shard(mesh, manual_axes, check_vma, of_b),
        )

    def unshard(self, mesh, check_vma, spec):
        of_a, of_b = spec.to_lo()
        return PairType(
            self.a.unshard(mesh, check_vma, of_a), self.b.unshard(mesh, check_vma, of_b)
        )


hijax.register_hitype(Pair, lambda pair: PairType(jax.typeof(pair.a), jax.typeof(pair.b)))


class Scaled(hijax.HiPrim):
    def __init__(self, kind):
        self.in_avals, self.out_aval, self.params = (kind,), kind, {}
        super().__init__()

    def expand(self, pair):
        return Pair(pair.a * pair.b, pair.b)

    def jvp(self, primals, tangents):
        return self(*primals), self(*tangents)


class First(hijax.HiPrim):
    def __init__(self, kind):
        self.in_avals, self.out_aval, self.params = (kind,), kind.a, {}
        super().__init__()

    def expand(self, pair):
        return pair.a

    def jvp(self, primals, tangents):
        return self(*primals), self(*tangents)


def scaled(pair):
    return Scaled(jax.typeof(pair))(pair)


def first(pair):
    return First(jax.typeof(pair))(pair)


pair = Pair(jnp.arange(4.0), jnp.float32(3.0))
f = on_devices(scaled, in_specs=(Rows(P("x")),), out_specs=Rows(P("x")))
g = on_devices(lambda p: first(scaled(p)), in_specs=(Rows(P("x")),))
report(lambda: (jax.jit(f)(pair).a, jax.jit(f)(pair).b))
report(lambda: jax.jit(g)(pair))
report(lambda: jax.jit(lambda p, q: jax.jvp(g, (p,), (q,)))(pair, pair))
report(lambda: programs(str(jax.eval_shape(g, pair))))
report(lambda: hijax.HiPspec().to_lo())
report(lambda: hijax.HiPspec().to_tangent_spec())
report(lambda: hijax.HiPspec().to_ct_spec())


class Unfinished(hijax.HiPspec):
    pass


report(lambda: jax.jit(on_devices(lambda p: p, (Unfinished(),), Unfinished()))(pair))
report(lambda: on_devices(lambda p: p, in_specs=3)(pair))
