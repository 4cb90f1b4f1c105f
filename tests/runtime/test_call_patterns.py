"""Patterns of arguments tell operands from options, and arguments can be rebuilt from them."""

import enum

import ml_dtypes
import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.runtime.execution import call_patterns
from jitney.runtime.execution.call_patterns import NoPatternError, Reader

Mode = enum.Enum("Mode", "A B")
ARGS = (
    jnp.arange(3), [1.5, None, (np.float32(2), "same")], {"k": np.ones(2), "n": 3}, Mode.A, True, -0.0,
)  # fmt: skip


def read(*args, function=len, exact=False, **kwargs):
    reader = Reader(function)
    reader.numbers_are_exact = exact
    return reader.read(args, kwargs)


def shown(x):
    return [repr(part) for part in (x.values() if isinstance(x, dict) else x)]


@pytest.mark.parametrize("exact", [False, True])
def test_arguments_are_rebuilt_from_pattern_and_operands(exact):
    leaves, patterns, names = read(*ARGS, exact=exact)
    assert names == () and len(leaves) == (3 if exact else 5)
    remaining = iter(leaves)
    rebuilt = [call_patterns.filled(pattern, remaining) for pattern in patterns]
    assert shown(rebuilt) == shown(ARGS) and next(remaining, None) is None
    found = call_patterns.leaves_of(patterns, names, ARGS, {})
    assert all([a is b for a, b in zip(found, leaves, strict=True)])


def test_values_are_part_of_patterns_only_where_they_have_to_be():
    assert read(2.0)[1] == read(3.0)[1] != read(np.float32(3))[1]
    assert read(2)[1] != read(3)[1]
    assert read(0.0, exact=True)[1] != read(-0.0, exact=True)[1]
    assert read("a")[1] != read("b")[1] and read(True)[1] != read(1)[1]
    assert read([1.0])[1] != read((1.0,))[1]
    assert read(np.ones(2))[1] == read(np.zeros(2))[1] != read(np.ones(3))[1]
    assert read(b=1.0, a=2.0)[2] == ("a", "b")


def test_functions_say_which_numbers_are_static():
    def f(x, axis, *, n):
        pass

    f.static_arguments = ((1,), ("n",))
    leaves, patterns, _ = read(5, 0, n=2, function=f)
    assert leaves == [5] and patterns == read(6, 0, n=2, function=f)[1]
    assert patterns != read(5, 1, n=2, function=f)[1] and patterns != read(5, 0, n=3, function=f)[1]


def test_patterns_without_numbers():
    def without(*args, **options):
        return [call_patterns.without_numbers(p) for p in read(*args, **options)[1]]

    assert without([1, (2.0,)], {"k": 3}, exact=True) == without([4, (5.0,)], {"k": 6}, exact=True)
    assert without("a") != without("b") and without(True) != without(False)
    reader = Reader(len)
    assert reader.has_numbers(read([(2.0,)])[1]) and not reader.has_numbers(read(["a"], 2)[1])
    reader.numbers_are_exact = True
    assert not reader.has_numbers(read(2.0)[1])


@pytest.mark.parametrize(
    "x",
    [object(), np.array(["text"]), np.array([None]), [0.5] * 65, {1: 2}, {1, 2}, [[0.5] * 40] * 2],
)
def test_arguments_without_a_pattern(x):
    with pytest.raises(NoPatternError):
        read(x)


def test_operands_that_are_converted_have_another_pattern():
    assert len(read(np.ones(2))[1][0]) > len(read(np.ones(2, np.float32))[1][0])
    assert read(ml_dtypes.bfloat16(1))[0] == [1]
    deleted = jnp.arange(2)
    deleted.delete()
    with pytest.raises(NoPatternError):
        read(deleted)
