"""Shardings of results follow from those of operands, or the operation is refused."""

import types

import numpy as np
import pytest

from jitney.core.sharding_in_types.explicit import Operation
from jitney.core.sharding_in_types.sums import ShardingTypeError
from jitney.core.types.avals import shaped_array
from jitney.primitives import sharding_rules as rules
from jitney.sharding import AbstractMesh

MESH = AbstractMesh((2, 4), ("x", "y"))
N, X, Y, XY = (), ("x",), ("y",), ("x", "y")


def operation(shapes, specs, *outs, name="f", **params):
    avals = [shaped_array(s, np.float32) for s in shapes]
    return Operation(name, MESH, avals, list(specs), params, list(outs))


@pytest.mark.parametrize(
    ("old", "spec", "new", "want"),
    [
        ((8, 3), (X, N), (2, 4, 3), (X, N, N)),
        ((8, 3), (XY, N), (2, 4, 3), (X, Y, N)),
        ((8, 3), (XY, N), (8, 1, 3), (XY, N, N)),
        ((2, 4, 3), (X, Y, N), (8, 3), (XY, N)),
        ((2, 4), (X, N), (8,), (X,)),
        ((1, 8), (N, Y), (8, 1), (Y, N)),
        ((1, 8, 1), (N, Y, N), (1, 8), (N, Y)),
    ],
)
def test_reshapes(old, spec, new, want):
    assert rules.reshape(operation([old], [spec], new)) == [want]


@pytest.mark.parametrize(
    ("old", "spec", "new", "match"),
    [
        ((2, 4), (N, Y), (8,), "merge an unsharded axis with a sharded one"),
        ((8,), (Y,), (2, 4), "cannot be sharded along"),
        ((4, 6), (X, N), (6, 4), "more than split or merge axes"),
    ],
)
def test_reshapes_that_are_refused(old, spec, new, match):
    with pytest.raises(ShardingTypeError, match=match):
        rules.reshape(operation([old], [spec], new))


def test_axes_are_permuted_removed_and_added():
    x = operation([(2, 4, 1)], [(X, Y, N)], (4, 1, 2), permutation=(1, 2, 0), dimensions=(-1,))
    assert rules.transpose(x) == [(Y, N, X)]
    assert rules.squeeze(x) == [(X, Y)]
    x = operation([(2, 4)], [(X, N)], (4, 3, 2), broadcast_dimensions=(2, 0))
    assert rules.broadcast_in_dim(x) == [(N, N, X)]
    assert rules.reduced(operation([(2, 4)], [(X, Y)], (4,), axes=(0,))) == [(Y,)]
    assert rules.stack(operation([(2, 4)] * 2, [(X, N), (N, Y)], (2, 2, 4), axis=1)) == [(X, N, Y)]
    assert rules.unstack(operation([(2, 4)], [(X, N)], (2,), axis=1)) == [(X,)]


def test_slices_need_sizes_that_shards_divide():
    assert rules.cut(operation([(8, 3)], [(Y, N)], (4, 2))) == [(Y, N)]
    assert rules.cut(operation([(8, 3)], [(Y, N)], (1, 1))) == [(N, N)]
    with pytest.raises(
        ShardingTypeError, match=r"changes axis 0 from 8 to 6 elements, .* 4 shards"
    ):
        rules.cut(operation([(8, 3)], [(Y, N)], (6, 3)))
    assert rules.split(operation([(8,)], [(X,)], (2,), (6,), axis=0)) == [(X,), (X,)]
    with pytest.raises(ShardingTypeError, match=r"cuts axis 0, .*a result has 5 elements there"):
        rules.split(operation([(8,)], [(X,)], (5,), (3,), axis=0))


def test_joined_axes_must_be_sharded_alike():
    both = operation([(4, 2), (8, 2)], [(Y, N), (Y, X)], (12, 2), dimension=0)
    assert rules.concatenate(both) == [(Y, X)]
    with pytest.raises(ShardingTypeError, match="all operands must have the same sharding"):
        rules.concatenate(operation([(4,), (8,)], [(Y,), (N,)], (12,), dimension=0))
    assert rules.tile(operation([(4, 2)], [(Y, N)], (4, 6))) == [(Y, N)]
    with pytest.raises(ShardingTypeError, match="axis 0 cannot be sharded"):
        rules.tile(operation([(4, 2)], [(Y, N)], (8, 2)))


MATRICES = (((2,), (1,)), ((0,), (0,)))


