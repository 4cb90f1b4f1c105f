"""Dtypes that NumPy does not have; arrays with such a dtype are stored with a NumPy dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.core.util.first_use import FirstUse

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class extended(np.generic):  # a category, named in NumPy's style
    """The category of dtypes that NumPy does not have."""


class prng_key(extended):
    """The category of dtypes of PRNG keys."""


class ExtendedDType:
    """The base class of dtypes that NumPy does not have."""

    type: type = extended
    kind = "V"
    physical: np.dtype  # of the stored elements
    tangent: np.dtype | None = None  # of tangents; None if there are none

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def itemsize(self) -> int: ...


DType: TypeAlias = "np.dtype[Any] | ExtendedDType"
"""The dtype of an array."""


# Support for keys that programs unpack is installed when the first dtype of such keys is created.
keys_of_words = FirstUse()


def words_of_key(dtype: object) -> int:
    """Returns the number of uint32 words into which programs unpack a key; 0 for other dtypes."""
    return dtype.n_words if type(dtype) is KeyDType else 0


class KeyDType(ExtendedDType):
    """The dtype of arrays of PRNG keys.

    Attributes:
      impl: the PRNG implementation of the keys.
      physical: the dtype of the stored keys. It is uint64 for Threefry-2x32, whose keys are handled
        as integers; it is bytes for other generators, whose keys programs unpack
        (`transforms.key_words`).
      n_words: the number of uint32 words into which a key is unpacked; 0 if it is not unpacked.
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
    """The category of dtypes whose tangents have another dtype."""


class PrimalTangentDType(ExtendedDType):
    """A dtype whose tangents have another dtype: `jax.experimental.primal_tangent_dtype`.

    Attributes:
      physical: the dtype of the stored elements.
      tangent: the dtype of tangents and cotangents.
      name: the name of the dtype in texts.
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
    """Returns whether `dtype` belongs neither to NumPy nor to ml_dtypes."""
    return isinstance(dtype, ExtendedDType)


def physical_dtype(dtype: Any) -> np.dtype:
    """Returns the NumPy dtype with which values of `dtype` are stored."""
    return dtype.physical if isinstance(dtype, ExtendedDType) else dtype
