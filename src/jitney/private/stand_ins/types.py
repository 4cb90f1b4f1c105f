"""`jax._src.typing` and `.literals`: protocols, and a type of which jitney makes no values."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from jitney.core.pytree.registry import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey


@runtime_checkable
class SupportsNdim(Protocol):
    """Has a number of dimensions."""

    @property
    def ndim(self) -> int: ...


@runtime_checkable
class SupportsShape(Protocol):
    """Has a shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...


@runtime_checkable
class SupportsSize(Protocol):
    """Has a number of elements."""

    @property
    def size(self) -> int: ...


@runtime_checkable
class DuckTypedArray(Protocol):
    """Has a dtype and a shape."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


KeyEntry: TypeAlias = SequenceKey | DictKey | GetAttrKey | FlattenedIndexKey
Shape: TypeAlias = "tuple[int, ...]"
StaticScalar: TypeAlias = "np.bool_ | np.number | bool | int | float | complex"


class TypedNdArray:
    """A NumPy array with a weak type, as JAX's programs have for constants; no value here is one.

    Packages ask whether values are instances.
    """


class TypedInt(int):
    """A Python integer with a dtype; no value of jitney's is one."""


class TypedFloat(float):
    """A Python float with a dtype; no value of jitney's is one."""


class TypedComplex(complex):
    """A Python complex number with a dtype; no value of jitney's is one."""
