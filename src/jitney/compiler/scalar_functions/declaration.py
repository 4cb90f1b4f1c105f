"""The rows of the table of scalar functions, `ScalarFunction`, and access to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeAlias

import numpy as np

from jitney.core.util.declarations import Table
from jitney.core.util.record import record

Reference: TypeAlias = Callable[..., np.ndarray]
ComplexArray: TypeAlias = "np.ndarray[Any, np.dtype[np.complexfloating[Any]]]"
Dtypes: TypeAlias = Sequence["np.dtype[Any]"]
ResultRule: TypeAlias = Callable[[Dtypes], "np.dtype[Any]"]
HalfRule: TypeAlias = Literal["rounded", "basic", "closed", "own"]
P = ParamSpec("P")

BOOL = np.dtype(bool)
_REAL_OF = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
_COMPLEX_OF = {real: kind for kind, real in _REAL_OF.items()}

EXACT = (0.5, 0.5)
"""The error bound of exact or correctly rounded functions, bit-identical to the reference."""


# --- operands and results -----------------------------------------------------------------------


def real_dtype(dtype: np.dtype[Any]) -> np.dtype:
    """Returns the dtype of the components of the complex dtype `dtype`."""
    return _REAL_OF[dtype]


def alike(dtypes: Dtypes) -> bool:
    """Returns whether all operands have the same dtype."""
    return all(dtype == dtypes[0] for dtype in dtypes)


def complex_operands(dtypes: Dtypes) -> bool:
    """Returns whether all operands have the same complex dtype."""
    return alike(dtypes) and dtypes[0].kind == "c"


def parts_of_complex(dtypes: Dtypes) -> bool:
    """Returns whether the operands can be components of complex numbers."""
    return alike(dtypes) and dtypes[0] in _COMPLEX_OF


def predicate_and_choices(dtypes: Dtypes) -> bool:
    """Returns whether the operands are a Boolean and values of the same dtype."""
    return dtypes[0] == BOOL and alike(dtypes[1:])


def same(dtypes: Dtypes) -> np.dtype:
    """Returns the dtype of the last operand, which all operands but a leading predicate have."""
    return dtypes[-1]


def boolean(dtypes: Dtypes) -> np.dtype:
    """Returns the dtype of predicates."""
    return BOOL


def real(dtypes: Dtypes) -> np.dtype:
    """Returns the dtype of the components of complex operands, or the dtype of real operands."""
    return _REAL_OF.get(dtypes[0], dtypes[0])


def complex_of(dtypes: Dtypes) -> np.dtype:
    """Returns the complex dtype with components of the dtype of the operands."""
    return _COMPLEX_OF[dtypes[0]]


# --- the table ----------------------------------------------------------------------------------


@record(frozen=True)
class ComplexFunction:
    """A function of complex numbers that is computed by components.

    Attributes:
      fn: its name, which is also that of the row with its reference.
      cost: the cost of all components of the result together, in additions.
      code: its code as "module.name" in `compiler.scalar`, a function of pairs of f64.
      narrow_code: shorter code for pairs that have been converted from f32; `code` if None.
      operands: the number of complex operands.
      parts: the names of the rows for the components of the result; a single name if it is real.
    """

    fn: str
    cost: int
    code: str
    narrow_code: str | None
    operands: int
    parts: tuple[str, ...]


@record(frozen=True)
class Part:
    """The component of a complex function that a row of the table computes.

    Attributes:
      of: the complex function; the row has two real operands for each complex one.
      which: 0 for the real part of the result or a real result, 1 for the imaginary part.
    """

    of: ComplexFunction
    which: int


@record(frozen=True, eq=False)
class ScalarFunction:
    """A row of the table: all properties of a scalar function.

    Attributes:
      name: its name, which is that of JAX's primitive if there is one.
      reference: its semantics, a function of ndarrays of equal shapes; the reference of a cast also
        takes the new dtype.
      operands: the number of operands.
      accepts: returns whether it is defined for operands of given dtypes.
      result: returns the dtype of the result; None for casts, for which nodes specify the dtype.
      cost: the cost of computing it in registers, in additions (see `compiler/cost.py`).
      ulp: the error bounds in f32 and f64, in units in the last place, measured by
        `tests/accuracy`; None if there is no stated bound, as for functions computed by SciPy.
      code: the code that computes it, as "module.name" in `compiler.scalar`, which is a function of
        f32 and f64 or a `Code`. If it is None, compiled programs call the reference, or the
        compiler has decomposed the function before (`real`, `complex`).
      half: how 16-bit results are obtained from f32. "closed": results are representable and need
        no rounding. "basic": results are rounded by a processor instruction, and NaN results are
        those of an operand or the processor's default NaN. "rounded": all other results. "own": the
        function is not computed in f32, or by other code than that for f32 operands.
      part: the component of a complex function that the row computes, or None.
    """

    name: str
    reference: Reference
    operands: int = 1
    accepts: Callable[[Dtypes], bool] = alike
    result: ResultRule | None = same
    cost: int = 1
    ulp: tuple[float, float] | None = EXACT
    code: str | None = None
    half: HalfRule = "rounded"
    part: Part | None = None

    @property
    def is_exact(self) -> bool:
        """Whether compiled code is bit-identical to the reference."""
        return self.ulp == EXACT

    def ulp_bound(self, dtype: np.dtype[Any]) -> float:
        """Returns the error bound in units in the last place; 0.5 means correctly rounded.

        On a target without fused multiply-add, the error can be half a unit greater.
        """
        assert self.ulp is not None, f"{self.name} has no error bound"
        if dtype.itemsize == 2:
            return 0.6  # rounded from f32
        return self.ulp[0] if dtype.itemsize == 4 else self.ulp[1]


_table: Table[ScalarFunction] = Table("scalar function")


def _entering(make: Callable[P, ScalarFunction]) -> Callable[P, None]:
    def declare(*args: P.args, **fields: P.kwargs) -> None:
        row = make(*args, **fields)
        _table.declare(row.name, row)

    return declare


# Declares a row, given the fields of `ScalarFunction`.
declare = _entering(ScalarFunction)


def lookup(name: str) -> ScalarFunction:
    """Returns the row of the function `name`; raises KeyError if there is none."""
    return _table[name]


def find(name: str) -> ScalarFunction | None:
    """Returns the row of the function `name`, or None if there is none."""
    return _table.get(name)


def rows() -> list[ScalarFunction]:
    """Returns all rows, in the order of their declaration."""
    return list(_table.values())
