"""`jax.experimental.EArray`: arrays of extended dtypes, constructed from their underlying data."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.primitives.elementwise.convert import as_value
from jitney.random.keys import wrap_key_data
from jitney.runtime.arrays.array import ArrayImpl, NativeArray

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike


class EArray(ArrayImpl):
    """An array of an extended dtype, constructed from its underlying data.

    Args:
      aval: type of the array, usually with a PRNG key dtype.
      data: underlying data: for an array of keys [*shape], an array uint32 [*shape, words per key];
        for other dtypes, the elements.

    Raises:
      TypeError: if `data` for keys does not have the dtype uint32.
      ValueError: if the shape or dtype of the resulting array differs from `aval`.

    Example:
      >>> from jax.experimental import EArray
      >>> key = jax.random.key(42)
      >>> EArray(jax.typeof(key), jax.random.key_data(key)) == key
      Array(True, dtype=bool)
    """

    __slots__ = ()

    def __new__(cls, aval: ShapedArray, data: ArrayLike) -> EArray:
        return NativeArray.__new__(cls)

    def __init__(self, aval: ShapedArray, data: ArrayLike) -> None:
        kind = aval.dtype
        x = as_value(data)
        whole = wrap_key_data(x, dtype=kind) if isinstance(kind, dtypes.KeyDType) else x
        if whole.shape != aval.shape or whole.dtype != kind:
            raise ValueError(
                f"EArray: expected data for an array of type {aval.str_short()}, but got data for "
                f"{x.aval.str_short()}"
            )
        NativeArray.__init__(self, cast("ArrayImpl", whole)._value, aval)
