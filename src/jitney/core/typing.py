"""Types for annotations, for all layers; `jitney.typing` is the public module.

`ArrayLike` is what functions of `jax.numpy` take for an array, `Array` what they return. Nested
containers of arrays are `PyTree`s, of which nothing more is known statically. `Value` is what traces
and rules of primitives compute with, `Params` the parameters of an equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, Union, runtime_checkable

import numpy as np

from jitney.core.array import Array as Array


@runtime_checkable
class SupportsDType(Protocol):
    """Has a dtype."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


@runtime_checkable
class SupportsArray(Protocol):
    """Says by itself which array it stands for."""

    def __jax_array__(self) -> Array: ...


# Libraries ask for `get_origin(...) is Union`, as in jax, which unions written with | do not answer.
ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007
DTypeLike = Union[str, type[Any], np.dtype, SupportsDType]  # noqa: UP007

Value: TypeAlias = ArrayLike  # an array or tracer, a NumPy array or scalar, a Python scalar
Params: TypeAlias = "dict[str, Any]"  # name -> whatever the primitive's rules take by that name

PyTree: TypeAlias = Any  # arrays in nested containers
Axis: TypeAlias = "int | Sequence[int] | None"  # of a reduction: None is all of them
AxisName: TypeAlias = Any  # hashable; or a tuple of such
Shape: TypeAlias = "Sequence[SupportsIndex]"
ShapeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"  # an int stands for one axis
Index: TypeAlias = Any  # in brackets: ints, slices, None, Ellipsis, arrays, tuples of these
