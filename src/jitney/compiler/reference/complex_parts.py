"""Complex functions as pairs of real ones: `cexp_re(a, b)` is the real part of exp(a + i b).

The compiler splits complex numbers into their parts (`hlo/passes/split_complex.py`). Sums and products
are then real arithmetic; functions that have no such short form are rows of the scalar table of their
own, one for each part of the result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.compiler.reference import scalar
from jitney.core.record import record

_UNARY = (
    "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log1p", "logistic", "sinh", "cosh", "tanh",
    "sin", "cos", "tan", "sign",
)  # fmt: skip
_BINARY = ("div", "pow")
_REAL = ("abs",)  # functions with a real result


@record(frozen=True)
class Part:
    """What a row of the table computes: a part of `fn` of `operands` complex numbers.

    Attributes:
      fn: the complex function.
      operands: how many complex numbers it takes; twice as many real ones are given.
      which: 0 for the real part of the result, or a real result, 1 for the imaginary part.
    """

    fn: str
    operands: int
    which: int


def names_of(fn: str) -> tuple[str, ...]:
    """The rows that compute the complex function `fn`: two, one if its result is real, or none."""
    if fn in _REAL:
        return (f"c{fn}",)
    return (f"c{fn}_re", f"c{fn}_im") if fn in _UNARY or fn in _BINARY else ()


PARTS: dict[str, Part] = {
    name: Part(fn, 2 if fn in _BINARY else 1, which)
    for fn in (*_UNARY, *_BINARY, *_REAL)
    for which, name in enumerate(names_of(fn))
}


def _reference(part: Part) -> Callable[..., np.ndarray]:
    def compute(*xs: np.ndarray) -> np.ndarray:
        pairs = zip(xs[::2], xs[1::2], strict=True)
        numbers = [scalar.function("complex")(re, im) for re, im in pairs]
        result = np.asarray(scalar.function(part.fn)(*numbers))
        return np.imag(result) if part.which else np.real(result)

    return compute


for _name, _part in PARTS.items():
    scalar.declare(_name, _reference(_part))
