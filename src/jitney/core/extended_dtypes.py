"""Dtypes that NumPy does not know: arrays of them are stored as arrays of a carrier."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.core.first_use import FirstUse

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
    tangent: np.dtype | None = None  # of derivatives; None if there are none

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def itemsize(self) -> int: ...


DType: TypeAlias = "np.dtype[Any] | ExtendedDType"
"""What arrays have for a dtype."""


# Keys that programs take apart: used from when there is a dtype of such keys.
keys_of_words = FirstUse()


def words_of_key(dtype: object) -> int:
    """Returns how many words keys of a dtype are taken apart into; 0 for all other values."""
    return dtype.n_words if type(dtype) is KeyDType else 0


class KeyDType(ExtendedDType):
    """Dtype of arrays of random keys.

    Attributes:
      impl: the generator that the keys belong to.
      physical: what carries a key: uint64 those of Threefry-2x32, so that they are numbers like
        others; bytes those of other generators, which programs take apart (`transforms.key_words`).
      n_words: how many words of uint32 a key is taken apart into; 0 if it is not.
    """

    type = prng_key

    __slots__ = ("impl", "n_words", "physical")

    def __init__(self, impl: Any) -> None:
        self.impl = impl
        n_words = math.prod(impl.key_shape)
        self.n_words = 0 if impl.packed else n_words
        self.physical = np.dtype(np.uint64) if impl.packed else np.dtype((np.void, 4 * n_words))
        if not impl.packed:
            keys_of_words.note()

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


class primal_tangent_dtype_scalar(extended):
    """Category of the dtypes of numbers whose derivatives are of another dtype."""


class PrimalTangentDType(ExtendedDType):
    """Dtype of numbers whose derivatives are of another: `jax.experimental.primal_tangent_dtype`.

    Attributes:
      physical: dtype of the numbers.
      tangent: dtype of their tangents and cotangents.
      name: what texts call the dtype.
    """

    type = primal_tangent_dtype_scalar

    def __init__(self, primal: np.dtype, tangent: np.dtype, name: str) -> None:
        self.physical = primal
        self.tangent = tangent
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def itemsize(self) -> int:
        return self.physical.itemsize

    def __eq__(self, other: object) -> bool:
        return type(other) is PrimalTangentDType and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[np.dtype, np.dtype | None, str]:
        return self.physical, self.tangent, self._name

    def __repr__(self) -> str:
        return self._name

    __str__ = __repr__


def is_extended(dtype: object) -> TypeIs[ExtendedDType]:
    """Returns whether `dtype` is not one of NumPy's or ml_dtypes'."""
    return isinstance(dtype, ExtendedDType)


def physical_dtype(dtype: Any) -> np.dtype:
    """Returns the NumPy dtype that values of `dtype` are stored in."""
    return dtype.physical if isinstance(dtype, ExtendedDType) else dtype
