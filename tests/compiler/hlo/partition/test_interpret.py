"""All devices run one program; those that differ along a collective's axes exchange their values."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.partition.interpret import run
from jitney.compiler.hlo.partition.layout import Mesh
from jitney.compiler.hlo.partition.partitioner import Partitioned

F32 = np.dtype(np.float32)
X, Y = ("x",), ("y",)
MESH = Mesh({"x": 2, "y": 3})
M = np.arange(24, dtype=np.float32).reshape(4, 6)


def program(make, spec=(X, Y), out=(X, Y)):
    """The program of `make(builder, shard)` on every device."""
    b = Builder()
    x = b.parameter(0, ir.TensorType(MESH.local(M.shape, spec), F32))
    module = b.module("f", [x], [make(b, x)])
    return Partitioned(module, MESH, (spec,), (out,))


def test_shards_are_split_and_joined():
    np.testing.assert_array_equal(run(program(lambda b, x: b.apply("neg", x)), [M])[0], -M)


@pytest.mark.parametrize(
    ("names", "out", "expected"),
    [
        (X, ((), Y), M.reshape(2, 2, 6).sum(0)),
        (Y, (X, ()), M.reshape(4, 3, 2).sum(1)),
        (("x", "y"), ((), ()), M.reshape(2, 2, 3, 2).sum((0, 2))),
    ],
)
def test_groups_are_the_devices_along_the_axes(names, out, expected):
    def make(b, x):
        return b.collective("all_reduce", MESH.axes(names), (("fn", "add"),), [x])

    np.testing.assert_array_equal(run(program(make, out=out), [M])[0], expected)


def test_participants_are_numbered_along_the_axes_in_their_order():
    def numbers(names):
        def make(b, x):
            number = b.collective("axis_index", MESH.axes(names), (), [])
            return b.broadcast(number, (1, 1), ())

        return run(program(make), [M])[0]

    np.testing.assert_array_equal(numbers(("x", "y")), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(numbers(("y", "x")), [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(numbers(Y), [[0, 1, 2]] * 2)


def test_loops_run_on_all_devices_together():
    def make(b, x):
        def step(c, i, x):
            right = (("pairs", ((0, 1), (1, 2), (2, 0))),)
            return [c.collective("permute", MESH.axes(Y), right, [x])]

        return b.for_(4, [x], step)[0]

    np.testing.assert_array_equal(run(program(make), [M])[0], np.roll(M, 2, 1))


def test_replicas_and_conditions_must_agree():
    replicated = program(lambda b, x: x, out=((), Y))
    with pytest.raises(AssertionError):
        run(replicated, [M])

    def make(b, x):
        number = b.collective("axis_index", MESH.axes(X), (), [])
        case = b.region([x.type], lambda c, p: [p])
        return b.cond(number, [case, case], [x])[0]

    with pytest.raises(AssertionError, match="devices disagree"):
        run(program(make), [M])
