"""Reasons for a trace name what differs from the nearest earlier call, and nothing else."""

import logging

import numpy as np

import jitney as jax
from jitney.api.jit import cache_misses
from jitney.api.jit.jit_call import make_call


def f(x, n):
    return x


CALL = make_call(f, static_argnums=1)


def key(x, n=2):
    return CALL.key((x, n), {})


def lines(key, other, names=("x",)):
    return list(cache_misses.reasons(key, other, names, str))


def test_equal_calls_differ_in_nothing():
    assert lines(key(1.0), key(2.0)) == []


def test_static_arguments_types_and_weak_types():
    a, b = key(np.ones(3, np.float32)), key(np.ones(4, np.float32))
    assert lines(a, b) == ["different input types:", "  at x, now f32[3] and before f32[4]"]
    assert lines(key(1.0, 2), key(1.0, 3)) == ["different static arguments: now 1=2 and before 1=3"]
    weak = lines(key(1.0), key(np.float32(1)))
    assert weak[1].startswith("  at x, now f32[]{weak_type=True} and before f32[]{weak_type=False}")
    assert "Python scalar" in weak[2] and len(weak) == 3


def test_structures_are_compared_instead_of_types():
    changed = lines(key({"a": 1.0}), key({"b": 1.0}))
    assert changed[0] == "different input pytree:" and "args[0]" in changed[1]
    assert not any("types" in line for line in changed)


def test_settings():
    with jax.default_matmul_precision("float32"):
        other = key(1.0)
    (heading, line) = lines(other, key(1.0))
    assert heading == "different tracing context:"
    assert "jax_default_matmul_precision, now float32 and before None" in line


def test_the_nearest_call_has_most_in_common_and_is_the_latest_of_several():
    x, y = np.ones(3, np.float32), np.ones(4, np.float32)
    wanted, other_type, other_n, both = key(x, 2), key(y, 2), key(x, 3), key(y, 3)
    assert cache_misses.nearest(wanted, [other_type, both]) is other_type
    assert cache_misses.nearest(wanted, [other_type, other_n]) is other_n
    assert cache_misses.nearest(wanted, [both]) is both


def test_new_functions_with_known_code_are_recognized(caplog):
    def made():
        return lambda x: x

    with caplog.at_level(logging.WARNING):
        first, second = made(), made()
        for function in (first, second):
            cache_misses.explain(function, key(1.0), [], ["x"], str)
    texts = [record.getMessage() for record in caplog.records]
    assert ["same code" in text for text in texts] == [False, True]
    assert all("never seen function" in text for text in texts)
