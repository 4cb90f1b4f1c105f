"""Inspection of the namespace as the array API standard requires: version and capabilities.

Libraries that support arrays of several packages query `jnp.__array_namespace_info__()` for dtypes
and devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.api.parallel.device_put import devices
from jitney.core.settings import config
from jitney.core.types import dtypes

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

_WIDE = frozenset(("int64", "uint64", "float64", "complex128"))

_DEFAULTS = {
    "real floating": np.float64,
    "complex floating": np.complex128,
    "integral": np.int64,
    "indexing": np.int64,
}


class ArrayNamespaceInfo:
    """The inspection functions of the array API standard for this namespace."""

    __module__ = "jax.numpy"

    def capabilities(self) -> dict[str, bool | int]:
        """Returns which optional features of the standard are supported.

        Boolean indexing and data-dependent shapes do not work under `jit`, so they are reported as
        False.
        """
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": 64,
        }

    def default_device(self) -> None:
        """Returns None, as arrays are uncommitted until they are put on a device."""

    def devices(self) -> tuple[Device | None, ...]:
        """Returns the devices on which arrays can be put; None stands for the default device."""
        return (None, *devices())

    def default_dtypes(self, *, device: Device | Sharding | None = None) -> dict[str, np.dtype]:
        """Returns the dtypes of new arrays when none is specified, by kind.

        Args:
          device: has no effect; all devices have the same defaults.
        """
        return {kind: dtypes.canonicalize_dtype(dtype) for kind, dtype in _DEFAULTS.items()}

    def dtypes(
        self,
        *,
        device: Device | Sharding | None = None,
        kind: str | tuple[str, ...] | None = None,
    ) -> dict[str, np.dtype]:
        """Returns the dtypes of the standard that the current settings allow, by name.

        Args:
          device: has no effect; all devices support the same dtypes.
          kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex
            floating" or "numeric", or a tuple of these; all if None.

        Raises:
          KeyError: if `kind` is not one of these.
        """
        if kind is None:
            kind = "bool", "numeric"
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = dict.fromkeys([name for k in kinds for name in _KINDS[k]])
        allowed = [n for n in names if n not in _WIDE or config.x64_enabled()]
        return {name: np.dtype(name) for name in allowed}


def __array_namespace_info__() -> ArrayNamespaceInfo:  # the name that the standard prescribes
    """Returns the object that the array API standard defines for inspecting this namespace."""
    return ArrayNamespaceInfo()


__array_namespace_info__.__module__ = "jax.numpy"
