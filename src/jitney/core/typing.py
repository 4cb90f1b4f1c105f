"""Types for annotations in all layers; `jitney.typing` is the public module.

`ArrayLike` is the type of array arguments of `jax.numpy` functions, and `Array` is the type of
their results. `PyTree` stands for nested containers of arrays; it has no more specific static type.
`Value` is the type of values in traces and rules of primitives, and `Params` is the type of the
parameters of an equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, Union, runtime_checkable

import numpy as np

from jitney.core.array import Array as Array


@runtime_checkable
class SupportsDType(Protocol):
    """An object with a dtype."""

    @property
    def dtype(self) -> np.dtype: ...


@runtime_checkable
class SupportsArray(Protocol):
    """An object that converts itself to an array."""

    def __jax_array__(self) -> Array: ...


# A `Union`, as in JAX: libraries test `get_origin(...) is Union`, which fails for unions written
# with |.
ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007
DTypeLike = Union[str, type[Any], np.dtype, SupportsDType]  # noqa: UP007

Value: TypeAlias = ArrayLike  # an array or tracer, a NumPy array or scalar, a Python scalar
Params: TypeAlias = "dict[str, Any]"  # parameter name -> value

PyTree: TypeAlias = Any  # nested containers of arrays
Axis: TypeAlias = "int | Sequence[int] | None"  # the axes of a reduction; None for all axes
AxisName: TypeAlias = Any  # hashable, or a tuple of such names
Shape: TypeAlias = "Sequence[SupportsIndex]"
ShapeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"  # an int for rank 1
Index: TypeAlias = Any  # in brackets: ints, slices, None, Ellipsis, arrays, tuples of these
