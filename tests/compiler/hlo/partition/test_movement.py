"""Data moves from any sharding to any other, and windows of neighbors are what they would be whole."""

import itertools

import numpy as np
import pytest

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.partition.interpret import run
from jitney.compiler.hlo.partition.layout import Mesh
from jitney.compiler.hlo.partition.movement import Movement, Partial
from jitney.compiler.hlo.partition.partitioner import Partitioned
from jitney.compiler.hlo.partition.traffic import collectives_of

X, Y, XY, YX = ("x",), ("y",), ("x", "y"), ("y", "x")
MESH = Mesh({"x": 2, "y": 3})
M = np.arange(72, dtype=np.int32).reshape(6, 12)
SPECS = [
    (a, b) for a, b in itertools.product([(), X, Y, XY, YX], repeat=2) if not {*a} & {*b}
]  # fmt: skip


def moved(make, value, spec, out):
    """The results and programs of all ways in which `make(movement, shard)` moves its operand."""
    b = Builder()
    x = b.parameter(0, ir.TensorType(MESH.local(value.shape, spec), value.dtype))
    for node in make(Movement(b, MESH), x):
        program = Partitioned(b.module("f", [x], [node]), MESH, (spec,), (out,))
        yield run(program, [value])[0], program


@pytest.mark.parametrize("old", SPECS)
def test_every_way_from_one_spec_to_another(old):
    for new in SPECS:
        ways = list(moved(lambda m, x, new=new: m.ways(x, old, new, None), M, old, new))
        assert ways
        for found, _ in ways:
            np.testing.assert_array_equal(found, M)


def kinds(program):
    return [c.kind for c in collectives_of(program.module.region) if c.args]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((X, ()), (X, ()), []),
        (((), ()), (X, Y), []),  # a device cuts what it has
        ((X, ()), ((), ()), ["all_gather"]),
        ((X, ()), ((), X), ["all_to_all"]),
    ],
)
def test_the_first_way(old, new, expected):
    ((_, program),) = itertools.islice(moved(lambda m, x: [m.moved(x, old, new)], M, old, new), 1)
    assert kinds(program) == expected


def test_shards_in_another_order_are_permuted():
    ways = list(moved(lambda m, x: m.ways(x, (XY, ()), (YX, ()), None), M, (XY, ()), (YX, ())))
    assert ["permute"] in [kinds(program) for _, program in ways]


def test_replicas_are_sent_from_different_devices():
    """Along y two devices have each shard, and each of them sends it once."""
    mesh, old, new = Mesh({"x": 2, "y": 2}), (X, ()), (Y, ())
    b = Builder()
    x = b.parameter(0, ir.TensorType((3, 12), np.dtype(np.int32)))
    (*_, node) = Movement(b, mesh).ways(x, old, new, None)
    program = Partitioned(b.module("f", [x], [node]), mesh, (old,), (new,))
    np.testing.assert_array_equal(run(program, [M])[0], M)
    assert kinds(program) == ["permute"]
    assert sorted(s for s, _ in dict(node.params)["pairs"]) == [0, 1, 2, 3]


def test_partial_sums_are_reduced_or_scattered():
    """Here each of two devices along x has the addend x, and wants a part of the sum."""
    spec, new = ((), ()), (X, ())
    ways = list(moved(lambda m, x: m.ways(x, spec, new, Partial("add", X)), M, spec, new))
    assert [kinds(program) for _, program in ways] == [["all_reduce"], ["reduce_scatter"]]
    for found, _ in ways:
        np.testing.assert_array_equal(found, 2 * M)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(
    ("step", "first", "length"),
    [(4, 0, 4), (4, -1, 6), (4, 3, 4), (3, 1, 3), (2, -2, 5), (5, -3, 8), (4, -6, 2)],
)
def test_windows(step, first, length, periodic):
    make = lambda m, x: [m.window(x, 1, Y, step, first, length, periodic)]  # noqa: E731
    ((found, _),) = moved(make, M, ((), Y), ((), Y))
    places = [k * step + first + j for k in range(3) for j in range(length)]
    expected = [M[:, p % 12] if periodic or 0 <= p < 12 else M[:, 0] * 0 for p in places]
    np.testing.assert_array_equal(found, np.stack(expected, 1))


@pytest.mark.parametrize(("start", "limit"), [(0, 4), (3, 9), (11, 12)])
def test_parts_are_collected_on_all_devices(start, limit):
    ((found, _),) = moved(lambda m, x: [m.collected(x, 1, Y, start, limit)], M, ((), Y), ((), ()))
    np.testing.assert_array_equal(found, M[:, start:limit])


@pytest.mark.parametrize(("start", "limit"), [(-5, 40), (0, 7), (5, 12), (3, 4)])
def test_which_elements_are_inside(start, limit):
    make = lambda m, x: [m.inside(x.shape, 1, Y, start, limit)]  # noqa: E731
    ((found, program),) = moved(make, M, ((), Y), ((), Y))
    places = np.arange(12)
    np.testing.assert_array_equal(found, np.tile((start <= places) & (places < limit), (6, 1)))
    order = traversal.topological_order(program.module.region.results)
    assert (start < 0 and limit > 12) == (not any(isinstance(n, ir.Iota) for n in order))


def test_mirrored_shards():
    ((found, _),) = moved(lambda m, x: [m.mirrored(x, Y)], M, ((), Y), ((), Y))
    np.testing.assert_array_equal(found, M.reshape(6, 3, 4)[:, ::-1].reshape(6, 12))
