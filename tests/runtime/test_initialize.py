"""Processes join with arguments that agree with MPI and each other; one process may be alone."""

import pytest

from jitney.runtime.devices import client
from jitney.runtime.distributed import initialize
from jitney.runtime.distributed.initialize import _ProcessArguments


def requests(size=None, rank=None, devices=None):
    return _ProcessArguments(None, size, rank, devices)


@pytest.mark.parametrize(
    "own, problem",
    [
        (requests(), ""),
        (requests(4, 1), ""),
        (requests(5), "num_processes=5, but mpiexec has started 4"),
        (requests(4, 0), "process_id=0, but MPI's rank of this process is 1"),
        (
            requests(devices=[0, 0]),
            r"local_device_ids=[0, 0], but this process has the devices [0, 1]",
        ),
        (requests(devices=2), "local_device_ids=2, but this process has the devices [0, 1]"),
    ],
)
def test_arguments_are_compared_with_those_of_mpi(monkeypatch, own, problem):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    text = own.problem(1, 4)
    assert text.startswith(problem) and bool(text) == bool(problem)


def test_devices_of_a_process(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=3")
    assert initialize._own_devices(None) == (0, 1, 2)
    assert initialize._own_devices(1) == (1,) and initialize._own_devices([2, 0]) == (2, 0)
    with pytest.raises(ValueError, match=r"local_device_ids=\[\]"):
        initialize._own_devices([])


@pytest.mark.parametrize("variable", initialize._LAUNCHED)
def test_launchers_are_known_by_their_variables(monkeypatch, variable):
    for name in initialize._LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    assert not initialize.is_launched()
    monkeypatch.setenv(variable, "0")
    assert initialize.is_launched()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("a:1", None, None), "no MPI environment was found, so there is no process to join"),
        (("a:1", 2, 0), "no process of num_processes=2 to join"),
        ((None, 1, 0), "coordinator_address should be defined, with any value"),
        (
            ("a:1", 1, 1),
            "process_id=1 of num_processes=1: num_processes must be at least 1",
        ),
    ],
)
def test_a_single_process(arguments, message):
    initialize._be_alone("a:1", 1, 0)
    initialize._be_alone("a:1", 1, None)
    with pytest.raises(ValueError, match=message):
        initialize._be_alone(*arguments)


def test_errors_are_told_in_one_short_line():
    assert initialize._first_line(ValueError("first\nsecond")) == "ValueError: first"
    assert initialize._first_line(KeyboardInterrupt()) == "KeyboardInterrupt"
    long = initialize._first_line(ValueError("x" * 200))
    assert len(long) < 120 and long.endswith(" ...")


def test_initialization_comes_before_devices():
    client.host_client()
    with pytest.raises(RuntimeError, match="the devices of this process exist already"):
        initialize.initialize("a:1", 1, 0)


def test_joining_and_leaving(monkeypatch):
    monkeypatch.setattr(client, "backends", {})
    monkeypatch.setattr(initialize.joined, "device_counts", None)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    for name in initialize._LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="must be 'mpi4py' or None, but is 'k8s'"):
        initialize.initialize("a:1", 1, 0, cluster_detection_method="k8s")
    with pytest.raises(ValueError, match="does not support TLS"):
        initialize.initialize("a:1", 1, 0, mtls_key_file="key")
    assert not initialize.is_initialized()
    initialize.initialize("a:1", 1, 0, partition_index=3)
    state = initialize.global_state
    assert initialize.is_initialized() and initialize.joined.device_counts == (1,)
    assert (state.coordinator_address, state.partition_index, state.num_processes) == ("a:1", 3, 1)
    with pytest.raises(RuntimeError, match="this process has joined the others already"):
        initialize.initialize("a:1", 1, 0)
    initialize.shutdown()
    assert not initialize.is_initialized() and state.num_processes is None
