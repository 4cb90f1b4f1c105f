"""Clients number the devices of all processes, and share the threads of this one among its own."""

import pytest

import jitney as jax
from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.runtime.devices import client as clients
from jitney.runtime.devices.client import Client, ForeignProgram, own_device_count
from jitney.runtime.devices.compile_options import CompileOptions


def test_devices_are_numbered_process_by_process():
    client = Client("cpu", 1, (2, 3, 1), 6)
    assert [d.id for d in client.devices()] == list(range(6))
    assert [d.process_index for d in client.devices()] == [0, 0, 1, 1, 1, 2]
    assert [d.id for d in client.local_devices()] == [2, 3, 4]
    assert client.local_devices(2) == client.devices()[5:]
    assert client.first.id == 2 and client.process_indices() == [0, 1, 2]
    assert (client.device_count(), client.local_device_count()) == (6, 3)
    assert [d.is_addressable for d in client.devices()] == [False] * 2 + [True] * 3 + [False]
    assert client.device_from_local_hardware_id(1).id == 3


@pytest.mark.parametrize("threads, count", [(7, 3), (4, 4), (2, 5), (1, 1)])
def test_threads_are_shared_evenly_and_each_device_has_one(threads, count):
    shares = [d.pool.threads for d in Client("cpu", 0, (count,), threads).devices()]
    assert sum(shares) == max(threads, count) and max(shares) - min(shares) <= 1


def test_one_device_runs_the_programs_of_its_process():
    single, double = Client("cpu", 0, (1, 4), 2), Client("cpu", 0, (2, 4), 2)
    assert single.queue is single.first.queue
    assert double.queue is not double.first.queue


def test_devices_by_their_id():
    client = Client("cpu", 0, (1, 2), 1)
    assert client.device(2) is client.devices()[2]
    with pytest.raises(ValueError, match=r"'cpu', 3 devices> has no device with id 3"):
        client.device(3)
    with pytest.raises(RuntimeError, match="no devices of the platform 'tpu'"):
        clients.client("tpu")
    with pytest.raises(JaxRuntimeError, match="HLO programs are for other runtimes"):
        client.compile_ifrt_program(ForeignProgram("HLO", ""), CompileOptions())


@pytest.mark.parametrize(
    "flags, count",
    [
        ("", 1),
        ("--xla_force_host_platform_device_count=8", 8),
        (
            "--a=1 --xla_force_host_platform_device_count=8 --xla_force_host_platform_device_count=3",
            3,
        ),
        ("--xla_force_host_platform_device_count=0", 1),
        ("--other", 1),
    ],
)
def test_the_number_of_devices_in_the_flags_of_xla(monkeypatch, flags, count):
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert own_device_count() == count


def test_the_default_device_can_be_chosen():
    other = Client("cpu", 0, (2,), 1).devices()[1]
    with jax.default_device(other):
        assert clients.default_device() is other
        assert (jax.numpy.ones(2) + 1).devices() == {other}
    assert clients.default_device() is clients.host_client().first
