"""The heat equation on a torus of 2048 x 2048 points, over one or all devices: milliseconds of a step.

    JAX_NUM_CPU_DEVICES=2 python -m jitney benchmarks/heat.py 1 2
    mpiexec -n 2 python -m jitney benchmarks/heat.py 2

A line for each number of devices that is asked for: `devices milliseconds`.
"""

import os
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

POINTS, STEPS, SAMPLES = 2048, 100, 9


@jax.jit
def heat(u):
    """STEPS explicit steps."""

    def step(_, u):
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u)

    return lax.fori_loop(0, STEPS, step, u)


def measured(devices):
    """Milliseconds of a step over so many devices."""
    mesh = Mesh(np.array(jax.devices()[:devices]), ("x",), axis_types=(AxisType.Auto,))
    whole = np.random.default_rng(0).normal(size=(POINTS, POINTS)).astype(np.float32)
    u = jax.make_array_from_callback(whole.shape, NamedSharding(mesh, P("x")), whole.__getitem__)
    u = jax.block_until_ready(heat(u))
    times = []
    for i in range(SAMPLES):
        multihost_utils.sync_global_devices(f"sample {i}")
        start = time.perf_counter()
        u = jax.block_until_ready(heat(u))
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times) / STEPS


if "PMI_SIZE" in os.environ or "OMPI_COMM_WORLD_SIZE" in os.environ:
    jax.distributed.initialize()
for count in map(int, sys.argv[1:]):
    milliseconds = measured(count)
    if jax.process_index() == 0:
        print(count, milliseconds, flush=True)
