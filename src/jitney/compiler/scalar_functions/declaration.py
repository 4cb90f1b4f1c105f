"""The table of scalar functions: its rows, `ScalarFunction`, and access to them."""

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
"""The error bound of correctly rounded or exact functions, bit-identical to the reference."""


# --- operands and results -----------------------------------------------------------------------


def real_dtype(dtype: np.dtype[Any]) -> np.dtype:
    """Returns the dtype of the components of complex `dtype`."""
    return _REAL_OF[dtype]


def alike(dtypes: Dtypes) -> bool:
    """Returns whether all operands have one dtype."""
    return all(dtype == dtypes[0] for dtype in dtypes)


def complex_operands(dtypes: Dtypes) -> bool:
    """Returns whether all operands have one complex dtype."""
    return alike(dtypes) and dtypes[0].kind == "c"


def parts_of_complex(dtypes: Dtypes) -> bool:
    """Returns whether the operands can be components of complex numbers."""
    return alike(dtypes) and dtypes[0] in _COMPLEX_OF


def predicate_and_choices(dtypes: Dtypes) -> bool:
    """Returns whether the operands are a boolean and values of one dtype."""
    return dtypes[0] == BOOL and alike(dtypes[1:])


def same(dtypes: Dtypes) -> np.dtype:
    """Returns the dtype of the last operand, which is that of all but a leading predicate."""
    return dtypes[-1]


def boolean(dtypes: Dtypes) -> np.dtype:
    """Returns the dtype of predicates."""
    return BOOL


def real(dtypes: Dtypes) -> np.dtype:
    """Returns the dtype of the components of complex operands; of real ones, their own."""
    return _REAL_OF.get(dtypes[0], dtypes[0])


def complex_of(dtypes: Dtypes) -> np.dtype:
    """Returns the dtype of complex numbers with components of these dtypes."""
    return _COMPLEX_OF[dtypes[0]]


# --- the table ----------------------------------------------------------------------------------


@record(frozen=True)
class ComplexFunction:
    """A function of complex numbers that is computed by components.

    Attributes:
      fn: its name, that of the row with its reference.
      cost: of all components of the result together, in additions.
      code: "module.name" in `compiler.scalar`: a function of pairs of f64.
      narrow_code: a shorter one, for pairs that were f32; `code` if None.
      operands: the number of complex operands.
      parts: names of the rows for the components of the result; one if that is real.
    """

    fn: str
    cost: int
    code: str
    narrow_code: str | None
    operands: int
    parts: tuple[str, ...]


@record(frozen=True)
class Part:
    """A component of a complex function, which a row of the table computes.

    Attributes:
      of: the complex function; the row has two real operands for each complex one.
      which: 0 for the real part of the result, or a real result, 1 for the imaginary part.
    """

    of: ComplexFunction
    which: int


@record(frozen=True, eq=False)
class ScalarFunction:
    """A row of the table: all that the compiler knows of one scalar function.

    Attributes:
      name: that of JAX's primitive, if there is one.
      reference: its semantics, on ndarrays of equal shapes; those of casts are passed the new
        dtype, too.
      operands: the number of operands.
      accepts: whether it is defined for operands of such dtypes.
      result: dtype of the result; None for casts, whose result is specified where they are applied.
      cost: the cost of computing it in registers, in additions (see `compiler/cost.py`).
      ulp: bounds of the error in f32 and f64, in units in the last place, measured by
        `tests/accuracy`; None if none is stated, as for functions that SciPy computes.
      code: the code that computes it, as "module.name" in `compiler.scalar`: a function of f32 and
        f64, or a `Code`. None if there is none: then compiled programs call the reference, or
        decompose it beforehand (`real`, `complex`).
      half: how 16-bit results are obtained from f32. "closed": results need no rounding, as they
        are representable; "basic": results are rounded by the processor, with no NaN except an
        operand's or the processor's own; "rounded": all others; "own": not by way of f32 at all, or
        not as in f32.
      part: for a component of a complex function, which one.
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
        """Returns the error bound in units in the last place; 0.5 is correctly rounded.

        A target without fused multiply-add may lose half a unit more.
        """
        assert self.ulp is not None, f"{self.name} has no bound"
        if dtype.itemsize == 2:
            return 0.6  # rounded from f32
        return self.ulp[0] if dtype.itemsize == 4 else self.ulp[1]


_table: Table[ScalarFunction] = Table("scalar function")


def _entering(make: Callable[P, ScalarFunction]) -> Callable[P, None]:
    def declare(*args: P.args, **fields: P.kwargs) -> None:
        row = make(*args, **fields)
        _table.declare(row.name, row)

    return declare


# Declares a row, given by the fields of `ScalarFunction`.
declare = _entering(ScalarFunction)


def lookup(name: str) -> ScalarFunction:
    """Returns the row of `name`. Raises KeyError if there is no such function."""
    return _table[name]


def find(name: str) -> ScalarFunction | None:
    """Returns the row of `name`; None if there is no such function."""
    return _table.get(name)


def rows() -> list[ScalarFunction]:
    """Returns all rows, in the order of their declaration."""
    return list(_table.values())
