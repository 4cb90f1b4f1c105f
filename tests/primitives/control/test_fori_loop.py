"""Counted loops: known bounds give a scan, others a while loop with the same results."""

import numpy as np
import pytest

import jitney
from jitney.primitives.control.fori_loop import fori_loop


def horner(i, x):
    return 3 * x + i


@pytest.mark.parametrize(("lower", "upper"), [(0, 4), (2, 5), (3, 3), (5, 2), (-3, 1)])
def test_results(lower, upper):
    want = 1
    for i in range(lower, upper):
        want = horner(i, want)
    assert fori_loop(lower, upper, horner, 1) == want
    assert jitney.jit(lambda n, m: fori_loop(n, m, horner, 1))(lower, upper) == want


def test_known_bounds_give_a_scan():
    known = str(jitney.make_jaxpr(lambda x: fori_loop(0, 4, horner, x))(1))
    unknown = str(jitney.make_jaxpr(lambda n: fori_loop(0, n, horner, 1))(4))
    assert "scan[" in known and "while[" not in known
    assert "while[" in unknown and "scan[" not in unknown


def test_a_weakly_typed_bound_adopts_the_dtype_of_the_other():
    for lower, upper in [(0, np.int8(3)), (np.int8(0), 3), (np.int8(0), np.int8(2))]:
        index = []
        jitney.eval_shape(
            lambda n, m, index=index: fori_loop(n, m, lambda i, _: index.append(i.dtype), None),
            lower,
            upper,
        )
        assert index[0] == np.int8
    with pytest.raises(TypeError, match="must have the same dtype, but are int16 and int8"):
        fori_loop(np.int16(0), np.int8(3), horner, 1)


def test_what_is_refused():
    with pytest.raises(TypeError, match="`body_fun` must be a function, but is 3"):
        fori_loop(0, 3, 3, 1)
    with pytest.raises(
        ValueError, match="`unroll` requires that the number of iterations is known"
    ):
        jitney.jit(lambda n: fori_loop(0, n, horner, 1, unroll=2))(3)
