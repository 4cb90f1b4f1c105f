"""Axes to be mapped are found in trees, and sizes that differ are named with their arguments."""

import re

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.api.batching.vmap import vmap

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [0, 1, -1, np.int64(2)])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_the_axis_is_taken_out_and_put_back(axis, out):
    seen = []
    result = vmap(lambda x: seen.append(x.shape) or x * 2, in_axes=axis, out_axes=out)(X)
    assert seen == [tuple(np.delete(X.shape, axis))]
    np.testing.assert_array_equal(result, np.moveaxis(2 * X, axis, out))


def test_unmapped_arguments_and_results_stay_as_they_are():
    kept = []
    a, b = vmap(lambda x, n: (kept.append(n) or x, n), in_axes=(0, None), out_axes=(0, None))(
        np.arange(3), 7
    )
    assert kept == [7] and b == 7 and a.shape == (3,)
    assert vmap(lambda: jnp.zeros(2), axis_size=3)().shape == (3, 2)
    np.testing.assert_array_equal(vmap(lambda x, *, y: x + y)(np.arange(2), y=np.arange(2)), [0, 2])


def test_axes_of_size_zero():
    assert vmap(lambda x: x.sum())(np.zeros((0, 3), np.float32)).shape == (0,)


def test_axes_for_parts_of_a_tree():
    tree = {"a": np.arange(3), "b": np.arange(6).reshape(2, 3)}
    out = vmap(lambda t: t["a"] + t["b"], in_axes=({"a": 0, "b": 1},), out_axes=1)(tree)
    np.testing.assert_array_equal(out, tree["a"] + tree["b"])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda f: vmap(f)(X, X[0]), r"size 2: axis 0 of argument x.*size 3: axis 0 of argument y"),
        (lambda f: vmap(f, axis_size=5)(X, X), r"size 5: axis_size.*size 2:.* and 1 more"),
        (lambda f: vmap(f, (0, 3))(X, X), "argument y is mapped along axis 3.*in_axes=.0, None."),
        (lambda f: vmap(f)(1.0, X), r"its shape is \(\).*in_axes=\(None, 0\)"),
        (lambda f: vmap(f, None)(X, X), "at least one argument must be mapped"),
        (lambda f: vmap(f, (0,))(X, X), r"len\(in_axes\)=1 and len\(args\)=2"),
        (lambda f: vmap(f, out_axes=None)(X, X), "out_axes is None, which requires a result"),
        (lambda f: vmap(f, ((0, 0), 0))(X, X), "in_axes has to be a tree prefix"),
    ],
)
def test_axes_that_do_not_fit(call, message):
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        call(lambda x, y: x + y)


def test_axes_of_other_types():
    for axes in ("0", (0.5,)):
        with pytest.raises(TypeError, match="`in_axes` must be an integer, None"):
            vmap(lambda x: x, in_axes=axes)
    with pytest.raises(TypeError, match="but has True of type"):
        vmap(lambda x: x, out_axes=True)
    with pytest.raises(TypeError, match=r"vmap.*: the function must return arrays or scalars"):
        vmap(lambda x: "text")(X)
