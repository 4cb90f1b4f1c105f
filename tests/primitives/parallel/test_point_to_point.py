"""What is sent is received along the same pairs, and nothing else is."""

import numpy as np
import pytest

import jitney
from jitney.primitives.parallel.point_to_point import precv, psend

X = np.arange(6, dtype=np.float32).reshape(3, 2) + 1
PAIRS = [(0, 1), (1, 2)]


def exchange(x, out=None, received=PAIRS):
    return precv(psend(x, "i", PAIRS), x if out is None else out, "i", received)


def test_values_arrive():
    for of in (lambda f: f, jitney.jit):
        got = of(jitney.vmap(exchange, axis_name="i"))(X)
        np.testing.assert_array_equal(got, [[0, 0], X[0], X[1]])


def test_a_value_must_have_been_sent():
    for options, match in [
        ({"received": [(1, 0)]}, "there is no matching psend"),
        ({"out": np.zeros(3, np.float32)}, r"must receive float32\[3\], but the value"),
        ({"received": [(0, 1), (0, 2)]}, "must be unique and within the axis of size 3"),
    ]:
        with pytest.raises(ValueError, match=match):
            jitney.vmap(lambda x, o=options: exchange(x, **o), axis_name="i")(X)


def test_both_halves_stay_in_the_program():
    def send_only(x):
        psend(x, "i", PAIRS)
        return x

    text = str(jitney.make_jaxpr(send_only, axis_env=[("i", 3)])(X[0]))
    assert "psend[" in text
