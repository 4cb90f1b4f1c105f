"""Operators of arrays outside of any trace, of which native code does the common ones."""

import importlib
import operator

import numpy as np
import pytest
from tests.helpers.both import check_claim, in_both, of_both

import jitney
import jitney.numpy as ours

OPERATORS = [operator.add, operator.sub, operator.mul]
DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "bfloat16", "float32"]
NUMBERS = [
    0, 1, -1, 300, -(2**31), 2**31 - 1, True, 0.0, -0.0, 1.5, 1e300, float("inf"), float("nan"), 2j,
]  # fmt: skip


def contents(x):
    """(dtype, weakness, shape, bytes) of an array."""
    return str(x.dtype), x.weak_type, x.shape, np.asarray(x).tobytes()


def outcome(use):
    """The contents of a result, or the kind of error."""
    try:
        return contents(use())
    except (OverflowError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPERATORS)
def test_arrays_and_numbers(op, dtype):
    """The Python number takes the array's type, whether native code does it or a program."""
    uses = [lambda x, n=n: op(x, n) for n in NUMBERS] + [lambda x, n=n: op(n, x) for n in NUMBERS]
    for shape in ((3,), (), (0,), (2, 2)):
        x = np.arange(np.prod(shape)).reshape(shape).astype(ours.ones(1, dtype).dtype)
        a = ours.asarray(x)
        found = [outcome(lambda use=use, a=a: use(a)) for use in uses]
        right = [use for use, one in zip(uses, found, strict=True) if isinstance(one, tuple)]
        compiled = iter(jitney.jit(lambda a, right=right: [use(a) for use in right])(a))
        for use, one in zip(uses, found, strict=True):
            if not isinstance(one, tuple):
                with pytest.raises(one):
                    jitney.jit(use)(a)
                continue
            other = next(compiled)
            has_nan = "nan" in str(np.asarray(other))  # whose bits are any
            assert one[:3] == contents(other)[:3], (op, dtype, shape)
            assert has_nan or one == contents(other), (op, dtype, shape)


@pytest.mark.parametrize("op", OPERATORS)
def test_as_jax(op):
    x = np.array([0, 1, 250], np.uint8)
    for number in (1, -1, 300, 1.5):
        got, want = of_both(lambda j, n=number: op(j.numpy.asarray(x), n))
        assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)
        np.testing.assert_array_equal(got, want)

    def claim(j):
        for number in (2**31, -(2**31) - 1):
            with pytest.raises(OverflowError):
                op(j.numpy.arange(3), number)
            with pytest.raises(OverflowError):
                op(number, j.numpy.arange(3))

    check_claim(claim)


def test_weak_types_stay():
    x = ours.asarray(2.0)
    assert x.weak_type and (x + 1).weak_type and (3.5 - x).weak_type
    assert not (ours.float32(2) * 2).weak_type


def test_results_are_read_only():
    for x in (ours.arange(3) + 1, 2.0 * ours.ones(3)):
        assert not np.asarray(x).flags.writeable


@in_both
def test_nan_is_an_error_where_that_is_asked_for(name):
    package = importlib.import_module(name)
    x = package.numpy.array([np.inf, 1.0])
    zero, big = package.numpy.zeros(2), package.numpy.array([3e38, 0.0])
    with package.debug_nans(True):
        for use in (lambda: x - x, lambda: x * 0.0, lambda: 0.0 * x, lambda: x * zero):
            with pytest.raises(FloatingPointError):
                use()
    assert np.isnan(np.asarray(x - x)[0])
    with package.debug_infs(True), pytest.raises(FloatingPointError):
        big + big
