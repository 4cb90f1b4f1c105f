"""Nodes that treat elements alike are built for shards, without communication."""

import numpy as np
import pytest
from tests.compiler.hlo.partition.divided import WHOLE, X, Y, divided, sends

RNG = np.random.default_rng(0)
M = RNG.integers(-9, 10, (8, 6)).astype(np.float32)
MESH = {"x": 4, "y": 2}


@pytest.mark.parametrize(
    ("line", "spec", "out"),
    [
        ("%1 = sin p0 : float32[8,6]", (X, Y), (X, Y)),
        ("%1 = transpose p0 perm=(1,0) : float32[6,8]", (X, Y), (Y, X)),
        ("%1 = reshape p0 : float32[4,2,6]", (X, Y), (X, WHOLE, Y)),
        ("%1 = broadcast p0 dims=(0,2) : float32[8,3,6]", (X, Y), (X, WHOLE, Y)),
        ("%1 = bitcast p0 : int32[8,6]", (X, Y), (X, Y)),
        ("%1 = reduce p0 fn=add dims=(1,) : float32[8]", (X, WHOLE), (X,)),
        ("%1 = sort p0 dim=1 num_keys=1 stable=True : (float32[8,6])\n"
         "%2 = project %1 index=0 : float32[8,6]", (X, WHOLE), (X, WHOLE)),
        ("%1 = dot p0, p0 contract=((1,),(1,)) batch=((0,),(0,)) : float32[8]", (X, WHOLE), (X,)),
        ("%1 = iota dim=0 : float32[8,6]\n%2 = mul %1, p0 : float32[8,6]", (X, Y), (X, Y)),
    ],
)  # fmt: skip
def test_shards_stay_where_they_are(line, spec, out):
    program = divided(line, [spec], MESH, [M])
    assert sends(program) == [] and program.out_specs == (out,)


def test_sums_over_a_sharded_axis_are_partial():
    program = divided("%1 = reduce p0 fn=add dims=(0,) : float32[6]", [(X, Y)], MESH, [M])
    assert sends(program) == ["all_reduce"]
    line = "%1 = dot p0, p0 contract=((0,),(0,)) batch=((),()) : float32[6,6]"
    assert sends(divided(line, [(X, WHOLE)], MESH, [np.tile(M, (20, 1))])) == ["all_reduce"]


def test_axes_that_a_node_mixes_are_replicated():
    line = (
        "%1 = top_k p0 k=2 dim=1 : (float32[8,2], int32[8,2])\n%2 = project %1 index=1 : int32[8,2]"
    )
    assert sends(divided(line, [(WHOLE, Y)], MESH, [M]))[0] == "all_to_all"
    assert sends(divided(line, [(X, WHOLE)], MESH, [M])) == []
