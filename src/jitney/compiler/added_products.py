"""Products accumulated into an operand: a library function, which BLAS computes in place.

    product_added {contract, batch}  total, x, y -> total + the contraction of x and y

`total` plus a `dot` is rounded after the complete sum; BLAS adds partial sums to the total, so the
two differ in the last bits. The compiler makes such calls where it splits a sum itself.
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
    """Returns the function that contracts axes of both operands, with batch axes `batch`."""
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
