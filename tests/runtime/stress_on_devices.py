"""Programs over eight devices, run over and over from several threads; some of them fail.

`tests/runtime/test_device_stress.py` runs it, and kills it if it hangs.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import random
import sys
import threading
import time

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.sharding import AxisType, NamedSharding, PartitionSpec as P

RUNS, THREADS = int(sys.argv[1]), 4
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
x = jax.device_put(jnp.arange(64.0).reshape(8, 8), NamedSharding(mesh, P("x", "y")))


def exchange(part):
    moved = jax.lax.ppermute(part, "x", [(k, (k + 1) % 4) for k in range(4)])
    return moved + jax.lax.psum(part, ("x", "y")) * jax.lax.axis_index("y")


def fails_on(value, device):
    """`value`, unless the device's number is that of the operand: a function that programs call."""
    time.sleep(random.random() * 1e-4)
    if (np.asarray(device) == int(np.asarray(value).flat[0])).any():
        raise ValueError("device gives up")
    return np.asarray(value)


def checked(part, victim):
    number = jax.lax.axis_index("x") * 2 + jax.lax.axis_index("y")
    shape = jax.ShapeDtypeStruct(victim.shape, victim.dtype)
    victim = jax.pure_callback(fails_on, shape, victim, number, vmap_method="expand_dims")
    return exchange(part) + victim * 0


whole, parts = P(), P("x", "y")
run = jax.jit(jax.shard_map(exchange, mesh=mesh, in_specs=parts, out_specs=parts))
may_fail = jax.jit(
    jax.shard_map(checked, mesh=mesh, in_specs=(parts, whole), out_specs=parts, check_vma=False)
)
mapped = jax.pmap(lambda row: row - jax.lax.pmean(row, "d"), axis_name="d")
expected = np.asarray(run(x))
centred = np.asarray(mapped(np.arange(64.0, dtype=np.float32).reshape(8, 8)))
problems: list[BaseException] = []


def work(seed: int) -> None:
    draw = random.Random(seed)
    try:
        for _ in range(RUNS // THREADS):
            kind = draw.random()
            if kind < 0.9:
                np.testing.assert_array_equal(np.asarray(run(x)), expected)
            elif kind < 0.97:
                rows = np.arange(64.0, dtype=np.float32).reshape(8, 8)
                np.testing.assert_array_equal(np.asarray(mapped(rows)), centred)
            else:
                victim = draw.randrange(16)  # from 8 on no device
                try:
                    got = np.asarray(may_fail(x, jnp.float32(victim)))
                    assert victim >= 8, f"device {victim} was to fail"
                    np.testing.assert_array_equal(got, expected)
                except Exception as error:
                    assert "device gives up" in str(error), error
                    assert victim < 8, f"no device was to fail: {error}"
            if draw.random() < 0.1:
                time.sleep(draw.random() * 1e-3)
    except BaseException as problem:
        problems.append(problem)


threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if problems:
    raise problems[0]
print("ok")