@pytest.mark.parametrize(
    ("x", "y", "want"),
    [
        ((X, Y, N), (N, N, N), (X, Y, N)),
        ((N, N, N), (X, N, Y), (X, N, Y)),
        ((N, N, Y), (N, N, N), (N, N, N)),  # summed over devices
        (
            (X, N, N),
            (Y, N, N),
            "axis 0 of operand 0 is sharded along .*, but axis 0 of operand 1, which",
        ),
        ((N, N, X), (N, X, N), "each device has a partial sum"),
        (
            (N, N, X),
            (N, Y, N),
            "axis 2 of operand 0 is sharded along .*, but axis 1 of operand 1, which",
        ),
    ],
)
def test_contractions(x, y, want):
    product = operation([(8,) * 3] * 2, [x, y], (8,) * 3, dimension_numbers=MATRICES)
    if isinstance(want, tuple):
        assert rules.dot_general(product) == [want]
    else:
        with pytest.raises(ShardingTypeError, match=want):
            rules.dot_general(product)


def test_blocks_must_be_complete():
    rule = rules.batch_of(2)
    assert rule(operation([(8, 3, 3)], [(X, N, N)], (8, 3, 3), (8, 3))) == [(X, N, N), (X, N)]
    with pytest.raises(ShardingTypeError, match="complete blocks: axis 1 cannot be sharded"):
        rule(operation([(8, 4, 4)], [(N, Y, N)], (8, 4, 4)))
    with pytest.raises(ShardingTypeError, match="needs sorted axes: axis 0 cannot be sharded"):
        rules.replicated_along("axis", "sorted axes")(operation([(8,)], [(X,)], (8,), axis=0))


@pytest.mark.parametrize(
    ("left_side", "transpose_a", "a", "b", "want"),
    [
        (True, False, (X, N), (N, Y), (X, Y)),
        (True, True, (N, X), (N, Y), (X, Y)),
        (False, False, (N, X), (Y, N), (Y, X)),
        (True, False, (N, X), (N, N), None),
        (False, True, (N, X), (N, N), None),
    ],
)
def test_triangular_systems(left_side, transpose_a, a, b, want):
    system = operation([(8, 8)] * 2, [a, b], (8, 8), left_side=left_side, transpose_a=transpose_a)
    if want is None:
        with pytest.raises(
            ShardingTypeError, match=r"complete unknowns: axis . of operand 0 cannot be sharded"
        ):
            rules.triangular_solve(system)
    else:
        assert rules.triangular_solve(system) == [want]


def numbers(collapsed, batching=()):
    return types.SimpleNamespace(
        start_indices_batching_dims=batching,
        operand_batching_dims=batching,
        collapsed_slice_dims=collapsed,
        offset_dims=(1,),
    )


def test_gathered_rows_keep_the_shardings_of_whole_axes():
    take = {"dimension_numbers": numbers((0,)), "slice_sizes": (1, 8)}
    rows = [(6, 8), (4, 1)]
    assert rules.gather(operation(rows, [(N, X), (N, N)], (4, 8), **take)) == [(N, X)]
    for specs in ([(X, N), (N, N)], [(N, N), (Y, N)]):
        with pytest.raises(ShardingTypeError, match="needs complete axes and indices"):
            rules.gather(operation(rows, specs, (4, 8), **take))
    take = {"dimension_numbers": numbers((1,), (0,)), "slice_sizes": (1, 1, 8)}
    rows = [(4, 6, 8), (4, 1)]
    assert rules.gather(operation(rows, [(Y, N, X), (N, N)], (4, 8), **take)) == [(Y, X)]


def test_scatters_keep_the_shardings_of_axes_that_windows_cover():
    windows = types.SimpleNamespace(
        inserted_window_dims=(0,),
        operand_batching_dims=(),
        update_window_dims=(1,),
        scatter_dims_to_operand_dims=(0, 1),
    )
    shapes = [(6, 8), (3, 2), (3, 8)]
    assert rules.scatter(operation(shapes, [(N, Y), N, N], (6, 8), dimension_numbers=windows)) == [
        (N, Y)
    ]
    for spec, width in (((X, N), 8), ((N, Y), 4)):
        shapes = [(6, 8), (3, 2), (3, width)]
        writes = operation(shapes, [spec, N, N], (6, 8), dimension_numbers=windows)
        with pytest.raises(ShardingTypeError, match="scatter writes along sharded axes"):
            rules.scatter(writes)


def test_a_mesh_axis_shards_one_factor_only():
    specs = [(X, N), (N, X), N, N]
    several = operation([(2, 4), (2, 4), (), ()], specs, (4,), (4,), dimensions=(0,), name="reduce")
    with pytest.raises(ShardingTypeError, match="reduce: axis 0 of operand 0 and axis 1 of oper"):
        rules.reduced(several)
    product = operation(
        [(8,) * 3] * 2, [(N, N, X), (N, N, X)], (8,) * 3, dimension_numbers=MATRICES
    )
    assert rules.dot_general(product) == [(N, N, X)]  # lhs is moved
