"""`jax.extend.backend`: the devices that programs run on, and what owns them."""

from typing import TYPE_CHECKING

from jitney.api.caches import clear_caches
from jitney.core.lazy import listing, refusing
from jitney.runtime import client
from jitney.runtime.client import Client, client as get_backend
from jitney.runtime.device import Device

__all__ = [
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "get_backend",
    "get_default_device",
]

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # for whom all names would exist
    __getattr__ = refusing(__name__)


def backends() -> dict[str, Client]:
    """Platform -> its client, which has the platform's devices."""
    get_backend()
    return dict(client.backends)


def get_default_device() -> Device:
    """The device of values that nobody placed."""
    return client.default_device()


def clear_backends() -> None:
    """Forgets everything compiled; the device stays."""
    clear_caches()


clear_in_memory_compilation_cache = clear_backends
