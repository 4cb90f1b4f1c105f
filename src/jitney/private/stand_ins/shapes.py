"""`jax._src.core`: sizes of axes (ints or symbolic expressions), and comparisons of types."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.diagnostics.errors import InconclusiveDimensionOperation
from jitney.core.program import typecheck as types
from jitney.core.recording.compat import is_constant_dim
from jitney.core.symbolic.expressions import DimExpr, DimSize, as_dim, is_symbolic_dim, value_of_dim
from jitney.core.tracing.trace import Tracer, concrete_or_error
from jitney.core.types.avals import get_aval

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.types.avals import AbstractValue

T = TypeVar("T")


def is_dim(v: object) -> bool:
    """Returns whether `v` can be the size of an axis."""
    return is_constant_dim(v) or is_symbolic_dim(v)


def canonicalize_dim(d: DimSize, context: str = "") -> DimSize:
    """Returns a size as an int or a symbolic expression.

    Raises:
      TypeError: if `d` is neither of these.
    """
    return canonicalize_shape((d,), context)[0]


def canonicalize_shape(shape: Sequence[DimSize], context: str = "") -> tuple[DimSize, ...]:
    """Returns a shape as a tuple of ints and symbolic expressions.

    Raises:
      TypeError: if a size is neither of these; for example, if it is a tracer.
    """
    known = [as_dim(d) for d in shape if not isinstance(d, Tracer)]
    extents = tuple(d for d in known if d is not None)
    if len(extents) < len(shape):
        where = f" {context}" if context else ""
        raise TypeError(
            f"the sizes in a shape must be known when the program is traced, but got "
            f"{tuple(shape)}{where}"
        )
    return extents


def is_empty_shape(s: Sequence[DimSize]) -> bool:
    """Returns whether arrays of a shape have no elements."""
    return any(definitely_equal(d, 0) for d in s)


def definitely_equal(x: object, y: object) -> bool:
    """Returns whether two sizes are equal for all values of their symbols."""
    if x is y:
        return True
    if not (is_dim(x) and is_dim(y)):
        return False
    return bool(x == y)


def definitely_equal_shape(s1: Sequence[DimSize], s2: Sequence[DimSize]) -> bool:
    """Returns whether two shapes are equal for all values of their symbols."""
    return len(s1) == len(s2) and all(map(definitely_equal, s1, s2))


def divide_shape_sizes(s1: Sequence[DimSize], s2: Sequence[DimSize]) -> DimSize:
    """Divides the number of elements of shape `s1` by the number of elements of shape `s2`.

    Raises:
      InconclusiveDimensionOperation: if the quotient is not an integer.
    """
    size1, size2 = math.prod(s1), math.prod(s2)
    if definitely_equal(size1, size2):
        return 1
    if definitely_equal(size2, 0) or size1 % size2 != 0:
        raise InconclusiveDimensionOperation(
            f"the number of elements of shape {tuple(s1)} must be a multiple of that of {tuple(s2)}"
        )
    return size1 // size2


def dilate_dim(d: DimSize, dilation: DimSize) -> DimSize:
    """Returns the size of an axis after inserting `dilation` - 1 elements between elements."""
    return d if definitely_equal(dilation, 1) or definitely_equal(d, 0) else 1 + dilation * (d - 1)


def stride_dim(d: DimSize, window_size: DimSize, window_stride: DimSize) -> DimSize:
    """Returns the number of windows of the given size and stride that fit along an axis."""
    if is_constant_dim(d) and is_constant_dim(window_size) and d < window_size:
        return 0
    return (d - window_size) // window_stride + 1


def dimension_as_value(d: DimSize) -> int | Array:
    """Returns a size as a value for computations: an int, or an array if it is symbolic."""
    return value_of_dim(d) if isinstance(d, DimExpr) else operator.index(d)


def concrete_dim_or_error(val: object, context: str = "") -> DimSize:
    """Returns a size as an int or a symbolic expression.

    Raises:
      ConcretizationTypeError: if `val` is a tracer.
    """
    extent = None if isinstance(val, Tracer) else as_dim(val)
    return concrete_or_error(operator.index, val, context) if extent is None else extent


def canonicalize_slice(s: slice, axis_size: int) -> tuple[int, int, int]:
    """Returns (start, step, number of elements) of a slice along an axis."""
    start, stop, step = s.indices(axis_size)
    size = len(range(start, stop, step))
    return start, step, size


def typematch(t1: AbstractValue, t2: AbstractValue, no_dtype_check: bool = False) -> bool:
    """Returns whether two types are equal except for weak types.

    If `no_dtype_check` is True, dtypes can differ, too.
    """
    a: Any = t1
    b: Any = t2
    if no_dtype_check and hasattr(a, "dtype") and hasattr(b, "dtype"):
        b = b.update(dtype=a.dtype)
    return types.same_type(a, b)


def typecompat(aval_ref: AbstractValue, aval: AbstractValue) -> bool:
    """Returns whether values of type `aval` are valid where `aval_ref` is expected."""
    return typematch(aval_ref, aval)


def typecheck(aval: AbstractValue, x: object) -> bool:
    """Returns whether `x` is of type `aval`."""
    return typematch(aval, get_aval(x))


def identity(x: T) -> T:
    """Returns its argument."""
    return x
