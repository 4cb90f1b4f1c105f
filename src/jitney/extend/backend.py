"""`jax.extend.backend`: the device that programs run on."""

from jitney.api.caches import clear_caches
from jitney.core import config
from jitney.runtime import device


def get_default_device() -> device.Device:
    """The device of values that nobody placed."""
    return config.default_device.value or device.cpu


def clear_backends() -> None:
    """Forgets everything compiled; the device stays."""
    clear_caches()


clear_in_memory_compilation_cache = clear_backends
