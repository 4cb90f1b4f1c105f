"""Operands of every dtype, and calls with our `lax`, compared with what real jax answers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from tests.helpers.oracle import Raised, of_jax

from jitney import lax

FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int8, np.int32, np.uint8, np.uint32]
DTYPES = [np.bool_, *FLOATS, ml_dtypes.float8_e4m3fn, *INTEGERS, np.complex64]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0]
TOLERANCE = {4: 1e-5, 8: 1e-5, 2: 2e-2, 1: 0.3}


def sample(dtype: type, shape: tuple[int, ...], special: bool = False) -> np.ndarray:
    rng = np.random.default_rng(len(shape) + 3 * special)
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    x = rng.normal(size=shape)
    if special:
        x = np.where(rng.random(shape) < 0.4, rng.choice(SPECIAL, shape), x)
    if kind.kind != "c":
        return x.astype(dtype)
    out = np.empty(shape, dtype)
    out.real, out.imag = x, rng.normal(size=shape)
    return out


def outcome(fun, module, *args):
    """The leaves of fun(module, *args), or the exception it raises."""
    try:
        out = fun(module, *args)
    except Exception as error:
        return error
    return list(out) if isinstance(out, tuple | list) else [out]


def check(fun, *args, exact: bool = True) -> None:
    """`fun` of either `lax` gives the same on `args`: values, or the type of the error."""
    found, wanted = outcome(fun, lax, *args), of_jax(lambda j: outcome(fun, j.lax, *args))
    if isinstance(wanted, Raised):
        assert type(found).__name__ == wanted.name, (found, wanted)
        return
    assert not isinstance(found, Exception), found
    for x, y in zip(found, wanted, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        a, b = np.asarray(x), np.asarray(y)
        wide = np.complex64 if a.dtype.kind == "c" else np.float64
        tolerance = 0 if exact or a.dtype.kind in "biu" else TOLERANCE[a.dtype.itemsize]
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance)
