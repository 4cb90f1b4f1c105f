"""Types for annotations; `jax.typing`."""

from typing import Any, Protocol, Union

import numpy as np

from jitney.core.array import Array


class SupportsDType(Protocol):
    """Has a dtype."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


# What functions take for an array, and for an element type. Libraries ask for `get_origin(...) is
# Union`, as jax has it, which unions written with | do not answer.
ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]
DTypeLike = Union[str, type[Any], np.dtype, SupportsDType]

__all__ = ["ArrayLike", "DTypeLike"]
