"""A node is called by its text: the call read back from the text computes the same."""

import numpy as np
import pytest

from jitney.compiler import library
from jitney.compiler.hlo import ir, node_calls
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType

F32 = np.dtype(np.float32)


def vector(b, index=0):
    return b.parameter(index, TensorType((4,), F32))


def by_name(call):
    """The implementation of a call that knows its name and parameters alone."""
    return library.implementation(library.Call(call.routine, call.args, call.results))


X = np.float32([3, -1, np.nan, 2])


@pytest.mark.parametrize(
    ("make", "name", "expected"),
    [
        (lambda b, x: b.sort([x, x], 0, 1, True)[0].node, "sort", [np.sort(X)] * 2),
        (lambda b, x: b.apply("nextafter", x, x), "nextafter", None),
        (lambda b, x: b.apply("max", x, x), "max", [X]),
        (lambda b, x: b.top_k(x, 1, 0)[0].node, "top_k", [X[2:3], np.int32([2])]),
    ],
)
def test_calls_are_found_by_name(make, name, expected):
    b = Builder()
    call = node_calls.call_of(make(b, vector(b)))
    assert call.name == f"reference.{name}"
    operands = [X] * len(call.args)
    first, second = library.implementation(call)(*operands), by_name(call)(*operands)
    for x, y, type_ in zip(first, second, call.results, strict=True):
        np.testing.assert_array_equal(x, y)
        assert TensorType(x.shape, x.dtype) == type_
    for x, y in zip(second, expected or second, strict=True):
        np.testing.assert_array_equal(x, y)


def test_long_constants_are_complete():
    b = Builder()
    x = b.parameter(0, TensorType((100,), F32))
    table = np.arange(100, dtype=np.float32)
    case = b.region([x.type], lambda c, p: [c.apply("add", p, c.constant(table))])
    (out,) = b.cond(b.constant(np.int32(0)), [case], [x])
    call = node_calls.call_of(out.node)
    found = by_name(call)(np.int32(0), np.ones(100, np.float32))
    np.testing.assert_array_equal(found[0], table + 1)


def test_functions_of_users_have_no_text():
    b = Builder()
    x = vector(b)
    case = b.region([x.type], lambda c, p: c.host_call("f", lambda v: (v,), [p], [x.type]))
    (out,) = b.cond(b.constant(np.int32(0)), [case], [x])
    assert node_calls.call_of(out.node) is None
    plain = b.region([x.type], lambda c, p: [p])
    (out,) = b.cond(b.constant(np.int32(0)), [plain], [x])
    call = node_calls.call_of(out.node)
    np.testing.assert_array_equal(by_name(call)(np.int32(0), X)[0], X)
    assert isinstance(out, ir.Project)
