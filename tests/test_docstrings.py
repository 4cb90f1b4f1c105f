"""Docstrings of public functions against what they are made of."""

import numpy as np
import pytest

import jitney
from jitney.compiler.scalar_functions import rows

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
BOUNDS = {
    row.name: (row.ulp_bound(F32), row.ulp_bound(F64))
    for row in rows()
    if row.ulp is not None and not row.is_exact
}
MODULES = (jitney.numpy, jitney.lax, jitney.scipy.special, jitney.nn)
# Public functions that one scalar function of another name computes.
OTHER_NAMES = {
    "power": "pow", "arctan2": "atan2", "erfinv": "erf_inv", "gammaln": "lgamma",
    "i0e": "bessel_i0e", "i1e": "bessel_i1e", "expit": "logistic", "sigmoid": "logistic",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh",
}  # fmt: skip
# Made of several functions, with a bound where their terms do not cancel.
COMPOSED = {"logaddexp"}
FUNCTIONS = [
    (module, name)
    for module in MODULES
    for name in sorted({*BOUNDS, *OTHER_NAMES})
    if hasattr(module, name) and name not in COMPOSED
]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", x))
def test_error_bounds_of_math_functions(module, name):
    """Those of `compiler.scalar_functions`, which are measured, stand where users read."""
    f32, f64 = BOUNDS[OTHER_NAMES.get(name, name)]
    said = f"within {f32:g} ulp" + (f" in float32, {f64:g} in float64" if f64 != f32 else "")
    docstring = getattr(module, name).__doc__
    assert f"Accuracy: {said}." in docstring
