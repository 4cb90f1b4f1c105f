"""Programs over processes that are kept on disk: run twice, with the same cache, by `mpiexec -n N`.

Process 0 prints how each program was made, "loaded" if all processes have loaded it, and a digest
of all results, which is the same each time.
"""

import hashlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from jitney.runtime.execution import executable

jax.distributed.initialize()
n, rank = jax.process_count(), jax.process_index()
shape = (2, n // 2) if n % 2 == 0 else (1, n)
mesh = jax.make_mesh(shape, ("a", "b"), axis_types=(AxisType.Auto,) * 2)
rows = NamedSharding(mesh, P(("a", "b")))


def trained(w, x):
    return jax.value_and_grad(lambda w: jnp.tanh(x @ w).mean())(w)


def stencil(x):
    """Halos, whose messages are under way beside work, in a loop."""

    def step(_, x):
        return x / 2 + (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0)) / 4

    return jax.lax.fori_loop(0, 5, step, x)


def along_one_axis(x):
    """Groups of processes, two at a time; the process's own number."""
    k = jax.lax.axis_index("a") + 10 * jax.lax.axis_index("b")
    ring = [(i, (i + 1) % shape[1]) for i in range(shape[1])]
    return jax.lax.psum(x, "a") + jax.lax.ppermute(x, "b", ring) * k + jax.lax.pmax(x, ("a", "b"))


def changed(x):
    return x.sum() if rank != 1 else x.max()


x = jax.device_put(np.sin(np.arange(24.0 * n, dtype=np.float32).reshape(4 * n, 6)), rows)
w = jax.device_put(np.cos(np.arange(18, dtype=np.float32).reshape(6, 3)), NamedSharding(mesh, P()))
programs = {
    "trained": (jax.jit(trained), (w, x)),
    "stencil": (jax.jit(stencil), (x,)),
    "along_one_axis": (
        jax.jit(jax.shard_map(along_one_axis, mesh=mesh, in_specs=rows.spec, out_specs=rows.spec)),
        (x,),
    ),
}
digest = hashlib.sha256()
for f, args in programs.values():
    for _ in range(2):
        result = f(*args)
    for leaf in jax.tree.leaves(result):
        digest.update(multihost_utils.process_allgather(leaf, tiled=True).tobytes())
is_loaded = [
    "load" in found.program.timings
    for known in executable._over_processes.values()
    for found in known.values()
    if found.name in programs or found.name == "shmap_body"
]
# A process that is late finds what another one has compiled a moment before.
by_all = multihost_utils.process_allgather(np.array(is_loaded)).all(axis=0)
if rank == 0:
    made = ["loaded" if x else "compiled" for x in by_all]
    print(*made, digest.hexdigest())
if "differ" in sys.argv:
    jax.jit(changed)(x)
