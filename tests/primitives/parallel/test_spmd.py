"""Global arrays are cut into shards of all devices and joined again."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.primitives.parallel.spmd import _cut, divided, joined, on_parts, over_devices
from jitney.sharding import PartitionSpec as P

AXES = (("a", 2), ("b", 3))
X = np.arange(4 * 6, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        (P("a", "b"), (2, 3, 2, 2)),
        (P("b"), None),
        (P(None, "b"), (3, 4, 2)),
        (P(None, ("a", "b")), (2, 3, 4, 1)),
        (P(None, ("b", "a")), (2, 3, 4, 1)),
        (P(), (4, 6)),
    ],
)
def test_shards_are_joined_again(spec, shape):
    x = X if shape else X[:3]
    parts = divided(x, spec, AXES)
    assert parts.shape == (shape or (3, 1, 6))
    own = [axis for axis in AXES if axis[0] in str(spec)]
    np.testing.assert_array_equal(joined(parts, own, spec, dict(AXES)), x)


def test_the_order_of_shards_is_that_of_the_names():
    parts = np.asarray(divided(X, P(None, ("b", "a")), AXES))
    np.testing.assert_array_equal(parts[1, 2], X[:, 5:])
    np.testing.assert_array_equal(parts[1, 0], X[:, 1:2])
    np.testing.assert_array_equal(divided(X, P("a", "b"), AXES)[1, 2], X[2:, 4:])


def test_partial_sums_are_held_by_the_first_device_and_added():
    spec = P(None, unreduced={"b"})
    parts = np.asarray(_cut(X, spec, AXES))
    np.testing.assert_array_equal(parts, [X, 0 * X, 0 * X])
    np.testing.assert_array_equal(joined(parts + 1, [("b", 3)], spec, dict(AXES)), X + 3)
    np.testing.assert_array_equal(joined(X, [], spec, dict(AXES)), 3 * X)  # equal on all devices


def test_results_that_are_equal_are_repeated_or_taken_once():
    np.testing.assert_array_equal(joined(X, [], P("a"), dict(AXES)), np.vstack([X, X]))
    np.testing.assert_array_equal(joined(np.stack([X, -X]), [("a", 2)], P(), dict(AXES)), X)


def test_a_function_of_one_device_sees_its_shards():
    shapes = []

    def fun(x, y):
        shapes.append((x.shape, y.shape))
        return x + jitney.lax.axis_index("a"), y

    outs, own = on_parts(fun, AXES, (P("a"), P()), [X, X[0]])
    assert shapes == [((2, 6), (6,))]
    np.testing.assert_array_equal(outs[0], [X[:2], X[2:] + 1])
    assert own == [[("a", 2)], []]


def test_programs_of_global_arrays():
    local = jitney.make_jaxpr(lambda x: 2 * x)(X[:2, :2])
    whole = over_devices(local.jaxpr, AXES, (P("a", "b"),), (P("a", "b"),))
    assert whole.in_avals[0].shape == (4, 6)
    np.testing.assert_array_equal(jaxpr_as_fun(whole)(X)[0], 2 * X)
