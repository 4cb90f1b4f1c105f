"""`jitney measure`: measures the rates of this machine, as options for `jitney simulate`.

Under `mpiexec`, all processes compute at the same time, as they do in a program. Then the messages
between them are measured, too: the processes form a ring, and each sends its neighbor one scalar,
then several megabytes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jitney.cli import usage

if TYPE_CHECKING:
    from jitney.core.array import Array

USAGE = """\
usage: jitney measure
       mpiexec -n 4 jitney measure

Prints options for `jitney simulate`: the rates at which a process computes and accesses memory, and,
for several processes, the latency and the bandwidth of messages between them.
"""
_ROUNDS = 7
_MESSAGES = 50  # number of messages in sequence
_MESSAGE_BYTES = 1 << 22


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    if arguments:
        return usage.refuse_word(USAGE, arguments)
    import jitney
    from jitney.runtime.distributed.initialize import is_launched

    if is_launched():
        jitney.distributed.initialize()
    rates = computing()
    if jitney.process_count() > 1:
        rates = messages() | rates
    if jitney.process_index() == 0:
        print(" ".join([f"--{name} {rate:.3g}" for name, rate in rates.items()]))
    return 0


def computing() -> dict[str, float]:
    """Measures how many floating-point operations and bytes per second one process reaches."""
    from jitney.inspection import machine

    rates = machine.computing(_seconds)
    return {"operations": rates.operations, "memory": rates.memory}


def messages() -> dict[str, float]:
    """Measures the latency of messages, and the bytes per second that a process sends."""
    import numpy as np

    import jitney
    from jitney import lax
    from jitney.sharding import Mesh, NamedSharding, PartitionSpec

    n = jitney.process_count()
    devices = [jitney.local_devices(k)[0] for k in range(n)]
    mesh = Mesh(np.array(devices), ("i",))
    ring = [(k, (k + 1) % n) for k in range(n)]

    def send_on(x: Array) -> Array:
        return lax.fori_loop(0, _MESSAGES, lambda _, x: lax.ppermute(x, "i", ring), x)

    spec = PartitionSpec("i")
    mapped = jitney.jit(jitney.shard_map(send_on, mesh=mesh, in_specs=spec, out_specs=spec))

    def seconds(count: int) -> float:
        data = np.ones(count, np.float32)
        x = jitney.make_array_from_process_local_data(NamedSharding(mesh, spec), data)
        return _seconds(mapped, x) / _MESSAGES

    latency = seconds(1)
    transfer = max(seconds(_MESSAGE_BYTES // 4) - latency, 1e-9)
    return {"latency": latency, "bandwidth": _MESSAGE_BYTES / transfer}


def _seconds(f: Callable[[Array], Array], x: Array) -> float:
    """Returns the median time of f(x) in the slowest of all processes, which run it at once."""
    import numpy as np

    from jitney.experimental import multihost_utils

    f(x).block_until_ready()
    times: list[float] = []
    for _ in range(_ROUNDS):
        multihost_utils.sync_global_devices("jitney measure")
        start = time.perf_counter()
        f(x).block_until_ready()
        times.append(time.perf_counter() - start)
    local = np.float32(statistics.median(times))
    return float(np.max(multihost_utils.process_allgather(local)))
