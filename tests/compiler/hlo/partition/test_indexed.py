"""What is read or written at an index along a sharded axis is by the device that owns it."""

import numpy as np
import pytest
from tests.compiler.hlo.partition.divided import WHOLE, X, divided, sends

RNG = np.random.default_rng(0)
M = RNG.normal(size=(8, 4)).astype(np.float32)
MESH = {"x": 4}
GATHER = (
    "%2 = gather p0, p1 offset_dims=(1,) collapsed_slice_dims=(0,) start_index_map=(0,) "
    "slice_sizes=(1,4) mode={} {}: float32[5,4]"
)
SCATTER = (
    "%3 = scatter p0, p1, p2 update_window_dims=(1,) inserted_window_dims=(0,) "
    "scatter_dims_to_operand_dims=(0,) {}mode={} unique=False : float32[8,4]"
)
PLACES = np.int32([[0], [7], [-1], [3], [9]])


@pytest.mark.parametrize("index", [0, 5, 7, -3, 100])
def test_a_row_is_read_by_its_owner(index):
    body = "%2 = constant 0 : int32[]\n%3 = dynamic_slice p0, p1, %2 sizes=(1,4) : float32[1,4]"
    program = divided(body, [(X, WHOLE), ()], MESH, [M, np.int32(index)])
    assert sends(program) == ["all_reduce"]


@pytest.mark.parametrize("index", [0, 5, 7, -3, 100])
def test_a_row_is_written_by_its_owner(index):
    body = (
        "%3 = constant 0 : int32[]\n"
        "%4 = dynamic_update_slice p0, p2, p1, %3 : float32[8,4]"
    )  # fmt: skip
    values = [M, np.int32(index), M[:1] * 2]
    program = divided(body, [(X, WHOLE), (), (WHOLE, WHOLE)], MESH, values)
    assert sends(program) == [] and program.out_specs == ((X, WHOLE),)


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_gathered_rows(mode):
    """Rows out of bounds are those at the ends, or are filled; no bit of NaN or -0.0 is lost."""
    table = np.tile(M, (10, 1))
    table[0, :2] = table[79, 2:] = [-0.0, np.nan]
    line = GATHER.format(mode, "fill=2.5 " if mode == "fill" else "")
    program = divided(line, [(X, WHOLE), (WHOLE, WHOLE)], MESH, [table, PLACES])
    assert sends(program) == ["all_reduce"]


def test_gathers_along_whole_axes_send_nothing():
    line = GATHER.format("clip", "")
    assert sends(divided(line, [(WHOLE, X), (WHOLE, WHOLE)], MESH, [M, PLACES])) == []


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("combine", ["", "combine=add "])
def test_scattered_rows(mode, combine):
    updates = RNG.integers(-9, 9, (5, 4)).astype(np.float32)
    line = SCATTER.format(combine, mode)
    specs = [(X, WHOLE), (WHOLE, WHOLE), (WHOLE, WHOLE)]
    program = divided(line, specs, MESH, [np.trunc(M), PLACES, updates], outs=[(X, WHOLE)])
    assert sends(program) == []
