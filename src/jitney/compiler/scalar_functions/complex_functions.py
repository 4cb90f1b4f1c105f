"""Complex functions as pairs of real functions: `cexp_re(a, b)` is the real part of exp(a + i b).

The compiler splits complex numbers into components (`hlo/passes/split_complex.py`). Sums and
products become real arithmetic. Functions without such a short form have separate rows in the
table, one for each component of the result.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.scalar_functions.declaration import (
    ComplexFunction,
    Part,
    Reference,
    declare,
    lookup,
)

COMPLEX_FUNCTIONS: dict[str, ComplexFunction] = {}


def _declare_parts(
    fn: str, *, cost: int, code: str, narrow_code: str | None = None, operands: int = 1
) -> None:
    has_real_result = fn == "abs"
    names = (f"c{fn}",) if has_real_result else (f"c{fn}_re", f"c{fn}_im")
    function = ComplexFunction(fn, cost, code, narrow_code, operands, names)
    COMPLEX_FUNCTIONS[fn] = function
    for which, name in enumerate(names):
        part = Part(function, which)
        # The error is relative to the modulus of the result.
        declare(
            name, _reference(part), operands=2 * operands, cost=cost // len(names), ulp=None,
            code=code, part=part,
        )  # fmt: skip


def _reference(part: Part) -> Reference:
    whole, join = lookup(part.of.fn).reference, lookup("complex").reference

    def compute(*xs: np.ndarray) -> np.ndarray:
        numbers = [join(re, im) for re, im in zip(xs[::2], xs[1::2], strict=True)]
        result = np.asarray(whole(*numbers))
        return np.imag(result) if part.which else np.real(result)

    return compute


_declare_parts("sqrt", cost=40, code="complexes.sqrt")
_declare_parts("rsqrt", cost=60, code="complexes.rsqrt")
_declare_parts("exp", cost=80, code="complexes.exp")
_declare_parts("exp2", cost=80, code="complexes.exp2")
_declare_parts("expm1", cost=100, code="complexes.expm1")
_declare_parts("log", cost=70, code="complexes.log")
_declare_parts("log2", cost=72, code="complexes.log2")
_declare_parts("log1p", cost=90, code="complexes.log1p")
_declare_parts("logistic", cost=120, code="complexes.logistic")
_declare_parts("sinh", cost=120, code="complexes.sinh")
_declare_parts("cosh", cost=120, code="complexes.cosh")
_declare_parts("tanh", cost=180, code="complexes.tanh")
_declare_parts("sin", cost=120, code="complexes.sin")
_declare_parts("cos", cost=120, code="complexes.cos")
_declare_parts("tan", cost=180, code="complexes.tan")
for _fn in ("asin", "acos", "atan", "asinh", "acosh", "atanh"):
    _declare_parts(_fn, cost=250, code=f"complex_inverse.{_fn}")
_declare_parts("sign", cost=40, code="complexes.sign")
_declare_parts("div", cost=40, code="complexes.div", narrow_code="complexes.narrow_div", operands=2)
_declare_parts("pow", cost=160, code="complexes.power", operands=2)
_declare_parts("abs", cost=16, code="complexes.absolute", narrow_code="complexes.narrow_absolute")
