"""`jax.extend.backend`: devices and their clients."""

from typing import TYPE_CHECKING, Any, Protocol

from jitney.api.jit.caches import clear_caches
from jitney.core.util.lazy import listing, refusing
from jitney.runtime.devices import client
from jitney.runtime.devices.client import Client, client as get_backend
from jitney.runtime.devices.compile_options import CompileOptions, compile_options
from jitney.runtime.devices.device import Device

__all__ = [
    "backend_xla_version",
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "get_backend",
    "get_compile_options",
    "get_default_device",
    "register_backend_cache",
]

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


def backends() -> dict[str, Client]:
    """Returns the client of each platform, from which its devices can be listed."""
    get_backend()
    return dict(client.backends)


def get_default_device() -> Device:
    """Returns the device on which uncommitted arrays are created."""
    return client.default_device()


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: object = None,
    env_options_overrides: dict[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Client | None = None,
) -> CompileOptions:
    """Returns options for `Client.compile_and_load`.

    Args:
      num_replicas, num_partitions: numbers of replicas and of partitions of each replica; the
        program runs on a device for each partition.
      device_assignment: ids of the devices, [replicas, partitions], or [replicas] if there is one
        partition; None for the default devices.
      env_options_overrides: options of XLA by name, which have no effect.
      fdo_profile, detailed_logging, backend: accepted for compatibility.

    Raises:
      ValueError: if the shape of the assignment does not match the numbers.

    Example:
      >>> from jax.extend.backend import get_compile_options
      >>> get_compile_options(2, 1, [0, 1]).device_assignment.replica_count()
      2
    """
    return compile_options(num_replicas, num_partitions, device_assignment, env_options_overrides)


def backend_xla_version(platform: str | None = None) -> int | None:
    """Returns None; in JAX, the version of XLA that a platform uses. jitney does not use XLA.

    Raises:
      RuntimeError: if there is no such platform.
    """
    get_backend(platform)
    return None


class _Cache(Protocol):
    """An object whose cache can be cleared."""

    def cache_clear(self) -> None: ...


_users_caches: list[_Cache] = []


def register_backend_cache(cache: _Cache, for_what: str) -> None:
    """Registers a user-defined cache that `clear_backends` is to clear.

    Args:
      cache: an object with a method `cache_clear`, such as a function decorated with
        `functools.cache`.
      for_what: a description of the cached values, for the error message.

    Raises:
      TypeError: if `cache` has no such method.
    """
    if not callable(getattr(cache, "cache_clear", None)):
        raise TypeError(
            f"register_backend_cache: the cache of {for_what} must have a method cache_clear, but "
            f"{type(cache)} does not have it"
        )
    _users_caches.append(cache)


def clear_backends() -> None:
    """Clears compiled programs and registered caches; devices stay valid."""
    clear_caches()
    for cache in _users_caches:
        cache.cache_clear()


clear_in_memory_compilation_cache = clear_backends
