"""Calls are traced once per key, checked against the signature, and bound as one equation."""

import functools

import numpy as np
import pytest

import jitney as jax
from jitney.api.jit.inlining import Inline
from jitney.api.jit.jit_call import fun_name, jit_params, make_call


def test_equal_types_share_a_program_and_others_do_not():
    traces = []

    def f(x, n):
        traces.append(n)
        return x * n

    call = make_call(f, static_argnums=1)
    x = np.ones(3, np.float32)
    first, leaves = call.trace((x, 2), {})
    assert call.trace((x + 1, 2), {})[0] is first and len(leaves) == 1
    assert call.key((x, 2), {}) == call.key((x + 1, 2), {}) != call.key((x, 3), {})
    assert call.trace((x, 3), {})[0] is not first
    assert call.trace((x[:2], 2), {})[0] is not first
    assert traces == [2, 3, 2]


def test_donation_is_a_parameter_of_the_program():
    def f(tree, y):
        return tree["a"] + y, tree["b"]

    tree = {"a": 1.0, "b": 2.0}
    program, _ = make_call(f, donate_argnums=0).trace((tree, 3.0), {})
    assert program.params["donated_invars"] == (True, True, False)
    assert program.out_tree == jax.tree.structure((0, 0))
    assert not any(make_call(f).trace((tree, 3.0), {})[0].params["donated_invars"])


def test_inlined_programs_leave_no_equation():
    def names(inline):
        call = make_call(lambda x: x + 1, inline=inline, name="inner")
        jaxpr = jax.make_jaxpr(lambda x: call.call((x,), {}))(1.0)
        return [str(eqn.primitive) for eqn in jaxpr.eqns]

    assert names(Inline.JAX_EARLY) == names(True) == ["add"]
    assert names(Inline.JAX_LATE) == names(False) == ["jit"]


def test_values_of_an_enclosing_trace_are_the_first_operands():
    counts = []

    def outer(y):
        program, leaves = make_call(lambda x: x * y).trace((2.0,), {})
        counts.append((len(program.outer_tracers), len(program.closed.in_avals), len(leaves)))
        return y

    jax.make_jaxpr(outer)(1.0)
    assert counts == [(1, 2, 1)]


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"static_argnums": 0, "donate_argnums": 0}, ValueError, "cannot intersect"),
        ({"static_argnums": 4}, ValueError, "must be in the range from -2 to 1"),
        ({"donate_argnames": "z"}, ValueError, "donate_argnames must name parameters"),
        ({"inline": "early"}, ValueError, "inline must be a bool or a jax.Inline"),
    ],
)
def test_options_that_do_not_fit_the_function(options, error, message):
    with pytest.raises(error, match=message):
        make_call(lambda x, y: x, **options)


def test_what_is_no_function_of_arrays_is_refused():
    with pytest.raises(TypeError, match="pjit needs a function, but got 3 of type int"):
        make_call(3, api_name="pjit")
    with pytest.raises(TypeError, match="below @staticmethod"):
        make_call(staticmethod(len))
    with pytest.raises(TypeError, match="generator function"):
        make_call(lambda x: (yield x))
    with pytest.raises(TypeError, match=r"jit\(f\): .* x\['k'\] is of type <class 'str'>"):
        make_call(lambda x: x, name="f").call(({"k": "text"},), {})


def test_names_of_functions_and_lengths_of_parameters():
    assert fun_name(functools.partial(functools.partial(len), [])) == "len"
    assert fun_name(functools.lru_cache) == "lru_cache"
    params = jit_params("f", 2, 3)
    assert len(params["in_shardings"]) == len(params["donated_invars"]) == 2
    assert len(params["out_shardings"]) == len(params["out_layouts"]) == 3
