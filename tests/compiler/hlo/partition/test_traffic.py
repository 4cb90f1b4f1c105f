"""The bytes that a device sends are those of the algorithms on rings, and work counts products."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import ConvolutionDims, TensorType
from jitney.compiler.hlo.partition.traffic import collectives_of, sent, work

F32 = np.dtype(np.float32)


def vector(b, n=12):
    return b.parameter(0, TensorType((n,), F32))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(n):
    b = Builder()
    x, axes = vector(b), (("x", n),)
    whole = b.collective("all_reduce", axes, (("fn", "add"),), [x])
    part = b.collective("reduce_scatter", axes, (("fn", "add"), ("dim", 0)), [x])
    again = b.collective("all_gather", axes, (("dim", 0),), [part])
    assert sent(whole) == sent(part) + sent(again) == 2 * 48 * (n - 1) / n


def test_groups_count_instead_of_the_axis():
    b = Builder()
    groups = ((0, 1), (2, 3))
    node = b.collective("all_gather", (("x", 4),), (("dim", 0),), [vector(b)], groups)
    assert sent(node) == 48


def test_indices_are_not_sent():
    assert sent(Builder().collective("axis_index", (("x", 4),), (), [])) == 0


def test_collectives_of_loops_are_found():
    b = Builder()
    x = vector(b)

    def step(c, i, x):
        return [c.collective("all_reduce", (("x", 2),), (("fn", "max"),), [x])]

    (out,) = b.for_(3, [x], step)
    first = b.collective("all_reduce", (("x", 2),), (("fn", "add"),), [out])
    region = ir.Region((x,), (first,))
    assert [dict(c.params)["fn"] for c in collectives_of(region)] == ["max", "add"]


def test_work():
    b = Builder()
    x = b.parameter(0, TensorType((3, 4), F32))
    y = b.parameter(1, TensorType((4, 5), F32))
    assert work(b.dot(x, y, ((1,), (0,)), ((), ()))) == 3 * 4 * 5
    assert work(b.reduce(x, "add", (0, 1))) == 12
    assert work(b.top_k(x, 2, 1)[0].node) == 12
    image = b.parameter(2, TensorType((2, 3, 8), F32))
    window = b.parameter(3, TensorType((5, 3, 3), F32))
    dims = ConvolutionDims((0, 1, 2), (0, 1, 2), (0, 1, 2), (1,), (0,), (0,), (1,), (1,))
    assert work(b.convolution(image, window, dims)) == (2 * 5 * 6) * (3 * 3)
