"""Inspecting the process: live arrays, versions and devices."""

from __future__ import annotations

import platform
import sys

import numpy as np

from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import client
from jitney.version import PACKAGE_VERSION, __version__ as JAX_VERSION


def live_arrays(platform: str | None = None) -> list[ArrayImpl]:
    """Returns all arrays that hold data.

    Args:
      platform: "cpu" or None.

    Example:
      >>> x = jnp.ones(3)
      >>> any(y is x for y in jax.live_arrays())
      True
    """
    client.client(platform)
    return client.live_arrays()


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints versions and devices, for bug reports; returns them as a string if `return_string`.

    Example:
      >>> jax.print_environment_info(return_string=True).split(":")[0]
      'jitney'
    """
    devices = client.client().local_devices()
    text = "\n".join(
        (
            f"jitney: {PACKAGE_VERSION}",
            f"jax:    {JAX_VERSION} (the interface)",
            f"numpy:  {np.__version__}",
            f"python: {sys.version}",
            f"device info: {devices[0].device_kind}, {len(devices)} local devices, "
            f"{sum([d.pool.threads for d in devices])} threads",
            f"process_count: {len(client.client().process_indices())}",
            f"platform: {platform.uname()}",
        )
    )
    if return_string:
        return text
    print(text)
    return None


def effects_barrier() -> None:
    """Waits for side effects of programs, which are in fact complete when a call returns."""
