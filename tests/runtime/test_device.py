"""Devices have memories of all kinds, and those of other processes run nothing here."""

import copy
import pickle

import pytest

from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.runtime.devices import device as devices
from jitney.runtime.devices.client import Client, host_client
from jitney.runtime.devices.device import MEMORY_KINDS

OWN, THEIRS = Client("cpu", 0, (1, 1), 2).devices()


def test_memories_are_made_once_with_numbers_of_their_own():
    memories = [*OWN.addressable_memories(), *THEIRS.addressable_memories()]
    assert len({memory.id for memory in memories}) == 6
    assert [memory.kind for memory in memories] == [*MEMORY_KINDS] * 2
    assert OWN.default_memory() is OWN.memory("device") is memories[0]
    assert memories[4].addressable_by_devices() == [THEIRS] and memories[4].process_index == 1
    assert repr(memories[0]) == "CPU_DEVICE_0" and repr(memories[4]) == "PINNED_HOST_4"
    with pytest.raises(JaxRuntimeError, match=r"no memory of kind 'hbm'; .* device, pinned_host"):
        OWN.memory("hbm")


def test_devices_of_other_processes_have_no_threads():
    assert OWN.local_hardware_id == 0 and THEIRS.local_hardware_id is None
    assert OWN.pool.threads == 2
    for name in ("pool", "queue"):
        with pytest.raises(
            AttributeError, match=r"cpu:1 belongs to process 1, .* process 0, which"
        ):
            getattr(THEIRS, name)
    with pytest.raises(AttributeError, match="devices have no attribute 'cores'"):
        OWN.cores  # noqa: B018


def test_names_and_copies():
    assert (str(THEIRS), repr(THEIRS), THEIRS.platform) == ("cpu:1", "CpuDevice(id=1)", "cpu")
    real = host_client().first
    assert copy.copy(real) is pickle.loads(pickle.dumps(real)) is real


def test_threads_are_those_of_usable_cores(monkeypatch):
    assert devices.usable_cores()
    monkeypatch.delenv("JITNEY_NUM_THREADS", raising=False)
    monkeypatch.setattr(devices.processes.joined, "sharers", 10**6)
    assert devices.thread_count.__wrapped__() == 1
    monkeypatch.setenv("JITNEY_NUM_THREADS", "3")
    assert devices.thread_count.__wrapped__() == 3
