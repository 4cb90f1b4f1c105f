"""Running reductions along a sharded axis combine shards with the total of those before."""

import numpy as np
import pytest
from tests.compiler.hlo.partition.divided import WHOLE, X, divided, sends

RNG = np.random.default_rng(0)
MESH = {"x": 4}
NUMBERS = RNG.integers(-9, 10, (8, 50)).astype(np.float32)


@pytest.mark.parametrize("fn", ["add", "max", "min"])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_reductions(fn, reverse):
    line = f"%1 = cumulative p0 fn={fn} dim=0 reverse={reverse} : float32[8,50]"
    program = divided(line, [(X, WHOLE)], MESH, [NUMBERS], outs=[(X, WHOLE)])
    assert sends(program) == ["all_gather"]


def test_products_of_integers_wrap():
    line = "%1 = cumulative p0 fn=mul dim=1 reverse=False : int8[2,8]"
    divided(line, [(WHOLE, X)], MESH, [RNG.integers(-9, 10, (2, 8)).astype(np.int8)])


def test_sums_of_negative_zeros_stay_negative():
    value = np.full((8, 50), -0.0, np.float32)
    line = "%1 = cumulative p0 fn=add dim=0 reverse=False : float32[8,50]"
    divided(line, [(X, WHOLE)], MESH, [value], outs=[(X, WHOLE)])


@pytest.mark.parametrize("kind", ["max", "min"])
def test_the_first_of_equal_extremes_is_found(kind):
    value = RNG.integers(0, 3, (8, 50)).astype(np.float32)
    line = f"%1 = arg_reduce p0 kind={kind} dim=0 : int32[50]"
    divided(line, [(X, WHOLE)], MESH, [value])
    value[5, ::2] = np.nan
    value[7, ::3] = np.nan
    divided(line, [(X, WHOLE)], MESH, [value])


def test_other_axes_are_independent():
    line = "%1 = cumulative p0 fn=add dim=1 reverse=False : float32[8,50]"
    assert sends(divided(line, [(X, WHOLE)], MESH, [NUMBERS])) == []
    line = "%1 = arg_reduce p0 kind=max dim=1 : int32[8]"
    assert sends(divided(line, [(X, WHOLE)], MESH, [NUMBERS])) == []
