"""How processes join, and how they end; `python -m jitney joining.py MODE`, by `mpiexec -n 3`.

In each mode process 1 does what the others do not.
"""

import os
import signal
import sys
import time

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec as P

# What MPICH, Open MPI tell a process before it asks MPI.
LAUNCHED = int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
MODE = sys.argv[1]

assert "mpi4py" not in sys.modules
if MODE == "process_id":
    jax.distributed.initialize(process_id=LAUNCHED if LAUNCHED != 1 else 0)
if MODE == "num_processes":
    jax.distributed.initialize("localhost:1", num_processes=3 if LAUNCHED != 1 else 4)
if MODE == "local_device_ids":
    jax.distributed.initialize(local_device_ids=[0] if LAUNCHED != 1 else [5])
if MODE == "address":
    jax.distributed.initialize(f"localhost:{LAUNCHED == 1}")
if MODE == "x64":
    jax.config.update("jax_enable_x64", LAUNCHED == 1)
if MODE == "late":
    jax.numpy.zeros(3)

FEWER = MODE == "devices" and LAUNCHED == 2
jax.distributed.initialize(local_device_ids=0 if FEWER else None)
rank = jax.process_index()
assert rank == LAUNCHED
assert jax.distributed.is_initialized()

if MODE == "devices":
    assert jax.process_count() == 3
    assert [d.process_index for d in jax.devices()] == [0, 0, 1, 1, 2]
    assert [d.id for d in jax.devices()] == list(range(5))
    assert jax.local_devices() == [d for d in jax.devices() if d.process_index == rank]
    assert [len(jax.local_devices(k)) for k in range(3)] == [2, 2, 1]
    try:
        jax.distributed.initialize()
    except RuntimeError as error:
        assert "has joined the others already" in str(error)
    else:
        raise AssertionError
    assert jax.numpy.zeros(3).devices() == {jax.local_devices()[0]}
    try:
        _ = jax.local_devices((rank + 1) % 3)[0].queue
    except AttributeError as error:
        assert "jax.local_devices()" in str(error)
    else:
        raise AssertionError
    jax.distributed.shutdown()
    assert not jax.distributed.is_initialized()
    if rank == 0:
        print("ok")
    sys.exit()

mesh = jax.make_mesh((jax.device_count(),), ("x",))
if rank == 1:
    match MODE:
        case "raise":
            raise ValueError("of its own")
        case "hook":
            sys.excepthook = lambda *_: print("shown", file=sys.stderr)
            raise ValueError("of its own")
        case "exit":
            sys.exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "fault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "leave":
            os._exit(0)
        case "leave_with_child":
            if os.fork() == 0:  # has what the process has open
                time.sleep(2)
            os._exit(5)
        case "early":
            sys.exit()
        case "name":
            multihost_utils.sync_global_devices("another place")
if MODE == "value":
    jax.device_put(np.arange(3) + (rank == 1), NamedSharding(mesh, P()))
if MODE == "program":
    x = jax.device_put(np.arange(12.0), NamedSharding(mesh, P("x")))
    jax.jit(lambda x: x.sum() if rank != 1 else x.max())(x)
if MODE == "constant":  # in its last element, which no text shows
    x = jax.device_put(np.arange(99.0), NamedSharding(mesh, P()))
    jax.jit(lambda x: x * np.append(np.arange(98.0), rank == 1))(x)
multihost_utils.sync_global_devices("here")
time.sleep(60)
