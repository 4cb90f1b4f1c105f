"""The tensor type, which is used by all IRs of the compiler."""

from __future__ import annotations

from typing import TypeAlias

import ml_dtypes
import numpy as np

from jitney.core.util.record import record

Shape: TypeAlias = tuple[int, ...]


@record(frozen=True)
class TensorType:
    """The shape and dtype of a tensor."""

    shape: Shape
    dtype: np.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


def parse_dtype(name: str) -> np.dtype:
    """Returns the dtype with the name `name`.

    Raises:
      TypeError: if there is no such dtype.
    """
    return np.dtype(getattr(ml_dtypes, name, name))


def parse_type(text: str) -> TensorType:
    """Parses the text of a type, such as `float32[3,4]`.

    Raises:
      TypeError: if there is no such dtype.
      ValueError: if `text` is not a type.
    """
    name, bracket, extents = text.partition("[")
    if not bracket or not extents.endswith("]"):
        raise ValueError(f"{text!r} is not the text of a tensor type, such as 'float32[3,4]'")
    shape = tuple([int(n) for n in extents[:-1].split(",") if n])
    return TensorType(shape, parse_dtype(name))
