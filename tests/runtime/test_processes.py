"""How processes join, what they differ in, and how one that fails ends the others."""

import subprocess
import sys
import time

import pytest
from tests.helpers.on_processes import MPIEXEC, NEEDS_MPI, SCRIPTS, run

import jitney as jax


def joining(mode, n=3, *options):
    return run(n, "-m", "jitney", str(SCRIPTS / "joining.py"), mode, devices=2, options=options)


@NEEDS_MPI
def test_devices_of_all_processes():
    done = joining("devices")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "ok\n"


@NEEDS_MPI
@pytest.mark.slow  # mpiexec starts three processes for each row
@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("raise", "process 1 of 3 has ended because of ValueError: of its own"),
        ("hook", "process 1 of 3 has ended because of ValueError: of its own"),
        ("exit", "process 1 of 3 has ended because of sys.exit(3)"),
        ("early", "process 1 to 'the end of the program'"),
        ("name", "process 1 to \"sync_global_devices('another place')\""),
        ("value", "processes 0, 2; process 1"),
        ("program", "the program <lambda> that is compiled differs between processes"),
        ("constant", "the program <lambda> that is compiled differs between processes"),
        ("late", "the devices of this process exist already"),
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


# What the process's death is told by: of all of them, by the watcher; of signals, by mpiexec, too.
DEATH = "jitney: process 1 of {} (PID "


@NEEDS_MPI
@pytest.mark.slow  # starts processes, and waits for the death of one to be noticed
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("mode", ["leave", "leave_with_child", "kill", "fault"])
def test_a_process_that_dies_without_a_word_is_told_of(mode, n):
    start = time.monotonic()
    done = joining(mode, n)
    assert DEATH.format(n) in done.stderr, done.stdout + done.stderr
    assert done.stderr.count("jitney: process") == 1
    assert time.monotonic() - start < 20
    # What was given to `os._exit` is mpiexec's own code.
    assert mode == "leave" or done.returncode != 0


@NEEDS_MPI
@pytest.mark.slow  # starts processes, and waits for the death of one to be noticed
def test_where_the_launcher_leaves_processes_running_they_are_ended():
    if "MPICH" not in subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("an option of MPICH's")
    start = time.monotonic()
    done = joining("leave", 3, "-disable-auto-cleanup")
    assert DEATH.format(3) in done.stderr, done.stdout + done.stderr
    assert done.returncode != 0
    assert time.monotonic() - start < 30


@NEEDS_MPI
@pytest.mark.slow  # mpiexec starts three processes
def test_a_process_that_ends_well_leaves_no_watcher():
    done = joining("devices")
    assert done.returncode == 0
    assert "jitney:" not in done.stderr


def test_one_process():
    assert not jax.distributed.is_initialized()
    with pytest.raises(RuntimeError, match="exist already"):
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
