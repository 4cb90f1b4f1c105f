"""Exchange of arrays with other libraries through the DLPack protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.parallel.device_put import device_put
from jitney.core.types import dtypes
from jitney.runtime.arrays.array import ArrayImpl, array_of

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Array, DTypeLike
    from jitney.runtime.devices.device import Device

_KINDS = "biufc"


def from_dlpack(
    external_array: Any, device: Device | Sharding | None = None, copy: bool | None = None
) -> Array:
    """Converts an object with `__dlpack__`, such as a tensor of another library, to an array.

    Args:
      external_array: the object.
      device: the device or sharding of the result.
      copy: whether to copy the data of an array of this library; by default, memory is shared. Data
        of other libraries is always copied, since its owner could overwrite it later.

    Raises:
      TypeError: if the object does not have the methods of the protocol.
      ValueError: if `copy` is False, and the object is not an array of this library.
    """
    if not hasattr(external_array, "__dlpack__") or not hasattr(
        external_array, "__dlpack_device__"
    ):
        raise TypeError(
            "from_dlpack takes an object with __dlpack__ and __dlpack_device__, not a "
            f"{type(external_array).__name__}"
        )
    if isinstance(external_array, ArrayImpl):  # any dtype: these arrays are immutable
        array = external_array.__copy__() if copy else external_array.clone()
    elif copy is False:
        raise ValueError(
            "from_dlpack: Specified copy=False for an array which requires a copy: its owner may "
            "write to it, and jax.Arrays are immutable"
        )
    else:
        from jitney.runtime.arrays import dlpack_types  # few programs exchange arrays

        array = array_of(dlpack_types.imported(external_array))
    return array if device is None else device_put(array, device)


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Returns whether arrays of `dtype` can be exchanged with any library that supports DLPack.

    For 8-bit floats the result is False, as in JAX, although they can be exchanged with libraries
    that support the types of DLPack 1.1.
    """
    try:
        resolved = dtypes.dtype(dtype)
    except TypeError:
        return False
    return not dtypes.is_extended(resolved) and (
        resolved.kind in _KINDS or resolved == np.dtype(dtypes.bfloat16)
    )
