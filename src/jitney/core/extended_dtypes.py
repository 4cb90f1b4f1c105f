"""Dtypes that NumPy does not know: arrays of them are stored as arrays of a carrier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class extended(np.generic):  # a category, named as NumPy names them
    """Category of dtypes that NumPy does not know."""


class prng_key(extended):
    """Category of the dtypes of random keys."""


class ExtendedDType:
    """Base of dtypes that NumPy does not know."""

    type: type = extended
    kind = "V"
    physical: np.dtype  # of the carrier

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def itemsize(self) -> int: ...


DType: TypeAlias = "np.dtype[Any] | ExtendedDType"
"""What arrays have for a dtype."""


class KeyDType(ExtendedDType):
    """Dtype of arrays of random keys.

    Attributes:
      impl: the generator that the keys belong to.
    """

    type = prng_key
    physical = np.dtype(np.uint64)  # one carrier element per key

    __slots__ = ("impl",)

    def __init__(self, impl: Any) -> None:
        self.impl = impl

    @property
    def name(self) -> str:
        return f"key<{self.impl.tag}>"

    @property
    def itemsize(self) -> int:
        return self.physical.itemsize

    def __eq__(self, other: object) -> bool:
        return type(other) is KeyDType and self.impl == other.impl

    def __hash__(self) -> int:
        return hash((KeyDType, self.impl))

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


def is_extended(dtype: object) -> TypeIs[ExtendedDType]:
    """Whether `dtype` is not one of NumPy's or ml_dtypes'."""
    return isinstance(dtype, ExtendedDType)


def physical_dtype(dtype: Any) -> np.dtype:
    """The NumPy dtype that values of `dtype` are stored in."""
    return dtype.physical if isinstance(dtype, ExtendedDType) else dtype
