"""`jax._src.typing` and `.literals`: protocols, and types that jitney does not instantiate."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from jitney.core.pytree.registry import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey


@runtime_checkable
class SupportsNdim(Protocol):
    """An object with a number of dimensions."""

    @property
    def ndim(self) -> int: ...


@runtime_checkable
class SupportsShape(Protocol):
    """An object with a shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...


@runtime_checkable
class SupportsSize(Protocol):
    """An object with a number of elements."""

    @property
    def size(self) -> int: ...


@runtime_checkable
class DuckTypedArray(Protocol):
    """An object with a dtype and a shape."""

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


KeyEntry: TypeAlias = SequenceKey | DictKey | GetAttrKey | FlattenedIndexKey
Shape: TypeAlias = "tuple[int, ...]"
StaticScalar: TypeAlias = "np.bool_ | np.number | bool | int | float | complex"


class TypedNdArray:
    """A NumPy array with a weak type, which JAX uses for constants; jitney does not create any.

    Packages use this type in `isinstance` checks.
    """


class TypedInt(int):
    """A Python integer with a dtype; jitney does not create any."""


class TypedFloat(float):
    """A Python float with a dtype; jitney does not create any."""


class TypedComplex(complex):
    """A Python complex number with a dtype; jitney does not create any."""
