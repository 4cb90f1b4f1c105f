"""Programs on arrays that lie on devices of several processes: results are those of one process.

Run by `mpiexec -n N`; prints "ok" from process 0.
"""

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.sharding import AxisType, NamedSharding, PartitionSpec as P

jax.distributed.initialize()
N, SIZE, RANK = jax.device_count(), jax.process_count(), jax.process_index()
mesh = jax.make_mesh((N,), ("x",), axis_types=(AxisType.Auto,))
grid = jax.make_mesh((SIZE, N // SIZE), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
A = np.arange(32 * N, dtype=np.float32).reshape(8 * N, 4)
X = jax.device_put(A, NamedSharding(mesh, P("x")))


def whole(x):
    """All of an array, brought to all processes."""
    return np.asarray(jax.device_put(x, NamedSharding(x.sharding.mesh, P())))


def same(got, expected, spec=None):
    np.testing.assert_allclose(whole(got), expected, rtol=1e-5)
    if spec is not None:
        assert got.sharding.spec == spec, got.sharding


def operations():
    same(jax.jit(lambda x: jnp.sin(x).sum())(X), np.sin(A).sum(), P())
    same(X.T + 1, A.T + 1, P(None, "x"))
    same(jnp.sort(-X, axis=0), np.sort(-A, axis=0))
    same(X[3:5], A[3:5])
    same(jnp.cumsum(X, 0), np.cumsum(A, 0))
    same(jax.vmap(jnp.sum)(X), A.sum(1), P("x"))
    same(jnp.roll(X, 3, 0), np.roll(A, 3, 0))


def placements():
    rows, everywhere = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    f = jax.jit(jnp.dot, in_shardings=(rows, everywhere), out_shardings=everywhere)
    same(f(A, np.ones((4, 3), np.float32)), A @ np.ones((4, 3)), P())
    key = jax.random.key(0)
    draw = jax.jit(lambda key: jax.random.normal(key, (8 * N, 3)), out_shardings=rows)
    same(draw(key), np.asarray(jax.random.normal(key, (8 * N, 3))), P("x"))
    y = jax.device_put(A, NamedSharding(grid, P("a", "b" if N > SIZE else None)))
    same(jax.jit(lambda y: (y * 2).sum(1))(y), (A * 2).sum(1), P("a"))
    keys = jax.device_put(jax.random.split(key, 2 * N), rows)
    bits = jax.jit(jax.vmap(lambda k: jax.random.bits(k, (3,))))(keys)
    same(
        bits, np.asarray(jax.vmap(lambda k: jax.random.bits(k, (3,)))(jax.random.split(key, 2 * N)))
    )


def other_meshes():
    """Operands and results that lie on another mesh of the same devices."""
    split = P(None, "b" if N > SIZE else None)
    for spec in (split, P("a")):
        y = jax.device_put(A, NamedSharding(grid, spec))
        same(jax.jit(lambda x, y: x + 2 * y)(X, y), 3 * A)
    cut = NamedSharding(grid, P("a", "b" if N > SIZE else None))
    out = jax.jit(lambda x: x * 2, out_shardings=cut)(X)
    assert out.sharding == cut
    for shard in out.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), 2 * A[shard.index])
    same(jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, cut))(X), 2 * A)


def transformations():
    def loss(w, x):
        return jnp.tanh(x @ w).mean()

    w = jnp.full((4, 2), 1e-3)
    expected = jax.grad(loss)(w, jnp.asarray(A))
    same(jax.jit(jax.grad(loss))(w, X), np.asarray(expected), P())
    compiled = jax.jit(loss).lower(w, X).compile()
    same(compiled(w, X), np.asarray(loss(w, jnp.asarray(A))))
    looped = jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda _, c: c * 0.5 + c.mean(), x))
    same(looped(X), np.asarray(looped(jnp.asarray(A))), P("x"))


def shard_maps():
    def exchange(part):
        moved = jax.lax.ppermute(part, "x", [(k, (k + 1) % N) for k in range(N)])
        gathered = jax.lax.all_gather(part[:1], "x", tiled=True)
        return moved + jax.lax.psum(part, "x") + gathered.sum(0) * jax.lax.axis_index("x")

    f = jax.shard_map(exchange, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    parts = A.reshape(N, 8, 4)
    numbers = np.arange(N)[:, None, None]
    expected = np.roll(parts, 1, 0) + parts.sum(0) + parts[:, 0].sum(0) * numbers
    same(jax.jit(f)(X), expected.reshape(A.shape), P("x"))


def explicit_axes():
    with jax.set_mesh(jax.make_mesh((N,), ("x",))):
        z = jax.device_put(A, P("x"))
        assert jax.typeof(jnp.sin(z)).str_short() == f"float32[{8 * N}@x,4]"
        same(jnp.sin(z), np.sin(A), P("x", None))
        same(jax.jit(lambda z: z.sum(0))(z), A.sum(0))


def refusals():
    try:
        jax.jit(lambda: X.sum() + 1)()
        raise AssertionError(
            "a program took an array that other processes have parts of as a constant"
        )
    except RuntimeError as error:
        assert "pass such arrays as arguments" in str(error), error
    factor = 2.0 + RANK
    try:
        jax.jit(lambda x: x.sum() * factor)(X)
        raise AssertionError("processes ran different programs")
    except RuntimeError as error:
        assert "differs between processes" in str(error), error


for check in (
    operations,
    placements,
    other_meshes,
    transformations,
    shard_maps,
    explicit_axes,
    refusals,
):
    check()
if RANK == 0:
    print("ok")
