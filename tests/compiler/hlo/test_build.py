"""Nodes that compute the same are one object, and wrong operands are refused where they are given."""

import numpy as np
import pytest

from jitney.compiler import reference
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import TensorType

F32 = np.dtype(np.float32)


def start(*shape, dtype=F32):
    b = Builder()
    return b, b.parameter(0, TensorType(shape, np.dtype(dtype)))


def evaluated(x, node, value):
    return run_region(ir.Region((x,), (node,)), [value])[0]


def test_equal_nodes_are_one():
    b, x = start(3)
    assert b.apply("sin", x) is b.apply("sin", x)
    assert b.apply("add", x, b.full((3,), 1, F32)) is b.apply("add", x, b.full((3,), 1.0, F32))
    assert b.constant(np.float32(0.0)) is not b.constant(np.float32(-0.0))
    assert b.constant(np.float32(0)) is not b.constant(np.int32(0))
    large = np.arange(1000)
    assert b.constant(large) is b.constant(large) is not b.constant(large.copy())


def test_small_constants_are_copied():
    b = Builder()
    mine = np.arange(3)
    node = b.constant(mine)
    mine[:] = 7
    np.testing.assert_array_equal(node.value, [0, 1, 2])
    assert not node.value.flags.writeable


def test_arrays_that_repeat_a_scalar_are_broadcasts():
    node = Builder().constant(np.broadcast_to(np.float32(2), (3, 4)))
    assert isinstance(node, ir.Broadcast) and node.x.shape == () and node.shape == (3, 4)


def test_what_changes_nothing_is_no_node():
    b, x = start(2, 1, 3)
    assert b.reshape(b.reshape(x, (6,)), (2, 1, 3)) is x
    assert b.transpose(b.transpose(x, (2, 0, 1)), (1, 2, 0)) is x
    assert b.slice(x, (0, 0, 0), (2, 1, 3), (1, 1, 1)) is x
    assert b.reverse(x, (1,)) is x is b.reduce(x, "add", ())
    assert b.pad(x, b.full((), 0, F32), (0,) * 3, (0,) * 3, (0,) * 3) is x
    assert b.convert(x, F32) is x is b.bitcast(x, F32)
    assert b.concatenate([x, b.full((2, 0, 3), 0, F32)], 1) is x
    zero = b.constant(np.int32(0))
    assert b.dynamic_slice(x, [zero] * 3, x.shape) is x


def test_results_without_elements_are_constants():
    b, x = start(2, 3)
    empty = b.slice(x, (0, 1), (2, 1), (1, 1))
    assert isinstance(empty, ir.Constant) and empty.shape == (2, 0)
    assert b.dynamic_update_slice(x, empty, [b.constant(np.int32(0))] * 2) is x


@pytest.mark.parametrize(
    ("make", "constraint"),
    [
        (lambda b, x: b.apply("add", x, b.full((2,), 0, F32)), "apply.C1"),
        (lambda b, x: b.apply("convert", x), "apply.C4"),
        (lambda b, x: b.broadcast(x, (4, 2, 3), (2, 1)), "broadcast.C1"),
        (lambda b, x: b.broadcast(x, (4, 2, 5), (1, 2)), "broadcast.C2"),
        (lambda b, x: b.reshape(x, (5,)), "reshape.C1"),
        (lambda b, x: b.transpose(x, (0, 0)), "transpose.C1"),
        (lambda b, x: b.slice(x, (0, 0), (3, 3), (1, 1)), "slice.C1"),
        (lambda b, x: b.iota(F32, (3,), 1), "iota.C1"),
        (lambda b, x: b.bitcast(x, np.float64), "bitcast.C1"),
        (lambda b, x: b.concatenate([x, b.full((2, 3), 0, np.int32)], 0), "concatenate.C1"),
        (lambda b, x: b.pad(x, b.full((), 0, F32), (-2, 0), (-1, 0), (0, 0)), "pad.C1"),
    ],
)
def test_wrong_operands_are_refused(make, constraint):
    with pytest.raises(AssertionError, match=constraint):
        make(*start(2, 3))


def test_conversions_go_through_real_parts():
    b, x = start(2, dtype=np.complex64)
    value = np.complex64([1.5 - 2j, -0.0 + 1j])
    np.testing.assert_array_equal(evaluated(x, b.convert(x, np.int8), value), np.int8([1, 0]))
    wide = evaluated(x, b.convert(x, np.complex128), value)
    assert wide.dtype == np.complex128 and wide.tobytes() == value.astype(complex).tobytes()
    line = evaluated(x, b.iota(np.complex64, (2,), 0), value)
    np.testing.assert_array_equal(line, np.complex64([0, 1]))


@pytest.mark.parametrize(("exponent", "mantissa"), [(5, 10), (8, 7), (4, 3), (8, 23)])
def test_precision_is_reduced_as_by_the_reference(exponent, mantissa):
    b, x = start(12)
    near_one = [1, 1 + 2**-11, 1 + 3 * 2**-11]
    value = np.float32([0, -0.0, *near_one, 65519, 65520, -3e38, 1e-8, 6e-5, np.inf, np.nan])
    found = evaluated(x, b.reduce_precision(x, exponent, mantissa), value)
    expected = reference.reduce_precision(value, exponent, mantissa)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    if (exponent, mantissa) == (5, 10):  # no subnormals
        normal = np.abs(value) >= 2**-14
        with np.errstate(over="ignore"):
            half = value.astype(np.float16).astype(np.float32)
        np.testing.assert_array_equal(found[normal], half[normal])


def test_loops_count_from_zero():
    b, x = start()
    (out,) = b.for_(4, [x], lambda c, i, t: [c.apply("add", t, c.convert(i, F32))])
    assert evaluated(x, out, np.float32(10)) == 16


def test_transforms_of_one_element_are_the_element():
    b, x = start(3, 1)
    re, im = b.dft(x, x, 1, of_real=True)
    assert re is x and isinstance(im, ir.Broadcast) and im.x.value == 0
    assert [r.shape for r in b.dft(x, x, 0, of_real=True)] == [(2, 1)] * 2
