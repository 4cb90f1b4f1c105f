"""The table of scalar functions: every row is whole, and says of its function what holds."""

import pkgutil
from importlib import import_module

import ml_dtypes
import numpy as np
import pytest
from tests.accuracy.harness import samples
from tests.accuracy.reference import REFERENCES

from jitney.compiler import scalar
from jitney.compiler.scalar import table
from jitney.compiler.scalar.code import Code, named
from jitney.compiler.scalar.support import supports
from jitney.compiler.scalar_functions import find, lookup, rows
from jitney.compiler.scalar_functions.complex_functions import COMPLEX_FUNCTIONS

ROWS = [row for row in rows() if row.result is not None]
SINGLE = np.dtype(np.float32)
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
DTYPES = [
    np.dtype(bool), *[np.dtype(f"{s}int{b}") for s in ("", "u") for b in (8, 16, 32, 64)], *HALVES,
    SINGLE, np.dtype(np.float64),
]  # fmt: skip


def operands(row, dtype):
    """Dtypes of its operands: `dtype`, a predicate aside."""
    return [np.dtype(bool), dtype, dtype] if row.name == "select" else [dtype] * row.operands


def is_served(row, dtype):
    """Whether kernels compute `row` of `dtype`."""
    if row.name.startswith("round_to_") and dtype != SINGLE:
        return False  # kernels ask for no others
    if row.part is not None and dtype not in (SINGLE, np.float64):
        return False
    given = operands(row, dtype)
    return row.accepts(given) and supports(row.name, given, row.result(given))


def test_code_is_there_for_every_row_that_names_it():
    for row in rows():
        code = table.code_of(row.name)
        assert (code is None) == (row.code is None), row.name


def test_every_code_belongs_to_a_row():
    wanted = {row.code for row in rows()} | {f.narrow_code for f in COMPLEX_FUNCTIONS.values()}
    for module in pkgutil.iter_modules(scalar.__path__):
        found = import_module(f"{scalar.__name__}.{module.name}")
        for name, value in vars(found).items():
            if isinstance(value, Code):
                assert f"{module.name}.{name}" in wanted
    whole = [row.code for row in rows() if row.code and row.part is None]
    assert len(whole) == len(set(whole))
    for function in COMPLEX_FUNCTIONS.values():
        assert callable(named(function.narrow_code or function.code))


def test_code_serves_some_dtype():
    for row in ROWS:
        assert any(is_served(row, d) for d in DTYPES) == (row.code is not None), row.name


def test_bounds_are_those_that_are_measured():
    measured = {row.name for row in rows() if row.ulp is not None and not row.is_exact}
    assert measured <= set(REFERENCES)
    assert all(lookup(name).is_exact for name in set(REFERENCES) - measured)
    for name in measured:
        assert lookup(name).operands == REFERENCES[name][1]


def test_what_has_no_code_has_no_bound():
    assert all(row.ulp is None for row in rows() if row.code is None)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_result_dtypes_are_those_of_the_references(dtype):
    tried = 0
    for row in ROWS:
        if is_served(row, dtype):
            given = operands(row, dtype)
            xs = [np.ones(3, d) for d in given]
            assert np.asarray(row.reference(*xs)).dtype == row.result(given), row.name
            tried += 1
    assert tried > 10


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_result_dtypes_of_complex_functions(dtype):
    dtype = np.dtype(dtype)
    for name in ("real", "imag", "conj", "neg", *COMPLEX_FUNCTIONS):
        row = lookup(name)
        xs = [np.full(3, 0.5, dtype)] * row.operands
        assert row.accepts([dtype] * row.operands)
        assert row.reference(*xs).dtype == row.result([dtype] * row.operands), name


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_closed_functions_of_16_bits_need_no_rounding(dtype):
    closed = [row for row in ROWS if row.half == "closed"]
    assert len(closed) > 8
    for row in closed:
        xs = [samples(np.dtype(np.float32), 4000, k).astype(dtype) for k in range(row.operands)]
        wide = [x.astype(np.float32) for x in xs]
        if row.name == "select":
            wide[0] = wide[0] > 0
        result = np.asarray(row.reference(*wide))
        np.testing.assert_array_equal(result.astype(dtype).astype(np.float32), result)


def test_reference_of_parts():
    z, w = np.array([1 + 2j, -3j]), np.array([2 - 1j, 4 + 0j])
    parts = [z.real, z.imag, w.real, w.imag]
    quotient = lookup("cdiv_re").reference(*parts) + 1j * lookup("cdiv_im").reference(*parts)
    np.testing.assert_array_equal(quotient, z / w)
    np.testing.assert_array_equal(lookup("cabs").reference(z.real, z.imag), np.abs(z))


def test_unknown_functions():
    assert find("no such function") is None
    with pytest.raises(KeyError):
        lookup("no such function")
