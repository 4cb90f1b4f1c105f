"""How results of programs over eight devices are sharded, printed: by `jitney` or by `jax`.

`tests/compiler/hlo/test_sharding_propagation.py` compares what the two print.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

jax = importlib.import_module(sys.argv[1])
jnp = importlib.import_module(f"{sys.argv[1]}.numpy")
sharding = importlib.import_module(f"{sys.argv[1]}.sharding")
lax = jax.lax

import numpy as np  # noqa: E402

P = sharding.PartitionSpec
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(sharding.AxisType.Auto,) * 2)
X, Y, XY, TOGETHER = P("x"), P("y"), P("x", "y"), P(("x", "y"))
random = np.random.default_rng(0)


def check(name: str, function: Callable[..., object], *operands: object) -> None:
    """Prints the specs of results, and whether the values are those without sharding.

    An operand is a number, or a shape and a spec.
    """
    plain = [
        np.int32(x) if isinstance(x, int) else np.asarray(random.normal(size=x[0]), np.float32)
        for x in operands
    ]
    placed = [
        x if isinstance(of, int) else jax.device_put(x, sharding.NamedSharding(mesh, of[1]))
        for x, of in zip(plain, operands, strict=True)
    ]
    results = jax.tree.leaves(jax.jit(function)(*placed))
    expected = jax.tree.leaves(function(*map(jnp.asarray, plain)))
    right = [np.allclose(a, b, 1e-3, 1e-3) for a, b in zip(results, expected, strict=True)]
    print(f"{name}: {[getattr(x.sharding, 'spec', None) for x in results]} {all(right)}")


def of_ints(function: Callable[..., object]) -> Callable[..., object]:
    """Casts the last operand to small integers."""
    return lambda *xs: function(*xs[:-1], jnp.abs(xs[-1]).astype(int))


# --- views ----------------------------------------------------------------------------------------

SQUARE = ((16, 8), XY)
check("an axis is split", lambda x: x.reshape(4, 2, 16).sum(-1), ((8, 16), TOGETHER))
check("axes are merged", lambda x: x.reshape(32), ((4, 8), XY))
check("axes are merged, the minor one cut", lambda x: x.reshape(64), ((8, 8), XY))
check("an axis is split in its middle", lambda x: x.reshape(4, 16), ((64,), TOGETHER))
check("an axis is split too small", lambda x: x.reshape(2, 32), ((64,), TOGETHER))
check("flatten", jnp.ravel, SQUARE)
check("transpose", lambda x: x.T, SQUARE)
check("broadcast", lambda x: jnp.broadcast_to(x[:, None], (16, 5, 8)), SQUARE)
check("tile", lambda x: jnp.tile(x, (2, 1)), SQUARE)
check("repeat", lambda x: jnp.repeat(x, 2, 0), SQUARE)
check("reverse", lambda x: x[::-1], SQUARE)
check("bits", lambda x: lax.bitcast_convert_type(x, jnp.uint8), SQUARE)

# --- parts of axes --------------------------------------------------------------------------------

check("slice", lambda x: x[:4], ((16,), X))
check("slice to an odd size", lambda x: x[1:], ((16,), X))
check("slice with a stride", lambda x: x[:8:2], ((16,), X))
check("slice that some axes divide", lambda x: x[:12], ((16,), TOGETHER))
check("split", lambda x: jnp.split(x, 2), SQUARE)
check("pad", lambda x: jnp.pad(x, (4, 4)), ((16,), X))
check("pad between elements", lambda x: lax.pad(x, 0.0, [(0, 1, 1)]), ((16,), X))
check("roll", lambda x: jnp.roll(x, 3), ((16,), X))
check("concatenate", lambda x, y: jnp.concatenate([x, y]), ((16,), X), ((16,), X))
check("concatenate others", lambda x, y: jnp.concatenate([x, y]), ((16,), X), ((8,), Y))
check("stack", lambda x, y: jnp.stack([x, y]), ((16, 8), X), ((16, 8), P(None, "y")))

# --- computed indices -----------------------------------------------------------------------------

check("block", lambda x, i: lax.dynamic_slice(x, (i, 0), (8, 8)), SQUARE, 1)
check("block of both", lambda x, i: lax.dynamic_slice(x, (i, 0), (4, 4)), SQUARE, 1)
check("row", lambda x, i: x[i], SQUARE, 1)


def update(x: object, u: object, i: object) -> object:
    return lax.dynamic_update_slice(x, u, (i, 0))


check("update", update, SQUARE, ((4, 8), P()), 1)
check("update that is sharded", update, ((16, 8), P()), ((4, 8), XY), 1)
check("update at constant indices", lambda x: x.at[0:2].set(1.0), ((16,), X))
check("scatter", lambda x: x.at[jnp.array([0, 2, 5])].set(1.0), ((16,), X))
check(
    "scatter of sharded rows", lambda x, u: x.at[jnp.array([0, 2, 5])].set(u),
    ((16, 8), P()), ((3, 8), P(None, "x")),
)  # fmt: skip
check(
    "scatter of sums", of_ints(lambda x, u, i: x.at[i].add(u)), SQUARE, ((4, 8), P()), ((4,), P())
)
check(
    "segments", of_ints(lambda u, i: jax.ops.segment_sum(u, i, 4)), SQUARE, ((16,), X)
)  # fmt: skip
check("rows", lambda x: x[jnp.array([0, 2, 5])], SQUARE)
check("rows at sharded indices", of_ints(lambda x, i: x[i]), ((16, 8), P()), ((8,), X))
check(
    "along an axis", of_ints(lambda x, i: jnp.take_along_axis(x, i, axis=0)), SQUARE, SQUARE
)  # fmt: skip

# --- reductions, products, windows ----------------------------------------------------------------

check("sum", lambda x: x.sum(0), SQUARE)
check("product, maximum", lambda x: (x.prod(1), x.max()), SQUARE)
check("argmax", lambda x: jnp.argmax(x, 0), SQUARE)
check("cumsum", lambda x: lax.cumsum(x, 0, reverse=True), SQUARE)
check("cumlogsumexp", lambda x: lax.cumlogsumexp(x, 0), SQUARE)
check("standardize", lambda x: (x - x.mean(0)) / x.std(0), SQUARE)
check("dot", jnp.dot, SQUARE, ((8, 4), Y))
check("dot of other mesh axes", jnp.dot, ((8, 8), X), ((8, 8), P(None, "x")))
check("outer", jnp.outer, ((16,), X), ((8,), Y))
BATCHED = "bij,bjk->bik"
check("batch", lambda x, y: jnp.einsum(BATCHED, x, y), ((4, 8, 8), XY), ((4, 8, 8), X))
check("batch in conflict", lambda x, y: jnp.einsum(BATCHED, x, y), ((8, 8, 8), X), ((8, 8, 8), Y))
check("conflict", lambda x, y: x + y, ((8, 8), X), ((8, 8), Y))
check("conflict along axes", lambda x, y: x + y, ((8, 8), X), ((8, 8), P(None, "x")))
check("select", lambda x, y: jnp.where(x > 0, x, y), ((16, 8), X), ((16, 8), P(None, "y")))
check("window", lambda x: jnp.convolve(x, jnp.ones(3), mode="same"), ((16,), X))
IMAGES = ((8, 4, 16, 16), P("x", None, "y"))


def convolved(x: object, w: object) -> object:
    return lax.conv(x, w, (1, 1), "SAME")


check("images", convolved, IMAGES, ((8, 4, 3, 3), P()))
check("features", convolved, ((8, 4, 16, 16), P()), ((8, 4, 3, 3), X))
check("pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 2), "SAME"), SQUARE)

# --- order, transforms, matrices ------------------------------------------------------------------

check("sort", lambda x: jnp.sort(x, 0), SQUARE)
check("argsort", lambda x: jnp.argsort(x, 1), SQUARE)
check("top_k", lambda x: lax.top_k(x, 2), SQUARE)
check("rfft", jnp.fft.rfft, SQUARE)
MATRICES = ((4, 8, 8), X)
check("inverse", lambda x: jnp.linalg.inv(x + 9 * jnp.eye(8)), MATRICES)
check("cholesky", lambda x: jnp.linalg.cholesky(x @ x.mT + jnp.eye(8)), MATRICES)
check("large matrices", lambda x: jnp.linalg.inv(x + 99 * jnp.eye(64)), ((4, 64, 64), X))
check("determinant", lambda x: jnp.linalg.det(x + 9 * jnp.eye(8)), MATRICES)

# --- control --------------------------------------------------------------------------------------

check("scan", lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x), SQUARE)
check("fori_loop", lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.sin(x), x), SQUARE)
check("cond", lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), SQUARE)
check("gradient", jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), ((8, 4), Y), SQUARE)
