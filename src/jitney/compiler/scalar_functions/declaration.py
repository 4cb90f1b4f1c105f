"""The table of scalar functions: `ScalarFunction`, a row, and access to the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeAlias

import numpy as np

from jitney.core.declarations import Table
from jitney.core.record import record

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
"""Bound of what is rounded correctly, or not at all: the bits are those of the reference."""


# --- operands and results -----------------------------------------------------------------------


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of the parts of complex `dtype`."""
    return _REAL_OF[dtype]


def alike(dtypes: Dtypes) -> bool:
    """All operands have one dtype."""
    return all(dtype == dtypes[0] for dtype in dtypes)


def complex_operands(dtypes: Dtypes) -> bool:
    """All operands have one dtype, a complex one."""
    return alike(dtypes) and dtypes[0].kind == "c"


def parts_of_complex(dtypes: Dtypes) -> bool:
    """The operands can be parts of complex numbers."""
    return alike(dtypes) and dtypes[0] in _COMPLEX_OF


def predicate_and_choices(dtypes: Dtypes) -> bool:
    """Returns a boolean, and operands of one dtype."""
    return dtypes[0] == BOOL and alike(dtypes[1:])


def same(dtypes: Dtypes) -> np.dtype[Any]:
    """Returns the dtype of the last operand: of all, a predicate aside."""
    return dtypes[-1]


def boolean(dtypes: Dtypes) -> np.dtype[Any]:
    """The function is a predicate."""
    return BOOL


def real(dtypes: Dtypes) -> np.dtype[Any]:
    """Returns the dtype of the parts of complex operands; that of others."""
    return _REAL_OF.get(dtypes[0], dtypes[0])


def complex_of(dtypes: Dtypes) -> np.dtype[Any]:
    """Returns the dtype of complex numbers with such parts."""
    return _COMPLEX_OF[dtypes[0]]


# --- the table ----------------------------------------------------------------------------------


@record(frozen=True)
class ComplexFunction:
    """A function of complex numbers that is computed by parts.

    Attributes:
      fn: its name, that of the row with its reference.
      cost: of all parts of the result together, in additions.
      code: "module.name" in `compiler.scalar`: a function of pairs of f64.
      narrow_code: a shorter one, for pairs that have been f32; `code` if None.
      operands: how many complex numbers it takes.
      parts: names of the rows for the parts of the result; one if that is real.
    """

    fn: str
    cost: int
    code: str
    narrow_code: str | None
    operands: int
    parts: tuple[str, ...]


@record(frozen=True)
class Part:
    """What a row of the table computes: a part of a complex function.

    Attributes:
      of: the complex function; twice as many real numbers are given as it takes complex ones.
      which: 0 for the real part of the result, or a real result, 1 for the imaginary part.
    """

    of: ComplexFunction
    which: int


@record(frozen=True, eq=False)
class ScalarFunction:
    """A row of the table: all that the compiler knows of one function of numbers.

    Attributes:
      name: as JAX's primitive has it, if there is one.
      reference: its meaning, on ndarrays of equal shapes; those of casts take the new dtype, too.
      operands: how many it takes.
      accepts: whether it is defined for operands of such dtypes.
      result: dtype of the result; None for casts, whose result is given where they are applied.
      cost: of computing it in registers, in additions (see `compiler/cost.py`).
      ulp: bounds of the error in f32 and f64, in units in the last place, measured by
        `tests/accuracy`; None where none is stated, as for functions that SciPy computes.
      code: where the code that computes it is written, as "module.name" in `compiler.scalar`: a
        function of f32 and f64, or a `Code`. None if it has none: then compiled programs call the
        reference, or take it apart before (`real`, `complex`).
      half: how 16-bit floats come about, computed in f32. "closed": results need no rounding, as they
        are numbers of the format; "basic": rounded results of processors, with no NaN but an
        operand's or the processor's own; "rounded": any others; "own": not by way of f32 at all, or
        not as in f32.
      part: for a part of a complex function, which one.
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
        """Whether compiled code gives the bits of the reference."""
        return self.ulp == EXACT

    def ulp_bound(self, dtype: np.dtype[Any]) -> float:
        """Returns how many units in the last place a result may be off; 0.5 is correctly rounded.

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


# Enters a row, given by the fields of `ScalarFunction`.
declare = _entering(ScalarFunction)


def lookup(name: str) -> ScalarFunction:
    """Returns the row of `name`. Raises KeyError if there is no such function."""
    return _table[name]


def find(name: str) -> ScalarFunction | None:
    """Returns the row of `name`; None if there is no such function."""
    return _table.get(name)


def rows() -> list[ScalarFunction]:
    """All rows, in the order of their declaration."""
    return list(_table.values())
