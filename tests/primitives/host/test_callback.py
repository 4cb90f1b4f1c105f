"""Callbacks of users: their arguments, results, errors and batches."""

import numpy as np
import pytest

import jitney
from jitney import tree_util
from jitney.core.types.avals import shaped_array
from jitney.primitives.host.callback import (
    FlatCallback,
    _checked,
    _described,
    index_axis,
    print_values,
    with_static,
)

X = np.arange(6, dtype=np.float32).reshape(2, 3)
TYPE = jitney.ShapeDtypeStruct((3,), np.float32)


def test_flat_callbacks_restore_arguments():
    _, tree = tree_util.tree_flatten((({"a": 0},), {"k": 0}))
    flat = FlatCallback(lambda d, k: {"z": d["a"] + k, "y": k}, tree)
    assert flat(3, 4) == [4, 7]


def test_results_are_checked_and_copied():
    avals = [shaped_array((3,), np.float32), shaped_array((), np.int32)]
    row = X[0].copy()
    got = _checked([row, np.int64(7)], avals)
    row[0] = 99
    assert got[0][0] == 0
    assert got[1].dtype == np.int32
    with pytest.raises(RuntimeError, match=r"must return 2 arrays, but it returned 1"):
        _checked([row], avals)
    with pytest.raises(RuntimeError, match=r"result 0 of a callback must be of shape \(3,\)"):
        _checked([X, np.int32(7)], avals)
    with pytest.raises(RuntimeError, match="the result of a callback must be of dtype float32"):
        _checked([np.zeros(3, np.int32)], avals[:1])


def test_static_leaves_are_put_back():
    assert with_static([1, 2], [(0, "a"), (2, "b")]) == ["a", 1, "b", 2]
    assert with_static([], []) == []


def test_rows_along_any_axis():
    for axis in (0, 1):
        np.testing.assert_array_equal(index_axis(X, 1, axis), np.take(X, 1, axis))


def host(x):
    return x * 2


def test_names_of_functions():
    assert _described(host).startswith("host (test_callback.py:")
    _, tree = tree_util.tree_flatten(((0,), {}))
    assert _described(FlatCallback(host, tree)) == _described(host)
    assert _described(np.sin) == "sin"


def test_texts_are_formatted(capsys):
    _, tree = tree_util.tree_flatten(((0, 0), {"k": 0}))
    options = {"in_tree": tree, "np_printoptions": (("precision", 2),), "logging_record": None}
    print_values(
        X[0] / 3, 5, fmt="{} and {k}, {}", has_placeholders=True, static_args=((1, "s"),), **options
    )
    assert capsys.readouterr().out == "[0.   0.33 0.67] and 5, s\n"
    print_values(1, 2, 3, fmt="plain", has_placeholders=False, static_args=(), **options)
    assert capsys.readouterr().out == "plain 1 2\n"


@pytest.mark.parametrize(
    ("method", "shapes"), [("sequential", [(3,), (3,)]), ("expand_dims", [(2, 3)])]
)
def test_batches(method, shapes):
    seen = []

    def note(x):
        seen.append(x.shape)
        return np.asarray(x) * 2

    def f(x):
        return jitney.pure_callback(note, TYPE, x, vmap_method=method)

    np.testing.assert_array_equal(jitney.vmap(f)(X), 2 * X)
    assert seen == shapes
    with pytest.raises(NotImplementedError, match="`vmap_method` specifies how to call"):
        jitney.vmap(lambda x: jitney.pure_callback(note, TYPE, x))(X)


def test_errors_name_the_function():
    def fails(x):
        raise KeyError("gone")

    for of in (lambda f: f, jitney.jit):
        with pytest.raises(
            jitney.errors.JaxRuntimeError, match=r"in fails\n(.*\n)*KeyError: 'gone'"
        ):
            of(lambda x: jitney.pure_callback(fails, TYPE, x))(X[0])


def test_callbacks_have_no_derivative():
    with pytest.raises(ValueError, match="pure_callback has no derivative"):
        jitney.jvp(lambda x: jitney.pure_callback(host, TYPE, x), (X[0],), (X[0],))
