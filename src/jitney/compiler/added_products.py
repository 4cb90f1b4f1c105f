"""`product_added`, a library function that adds a product to an operand, in place by BLAS.

    product_added {contract, batch}  total, x, y -> total + the contraction of x and y

The sum of `total` and a `dot` node is rounded after the complete product, whereas BLAS adds partial
sums to the total, so the two can differ in the last bits. The compiler uses this function only for
sums that it splits itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from jitney.compiler import library
from jitney.compiler.library import LibraryFunction
from jitney.compiler.reference.contraction import dot
from jitney.compiler.tensor_type import TensorType

Axes: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
NAME = "product_added"


def routine(contract: Axes, batch: Axes) -> library.Routine:
    """Returns the library function that contracts axes `contract`, with batch axes `batch`."""
    return library.routine(NAME, contract=contract, batch=batch)


def _types(
    total: TensorType, x: TensorType, y: TensorType, contract: Axes, batch: Axes
) -> Sequence[TensorType]:
    return [total]


def _reference(
    total: np.ndarray, x: np.ndarray, y: np.ndarray, contract: Axes, batch: Axes
) -> Sequence[np.ndarray]:
    return [np.asarray(total + dot(x, y, contract, batch))]


library.declare(LibraryFunction(NAME, _types, _reference, updates=True))
