"""`jax.extend.backend`: the device that programs run on."""

from jitney.api.caches import clear_caches
from jitney.runtime import client
from jitney.runtime.device import Device


def get_default_device() -> Device:
    """The device of values that nobody placed."""
    return client.default_device()


def clear_backends() -> None:
    """Forgets everything compiled; the device stays."""
    clear_caches()


clear_in_memory_compilation_cache = clear_backends
