"""Programs over processes, which are run on a mesh of them, or lowered for `jitney simulate`.

mpiexec -n 4 python -m jitney benchmarks/process_programs.py run
jitney simulate --mesh 4 benchmarks/process_programs.py lower
"""

import functools
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

ROUNDS = 7


def heat(u):
    """Steps of the heat equation on a torus, by explicit differences."""

    def step(_, u):
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u)

    return lax.fori_loop(0, 20, step, u)


def training_step(w1, w2, x):
    """A step of gradient descent of two dense layers, the batch divided."""

    def loss(w1, w2):
        return jnp.mean((jnp.tanh(x @ w1) @ w2) ** 2)

    g1, g2 = jax.grad(loss, (0, 1))(w1, w2)
    return w1 - 0.1 * g1, w2 - 0.1 * g2


def product(x, y):
    """A product whose contracted axis is divided: the terms are added up."""
    return x @ y


# name: function, shapes and how they are divided, how results are
PROGRAMS = {
    "heat": (heat, [((2048, 2048), P("x"))], P("x")),
    "training_step": (
        training_step,
        [((512, 1024), P()), ((1024, 256), P()), ((2048, 512), P("x"))],
        (P(), P()),
    ),
    "product": (product, [((512, 4096), P(None, "x")), ((4096, 512), P("x"))], P()),
}


def lower():
    """Lowers all programs, for those that observe it."""
    mesh = AbstractMesh((2,), ("x",), (AxisType.Auto,))
    for name, (f, operands, _) in PROGRAMS.items():
        f.__name__ = name
        jax.jit(f).lower(*[
            jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))
            for shape, spec in operands
        ])  # fmt: skip


def run():
    """Runs all programs; process 0 prints the median seconds of the slowest process for each."""
    jax.distributed.initialize()
    mesh = jax.make_mesh((jax.device_count(),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    place = functools.partial(NamedSharding, mesh)
    random = np.random.default_rng(0)
    for name, (f, operands, results) in PROGRAMS.items():
        values = [0.1 * random.normal(size=shape).astype(np.float32) for shape, _ in operands]
        arrays = [
            jax.make_array_from_callback(x.shape, place(spec), x.__getitem__)
            for x, (_, spec) in zip(values, operands, strict=True)
        ]
        out = jax.tree.map(place, results, is_leaf=lambda spec: isinstance(spec, P))
        compiled = jax.jit(f, out_shardings=out)
        jax.block_until_ready(compiled(*arrays))
        times = []
        for _ in range(ROUNDS):
            multihost_utils.sync_global_devices(name)
            start = time.perf_counter()
            jax.block_until_ready(compiled(*arrays))
            times.append(time.perf_counter() - start)
        slowest = multihost_utils.process_allgather(np.float32(statistics.median(times))).max()
        if jax.process_index() == 0:
            print(name, slowest, flush=True)


{"run": run, "lower": lower}[sys.argv[1]]()
