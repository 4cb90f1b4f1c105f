"""Each operation on each dtype: eager as JAX, compiled as eager (see `records.record`)."""

import warnings

import numpy as np
import pytest
from ml_dtypes import finfo
from tests.helpers.oracle import answer, jax
from tests.primitives.records import all_records
from tests.primitives.records.record import COMPLEX, FLOATS, bound

import jitney
import jitney.lax

NARROW = {np.dtype(d) for d in (np.float32, np.int32, np.complex64)}


def leaves(out):
    return list(out) if isinstance(out, (tuple, list)) else [out]


def type_of(x):
    return (np.dtype(x.dtype), tuple(x.shape), bool(getattr(x, "aval", x).weak_type))


def exact_values(record, operands):
    """What the record's reference says of `operands`, in NumPy's widest format; or None."""
    if record.reference is None:
        return None
    wide = [
        np.asarray(x).astype(np.clongdouble if np.asarray(x).dtype.kind == "c" else np.longdouble)
        for x in operands
    ]
    return record.reference(*wide)


def differences(got, want, ulp, signed_zeros, floor, exact):
    """Mask of elements of `got` that are not what `want` allows.

    Errors are counted against `exact`, where it is given and finite, and in units of numbers of the
    size `floor` where results are smaller than that.
    """
    dtype = want.dtype
    if dtype in COMPLEX:
        # A part may be lost in the rounding of the other one: errors are relative to the modulus.
        bad = np.isnan(got) != np.isnan(want)
        finite = np.isfinite(want) & np.isfinite(got)
        bad |= np.isinf(want) != np.isinf(got)
        wide = np.clongdouble
        eps = np.finfo(dtype).eps
        w = want.astype(wide)
        if exact is not None:
            w = np.where(np.isfinite(exact), exact, w)
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(w), floor)
            close = np.abs(got.astype(wide) - w) <= ulp * eps * size + np.finfo(dtype).tiny
        return bad | (finite & ~close)
    if dtype not in FLOATS:
        return got != want
    wide = np.longdouble if dtype.itemsize == 8 else np.float64
    g, w = got.astype(wide), want.astype(wide)
    both_nan = np.isnan(g) & np.isnan(w)
    both_zero = (g == 0) & (w == 0)
    same_sign = np.signbit(g) == np.signbit(w)
    info = finfo(dtype)
    tiny = wide(info.tiny)
    if exact is not None:
        w = np.where(np.isfinite(exact) & np.isfinite(w), exact, w).astype(wide)
    with np.errstate(all="ignore"):
        magnitude = np.maximum(np.minimum(np.abs(w), wide(info.max)), max(tiny, floor))
        spacing = np.exp2(np.floor(np.log2(magnitude))) * wide(info.eps)
        close = np.abs(g - w) <= ulp * spacing
        # JAX's processor code takes subnormal numbers for zero, NumPy does not.
        close |= (np.abs(g) <= tiny) & (np.abs(w) <= tiny)
        # Overflow begins within the bound.
        near = wide(info.max) * (1 - ulp * wide(info.eps))
        close |= (np.sign(g) == np.sign(w)) & (np.abs(g) >= near) & (np.abs(w) >= near) & (ulp > 0)
    ok = both_nan | (g == w) | close
    if signed_zeros:
        ok &= ~both_zero | same_sign
    return ~ok


def check(got, want, operands, record, ulp, what, exact=None):
    """Raises AssertionError that shows the first elements in which results differ."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    bad = differences(got, want, ulp, record.signed_zeros, record.floor, exact)
    if record.avoid is not None:
        bad &= ~np.broadcast_to(record.avoid(want.dtype, *operands), bad.shape)
    if not bad.any():
        return
    where = np.argwhere(np.atleast_1d(bad))
    shown = []
    for at in where[:6]:
        at = tuple(at) if bad.ndim else ()
        values = [
            np.asarray(x)[at] if np.shape(x) == bad.shape else np.shape(x) or x for x in operands
        ]
        shown.append(f"{values} -> {got[at]!r}, not {want[at]!r}")
    raise AssertionError(f"{what}: {len(where)} of {bad.size}: " + "; ".join(shown))


def is_static(x):
    """True for Python scalars: they are constants of the program, not its operands."""
    return isinstance(x, (bool, int, float, complex))


def join(case, arrays):
    """`case` with its arrays replaced."""
    arrays = iter(arrays)
    return [x if is_static(x) else next(arrays) for x in case]


def program(function, cases, lax):
    """The function of arrays that returns the leaves of `function(lax, *case)` for each case."""
    return lambda arrays: [
        leaves(function(lax, *join(case, some))) for case, some in zip(cases, arrays, strict=True)
    ]


def results_of_jax(function, cases, arrays, x64):
    """What JAX makes of all cases: arrays if `x64`, else their types."""

    def results():
        with jax.enable_x64(x64):
            compiled = jax.jit(program(function, cases, jax.lax))
            if x64:
                return compiled(arrays)
            out = compiled.eval_shape(arrays)
            return [[(np.dtype(x.dtype), x.shape, x.weak_type) for x in xs] for xs in out]

    return answer(results)


def compare(record, dtype, x64):
    """Compares results with JAX's, or their types only if not `x64`: there are no other values then."""
    cases = list(record.cases(dtype))
    if x64 and dtype.itemsize == 4:  # Python scalars have 64 bits now
        cases = [c for c in cases if not any(is_static(x) for x in c)]
    if not x64:
        cases = [c for c in cases if not any(getattr(x, "dtype", dtype).itemsize == 8 for x in c)
                 or dtype in COMPLEX]  # fmt: skip

    arrays = [[x for x in case if not is_static(x)] for case in cases]

    wanted = results_of_jax(record.fn, cases, arrays, x64)
    with (
        jitney.enable_x64(x64),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        compiled = jitney.jit(program(record.fn, cases, jitney.lax))(arrays)
        problems = []
        for i, (case, want, fast) in enumerate(zip(cases, wanted, compiled, strict=True)):
            try:
                eager = leaves(record.fn(jitney.lax, *case))
                for what, found in (("eager", eager), ("compiled", fast)):
                    types = [type_of(x) for x in found]
                    assert types == ([type_of(x) for x in want] if x64 else want), f"{what} types"
                exact = exact_values(record, case)
                for j, (e, f, w) in enumerate(zip(eager, fast, want, strict=True)):
                    near, jit_near = [
                        bound(u, np.dtype(f.dtype)) for u in (record.ulp, record.jit_ulp)
                    ]
                    check(f, e, case, record, jit_near, f"compiled, result {j}")
                    if x64:
                        check(e, w, case, record, near, f"eager, result {j}", exact)
            except Exception as e:
                shapes = [getattr(x, "shape", x) for x in case]
                problems.append(f"case {i} {shapes}: {type(e).__name__}: {e}")
    assert not problems, "\n".join(problems[:4])


CASES = [
    pytest.param(record, dtype, id=f"{family}-{record.name}-{dtype}")
    for family, record in all_records()
    for dtype in record.dtypes
]


@pytest.mark.parametrize(("record", "dtype"), CASES)
def test_wide(record, dtype):
    """With 64-bit types."""
    compare(record, dtype, True)


@pytest.mark.parametrize(("record", "dtype"), [c for c in CASES if c.values[1] in NARROW])
def test_narrow(record, dtype):
    """As configured by default: types, weak ones too."""
    compare(record, dtype, False)
