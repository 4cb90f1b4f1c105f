"""Arrays are joined, split, repeated and padded, and cotangents go back where elements came from."""

import numpy as np
import pytest

import jitney
from jitney.primitives.array.concatenation import concatenate, pad, split, stack, tile, unstack

X = np.arange(12, dtype=np.float32).reshape(3, 4)
FLAT = np.arange(4, dtype=np.float32)


def test_parts_are_joined_again():
    parts = split(X, (1, 0, 3), 1)
    assert [p.shape for p in parts] == [(3, 1), (3, 0), (3, 3)]
    np.testing.assert_array_equal(concatenate(parts, 1), X)
    np.testing.assert_array_equal(stack(unstack(X, 1), 1), X)
    np.testing.assert_array_equal(stack([X, X], -1), np.stack([X, X], -1))


def test_cotangents_of_parts():
    _, pull = jitney.vjp(lambda x: split(x, (1, 3), 1)[1] * 2, X)
    np.testing.assert_array_equal(
        pull(np.ones((3, 3), np.float32))[0], np.tile([0, 2, 2, 2], (3, 1))
    )
    _, pull = jitney.vjp(lambda x, y: concatenate([x, y, x], 0), FLAT, FLAT[:1])
    dx, dy = pull(np.arange(9, dtype=np.float32))
    np.testing.assert_array_equal(dx, [5, 7, 9, 11])
    np.testing.assert_array_equal(dy, [4])
    _, pull = jitney.vjp(lambda x: tile(x, (2,)), FLAT)
    np.testing.assert_array_equal(pull(np.arange(8, dtype=np.float32))[0], [4, 6, 8, 10])


@pytest.mark.parametrize(
    ("config", "want"),
    [
        ((1, 2, 0), [9, 0, 1, 2, 3, 9, 9]),
        ((0, 0, 1), [0, 9, 1, 9, 2, 9, 3]),
        ((-1, -2, 0), [1]),
        ((-1, 1, 2), [9, 9, 1, 9, 9, 2, 9, 9, 3, 9]),
        ((-3, 5, 1), [9, 2, 9, 3, 9, 9, 9, 9, 9]),
    ],
)
def test_padding(config, want):
    np.testing.assert_array_equal(pad(FLAT, np.float32(9), [config]), want)
    _, pull = jitney.vjp(lambda x, v: pad(x, v, [config]), FLAT, np.float32(9))
    dx, dv = pull(np.ones(len(want), np.float32))
    assert dv == want.count(9)
    np.testing.assert_array_equal(dx, [float(k in want) for k in FLAT])


def test_batches_along_another_axis():
    got = jitney.vmap(lambda x, y: concatenate([x, y], 0), in_axes=(1, None), out_axes=1)(X, FLAT)
    np.testing.assert_array_equal(got, np.vstack([X, np.repeat(FLAT[:, None], 4, 1)]))
    got = jitney.vmap(lambda x, v: pad(x, v, [(1, 0, 0)]))(X, FLAT[:3])
    np.testing.assert_array_equal(got, np.hstack([FLAT[:3, None], X]))


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_batches_beside_the_axis_of_a_stack(batch, axis):
    got = jitney.vmap(lambda x: stack([x, 2 * x], axis), in_axes=batch)(X)
    want = np.stack([X, 2 * X], 0) if batch else np.stack([X.T, 2 * X.T], 0)
    np.testing.assert_array_equal(got, np.moveaxis(want, (2, 0), (0, axis + 1)))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: concatenate([], 0), ValueError, "must contain at least one array, but is empty"),
        (lambda: concatenate([X, FLAT], 0), TypeError, "all operands must have the same rank"),
        (
            lambda: concatenate([X, X], 2),
            TypeError,
            "must name an axis of the operands, which have the axes 0 to 1, but is 2",
        ),
        (lambda: concatenate([X, X[:, 1:]], 0), TypeError, "along all axes except 0"),
        (lambda: stack([X, X[1:]]), ValueError, "Cannot stack arrays with different shapes"),
        (lambda: split(X, (1, 2), 1), ValueError, "must add up to 4, the size of axis 1"),
        (lambda: split(X, (5, -1), 1), ValueError, "`sizes` must not be negative"),
        (lambda: tile(X, (2,)), TypeError, "`reps` must have one entry for each axis"),
        (lambda: pad(FLAT, np.int32(0), [(0, 0, 0)]), TypeError, "operand's dtype, float32"),
        (lambda: pad(FLAT, np.float32(0), [(0, 0, -1)]), ValueError, "must not be negative"),
        (lambda: pad(FLAT, np.float32(0), [(-3, -2, 0)]), ValueError, "removes more elements"),
    ],
)
def test_operands_that_do_not_fit(call, error, match):
    with pytest.raises(error, match=match):
        call()
