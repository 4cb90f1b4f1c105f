"""Helpers of transformations: flat functions, bound arguments, donated leaves, prefixes of trees."""

import pytest

import jitney
from jitney.api_util import (
    argnums_partial,
    debug_info,
    donation_vector,
    flatten_axes,
    flatten_fun,
    flatten_fun_nokwargs,
    rebase_donate_argnums,
    safe_map,
)
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.recording.linear_util import wrap_init
from jitney.tree_util import tree_flatten, tree_structure


def wrapped(f):
    return wrap_init(f, debug_info=DebugInfo("test", "f"))


def test_flat_functions_store_the_structure_of_their_result():
    leaves, tree = tree_flatten(((1, [2]), {"c": 3}))
    flat, out_tree = flatten_fun(wrapped(lambda a, b, c: {"s": a + b[0], "t": (c,)}), tree)
    assert flat.call_wrapped(*leaves) == [3, 3]
    assert out_tree() == tree_structure({"s": 0, "t": (0,)})
    leaves, tree = tree_flatten((1, [2]))
    flat, out_tree = flatten_fun_nokwargs(wrapped(lambda a, b: (b, a)), tree)
    assert flat.call_wrapped(*leaves) == [2, 1] and out_tree() == tree_structure(([0], 0))


def test_arguments_are_bound_but_those_that_are_chosen():
    f = wrapped(lambda *args, **kwargs: (args, kwargs))
    partial, dynamic = argnums_partial(f, (-1, 0), (1, 2, 3))
    assert dynamic == (1, 3)
    assert partial.call_wrapped(10, 30, k=4) == ((10, 2, 30), {"k": 4})
    with pytest.raises(ValueError, match="non-hashable static argument of type <class 'list'>"):
        argnums_partial(f, 0, (1, []))
    partial, _ = argnums_partial(f, 0, (1, []), require_static_args_hashable=False)
    assert partial.call_wrapped(5) == ((5, []), {})


def test_all_leaves_of_donated_arguments_are_donated():
    tree = tree_structure(((0, [0, 0], 0), {"x": 0, "y": (0, 0)}))
    assert donation_vector((1,), ("y",), tree) == (False, True, True, False, False, True, True)
    assert donation_vector((0,), (), tree.children()[0], kws=False) == (True, False, False, False)


def test_donated_positions_skip_static_arguments():
    assert rebase_donate_argnums((4, 1, 4), (3, 0, 0)) == (0, 2)
    assert rebase_donate_argnums((2,), (3,)) == (2,)
    with pytest.raises(ValueError, match="argument 1 is both static and donated"):
        rebase_donate_argnums((1,), (1,))


def test_axes_are_given_for_whole_branches():
    tree = tree_structure((0, {"a": 0, "b": [0, 0]}))
    assert flatten_axes("in_axes", tree, (None, {"a": 1, "b": 2})) == [None, 1, 2, 2]
    assert flatten_axes("in_axes", tree, 3) == [3] * 4
    with pytest.raises(ValueError, match="in_axes has to be a tree prefix"):
        flatten_axes("in_axes", tree, (0, 0, 0))


def test_lists_are_mapped_over_together():
    assert safe_map(divmod, [7, 8], iter([2, 3])) == [(3, 1), (2, 2)]
    with pytest.raises(ValueError, match="argument 2 is shorter than argument 1"):
        safe_map(divmod, [7, 8], [2])
    with pytest.raises(ValueError, match="argument 3 is longer"):
        safe_map(pow, [7], [8], [2, 1])


def test_arguments_have_names_but_static_ones():
    def f(a, b, *rest, c):
        return a

    info = debug_info("jit", f, (1, [2, 3], 4), {"c": {"k": 5}}, static_argnums=(0,))
    assert info.traced_for == "jit" and info.func_src_info.startswith("f at ")
    assert list(info.arg_names) == ["b[0]", "b[1]", "rest[0]", "c['k']"]
    named = debug_info("jit", f, (1, 2), {"c": 3}, static_argnames=("c",), sourceinfo="here")
    assert list(named.arg_names) == ["a", "b"] and named.func_src_info == "here"
    assert jitney.api_util.shaped_abstractify(2.0).weak_type
