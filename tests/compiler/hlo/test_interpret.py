"""The interpreter gives each kind of node its meaning in NumPy's terms."""

import numpy as np
import pytest

from jitney.compiler.hlo import interpret, ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import elementwise_function, evaluate, run, run_region
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.parse import parse_region

F32 = np.dtype(np.float32)
X = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda b, x: b.broadcast(b.reshape(x, (4, 1, 6)), (4, 3, 6), (0, 1, 2)),
         np.broadcast_to(X[:, None], (4, 3, 6))),
        (lambda b, x: b.slice(x, (1, 0), (4, 6), (2, 3)), X[1:4:2, ::3]),
        (lambda b, x: b.reverse(x, (1,)), X[:, ::-1]),
        (lambda b, x: b.pad(x, b.full((), 9, F32), (1, -2), (0, 0), (0, 0)),
         np.pad(X[:, 2:], ((1, 0), (0, 0)), constant_values=9)),
        (lambda b, x: b.iota(np.int16, (2, 3), 0), np.int16([[0] * 3, [1] * 3])),
        (lambda b, x: b.reduce(x, "max", (0,)), X.max(0)),
        (lambda b, x: b.arg_reduce(x, "min", 1, np.int8), np.zeros(4, np.int8)),
        (lambda b, x: b.cumulative(x, "add", 1, True), X[:, ::-1].cumsum(1)[:, ::-1]),
        (lambda b, x: b.dot(x, x, ((1,), (1,)), ((), ())), X @ X.T),
        (lambda b, x: b.concatenate([x, x], 1), np.hstack([X, X])),
        (lambda b, x: b.top_k(x, 2, 1)[0], X[:, :3:-1]),
        (lambda b, x: b.bitcast(x, np.uint16), X.view(np.uint16).reshape(4, 6, 2)),
    ],
)  # fmt: skip
def test_nodes(make, expected):
    b = Builder()
    x = b.parameter(0, TensorType(X.shape, F32))
    (found,) = run(b.module("f", [x], [make(b, x)]), [X])
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("index", "expected"), [(-5, 1), (0, 1), (1, -1), (7, -1)])
def test_the_index_of_a_branch_is_clamped(index, expected):
    b = Builder()
    i = b.parameter(0, TensorType((), np.dtype(np.int32)))
    one = b.constant(np.float32(1))
    cases = [
        b.region([one.type], lambda c, x: [x]),
        b.region([one.type], lambda c, x: [c.apply("neg", x)]),
    ]
    region = ir.Region((i,), tuple(b.cond(i, cases, [one])))
    assert run_region(region, [np.int32(index)]) == [expected]


@pytest.mark.parametrize("in_place", [False, True])
def test_host_calls_return_or_write_their_results(in_place):
    b = Builder()
    x = b.parameter(0, TensorType((2,), F32))
    finished = []

    def write(x, out):
        out[:] = 2 * x

    if in_place:
        out = b.host_call(
            "f", write, [x], [x.type], in_place=True, finish=lambda *a: finished.append(a)
        )
    else:
        out = b.host_call("f", lambda x: (2 * x,), [x], [x.type])
    np.testing.assert_array_equal(
        run_region(ir.Region((x,), tuple(out)), [np.float32([1, 2])])[0], [2, 4]
    )
    assert len(finished) == in_place


def test_results_of_another_type_are_an_error():
    b = Builder()
    x = b.parameter(0, TensorType((2,), F32))
    with pytest.raises(AssertionError, match=r"Apply float32\[2\] evaluates to float64"):
        evaluate(b.apply("neg", x), {x: np.zeros(2)})


@pytest.mark.parametrize("line", ["%2 = max p0, p1", "%2 = reduce p0 fn=add dims=()"])
def test_regions_on_scalars_take_vectors(line):
    """At once if all nodes are elementwise, else one element after the other."""
    region = parse_region(
        "(p0: float32[], p1: float32[]) {\n"
        "  %2 = max p0, p1 : float32[]\n  %3 = reshape %2 : float32[1]\n"
        "  %4 = reduce %3 fn=add dims=(0,) : float32[]\n"
        f"  return {'%2' if 'max' in line else '%4'}\n}}"
    )
    x, y = np.float32([1, 5, 3]), np.float32([4, 2, 6])
    np.testing.assert_array_equal(elementwise_function(region)(x, y), [4, 5, 6])


def test_collectives_have_one_participant():
    b = Builder()
    x = b.parameter(0, TensorType((2,), F32))
    node = b.collective("all_gather", (("x", 2),), (("dim", 0),), [x])
    with pytest.raises(AssertionError, match="single participant, but all_gather has 2"):
        interpret.evaluate(node, {x: np.zeros(2, np.float32)})
