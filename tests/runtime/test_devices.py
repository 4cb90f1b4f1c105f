"""Clients, devices and their memories, as jax has them."""

import copy
import pickle

import pytest
from tests.helpers.both import check_claim, of_both

import jitney as jax
from jitney.core.settings import config
from jitney.runtime.arrays import host_path
from jitney.runtime.devices import client


@pytest.mark.parametrize(
    "expression",
    [
        "repr(d)", "str(d)", "d.id", "d.platform", "d.process_index", "d.device_kind", "d.host_id",
        "d.local_hardware_id", "d.memory_stats()", "d.client.platform",
        "[m.kind for m in d.addressable_memories()]", "[repr(m) for m in d.addressable_memories()]",
        "[m.platform for m in d.addressable_memories()]", "d.default_memory().kind",
        "repr(d.memory('pinned_host'))", "d.memory('unpinned_host').process_index",
        "d.memory('device').addressable_by_devices() == [d]",
        "d.client.process_index(), d.client.device_count(), d.client.local_device_count()",
        "d.client.devices() == d.client.local_devices() == jax.devices()",
        "jax.devices('cpu') == jax.local_devices() == [d]", "jax.default_backend()",
        "jax.process_index(), jax.device_count(), jax.local_device_count()",
    ],
)  # fmt: skip
def test_devices_are_described_as_in_jax(expression):
    ours, theirs = of_both(lambda m: eval(expression, {"jax": m, "d": m.devices()[0]}))
    assert ours == theirs


def test_memories_and_platforms_that_are_not_there():
    def claim(module):
        with pytest.raises(RuntimeError, match="memory"):
            module.devices()[0].memory("bogus")
        with pytest.raises(RuntimeError, match="bogus"):
            module.devices("bogus")

    check_claim(claim)


def test_devices_are_one_object_each():
    (device,) = jax.devices()
    assert pickle.loads(pickle.dumps(device)) is device
    assert copy.deepcopy(device) is device
    assert pickle.loads(pickle.dumps(device.client)) is device.client
    assert device.client.device(0) is device
    with pytest.raises(ValueError, match="id 7"):
        device.client.device(7)


def test_the_default_device_has_the_threads():
    device = client.default_device()
    assert host_path.threads() is device.pool is device.queue.pool
    assert device.pool.threads >= 1
    with config.default_device(device):
        assert client.default_device() is device


def test_the_target_is_the_processor():
    from jitney.compiler.llvm import target

    assert jax.devices()[0].target == target.host()
