"""How processes join, what they differ in, and how one that fails ends the others."""

import subprocess
import sys
import time

import pytest
from tests.helpers.on_processes import NEEDS_MPI, SCRIPTS, run

import jitney as jax


def joining(mode):
    return run(3, "-m", "jitney", str(SCRIPTS / "joining.py"), mode, devices=2)


@NEEDS_MPI
def test_devices_of_all_processes():
    done = joining("devices")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "ok\n"


@NEEDS_MPI
@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("raise", "process 1 of 3 has ended by ValueError: of its own"),
        ("hook", "process 1 of 3 has ended by ValueError: of its own"),
        ("exit", "process 1 of 3 has ended by sys.exit(3)"),
        ("kill", ""),  # what mpiexec says
        ("early", "process 1 to 'the end of the program'"),
        ("name", "process 1 to \"sync_global_devices('another place')\""),
        ("value", "processes 0, 2; process 1"),
        ("program", "the program <lambda> that is compiled differs from process to process"),
        ("late", "jax.distributed.initialize() must be called before any JAX calls"),
        ("process_id", "process 1: process_id=0, but MPI's rank of this process is 1"),
        ("num_processes", "process 1: num_processes=4, but mpiexec has started 3"),
        ("local_device_ids", "process 1: local_device_ids=[5]"),
        ("address", "processes differ in coordinator_address"),
        ("x64", "processes differ in jax_enable_x64"),
    ],
)
def test_a_process_that_fails_or_differs_ends_all(mode, text):
    start = time.monotonic()
    done = joining(mode)
    told = done.stdout + done.stderr
    assert done.returncode != 0, told
    assert text in told
    assert told
    assert time.monotonic() - start < 30


def test_one_process():
    assert not jax.distributed.is_initialized()
    with pytest.raises(RuntimeError, match="must be called before any JAX calls"):
        jax.devices()
        jax.distributed.initialize()
    jax.distributed.shutdown()
    code = """
import jitney as jax, sys
for options in {}, {"num_processes": 2}, {"num_processes": 1}:
    try:
        jax.distributed.initialize(**options)
    except ValueError as error:
        assert "mpiexec" in str(error) and "coordinator_address should be defined" in str(error)
    else:
        raise AssertionError(options)
jax.distributed.initialize("localhost:1", 1, 0)
assert jax.distributed.is_initialized() and jax.process_count() == 1
assert "mpi4py" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
