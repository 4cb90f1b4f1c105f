"""Functions of loops and branches: closed-over values become operands, carries keep their types."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney import tree_util as pytree
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.types.avals import shaped_array
from jitney.primitives.control.tracing import (
    carry_name,
    check_branches,
    check_carry,
    function_name,
    has_type,
    strengthened,
    trace_function,
    with_common_consts,
    with_types,
)

F32, I32 = (shaped_array((), t) for t in (np.float32, np.int32))
WEAK = shaped_array((), np.int32, True)
A, B = jnp.float32(2), jnp.float32(3)


def traced(fun, *avals):
    _, tree = pytree.tree_flatten(tuple(avals))
    return trace_function(fun, tree, avals, "test")


def test_closed_over_values_are_operands():
    t = traced(lambda x: {"y": x * A + B}, F32)
    assert [float(c) for c in t.consts] == [2, 3]
    assert not t.closed.consts
    (y,) = eval_jaxpr(t.closed.jaxpr, [], *t.consts, np.float32(5))
    assert y == 13
    assert t.out_tree == pytree.tree_structure({"y": 0})
    with pytest.raises(TypeError, match="must return a pytree of arrays and scalars"):
        traced(lambda x: "text", F32)


def test_a_function_is_traced_once_for_the_same_types():
    calls = []

    def fun(x):
        calls.append(x)
        return x

    assert traced(fun, F32) is traced(fun, F32)
    traced(fun, I32)
    assert len(calls) == 2


def test_branches_take_the_union_of_their_constants():
    programs, consts = with_common_consts(
        [traced(lambda x: x + B, F32), traced(lambda x: x * A - B, F32), traced(lambda x: x, F32)]
    )
    assert [float(c) for c in consts] == [3, 2]
    results = [eval_jaxpr(p.jaxpr, [], *consts, np.float32(5))[0] for p in programs]
    assert [float(y) for y in results] == [8, 7, 5]


@pytest.mark.parametrize(
    ("given", "returned", "want"),
    [
        ([WEAK, F32], [F32, F32], [F32, F32]),
        ([WEAK], [I32], None),
        ([shaped_array((), np.float32, True)], [I32], None),  # arithmetic would not promote it
        ([I32], [F32], None),
        ([WEAK], [shaped_array((2,), np.float32)], None),
    ],
)
def test_weakly_typed_carries_adopt_the_dtype_of_the_loop(given, returned, want):
    assert strengthened(given, returned) == want


def test_carries_must_keep_their_types():
    def body(carry):
        return carry

    def check(given, returned):
        flat, tree = pytree.tree_flatten(given)
        out, out_tree = pytree.tree_flatten(returned)
        check_carry("lax.scan", body, None, tree, out_tree, flat, out)

    check({"a": F32, "b": WEAK}, {"a": F32, "b": I32})
    with pytest.raises(
        TypeError,
        match=r"component carry\['a'\] is passed as float32\[\] and"
        r" returned as int32\[\]: their dtypes differ.*\n\n.*astype\('float32'\)",
    ):
        check({"a": F32}, {"a": I32})
    with pytest.raises(TypeError, match="the tree structure that it has as input"):
        check((F32, F32), [F32, F32])


def test_branches_must_return_the_same_types():
    names, functions = ["f", "g"], [abs, abs]
    check_branches(names, functions, [traced(lambda x: x, WEAK), traced(lambda x: x + 1, I32)])
    with pytest.raises(TypeError, match=r"The output of f is float32\[\], that of g is int32\[\]"):
        check_branches(names, functions, [traced(lambda x: x, F32), traced(lambda x: x, I32)])


def test_leaves_are_converted_to_the_types_of_the_carry():
    (x,) = with_types([1], [F32])
    assert has_type(x, F32)
    assert not has_type(x, WEAK)


def test_names_of_functions_and_carries():
    assert (
        function_name(test_names_of_functions_and_carries) == "test_names_of_functions_and_carries"
    )
    assert carry_name(lambda i, state: 0, 1) == "state"
    assert carry_name(np.add, 0) in ("x1", "carry")
