"""Functions of pytrees are run on leaves, and their results are rebuilt from leaves."""

import numpy as np
import pytest

import jitney
from jitney.core.pytree.pytrees import tree_structure
from jitney.core.recording.flat_function import FlatFunction


def test_leaves_become_arguments_and_results_become_leaves():
    flat = FlatFunction(
        lambda d, t: {"sum": d["a"] + t[0], "t": t}, tree_structure(({"a": 0}, (0,)))
    )
    assert flat(1, 2) == [3, 2]
    assert flat.unflatten(["x", "y"]) == {"sum": "x", "t": ("y",)}


def test_keyword_arguments_are_the_second_of_a_pair():
    tree = tree_structure(((0,), {"k": 0}))
    assert FlatFunction(lambda x, k: [x - k], tree, has_kwargs=True)(5, 2) == [3]


def test_auxiliary_results_are_kept_aside():
    flat = FlatFunction(lambda x: (x, {"note": "as is"}), tree_structure((0,)), has_aux=True)
    assert flat(3) == [3]
    assert flat.aux == {"note": "as is"}
    for wrong in (lambda x: x, lambda x: (x, x, x)):
        with pytest.raises(TypeError, match="the function must return a pair"):
            FlatFunction(wrong, tree_structure((0,)), has_aux=True)(3)


def test_results_that_are_no_values_are_refused_with_their_path():
    flat = FlatFunction(
        lambda x: {"a": [x, "text"]},
        tree_structure((0,)),
        lambda leaf, path: f"{leaf!r} at result{path}",
    )
    with pytest.raises(TypeError, match=r"'text' at result\['a'\]\[1\]"):
        flat(1.0)
    flat.refusal = None
    assert flat(1.0) == [1.0, "text"]


def test_types_stand_in_for_results_of_recorded_programs_only():
    struct = jitney.ShapeDtypeStruct((2,), np.float32)
    flat = FlatFunction(lambda x: struct, tree_structure((0,)), lambda leaf, path: f"no {path}")
    with pytest.raises(TypeError, match="no "):
        flat(1.0)
    assert jitney.eval_shape(lambda x: flat(x)[0], 1.0).shape == (2,)
