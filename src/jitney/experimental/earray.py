"""`jax.experimental.EArray`: an array of an extended dtype, given by the data that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jitney.core import dtypes
from jitney.core.avals import ShapedArray
from jitney.primitives.elementwise.convert import as_value
from jitney.random.keys import wrap_key_data
from jitney.runtime.array import ArrayImpl, NativeArray

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike


class EArray(ArrayImpl):
    """An array of type `aval` over `data`.

    Args:
      aval: a type of keys, [*shape], or of plain numbers.
      data: of keys, the words, uint32 [*shape, words of a key]; otherwise the numbers.

    Raises:
      TypeError: if `data` are not of the dtype that `aval` needs.
      ValueError: if they are of another shape.

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
                f"EArray: an array of type {aval.str_short()} needs data of its own, but got "
                f"{x.aval.str_short()}"
            )
        NativeArray.__init__(self, cast("ArrayImpl", whole)._value, aval)
