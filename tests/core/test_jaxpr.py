"""Programs as data: variables, literals, equations, constants, copies and facts of programs."""

import numpy as np
import pytest

from jitney.core.program.jaxpr import (
    DebugInfo,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    fact_of_program,
    jaxprs_in_params,
    new_jaxpr_eqn,
    subjaxprs,
)
from jitney.core.types.avals import shaped_array
from jitney.core.types.effects import InputEffect
from jitney.primitives.elementwise.binary import add_p

F32 = shaped_array((), np.dtype(np.float32))


def sum_of_two():
    x, y, z = Var(F32), Var(F32), Var(F32)
    return Jaxpr([x], [y], [z], [new_jaxpr_eqn([x, y], [z], add_p, {})])


def test_literals_are_unhashable_but_have_the_hash_of_their_value():
    literal = Literal(np.array(2.0, np.float32), F32)
    with pytest.raises(TypeError):
        hash(literal)
    assert literal.hash == hash((2.0, np.dtype(np.float32)))
    assert Literal([1], F32).hash is None
    assert repr(DropVar(F32)) == "_"


def test_programs_with_unbound_constants_are_open():
    program = sum_of_two()
    assert not program.is_closed
    assert program.known_consts == []
    with pytest.raises(AttributeError, match=r"its constants \(1\) have no values"):
        program.consts  # noqa: B018
    closed = program.with_consts([1.0])
    assert closed.is_closed
    assert closed.consts == [1.0]
    assert closed.jaxpr is program
    with pytest.raises(AssertionError):
        program.with_consts([])


def test_copies_have_fresh_variables_and_the_same_text():
    program = sum_of_two()
    copied = program.copy()
    assert str(copied) == str(program)
    assert not {*copied.all_invars, *copied.outvars} & {*program.all_invars, *program.outvars}
    assert copied.eqns[0].outvars[0] is copied.outvars[0]


def test_replaced_fields_leave_the_original_alone():
    program = sum_of_two()
    empty = program.replace(eqns=[], outvars=[program.invars[0]])
    assert len(program.eqns) == 1
    assert empty.eqns == []
    with pytest.raises(AssertionError, match="no fields"):
        program.replace(equations=[])
    with pytest.raises(AssertionError, match="no fields"):
        program.eqns[0].replace(operands=[])


def test_effects_on_operands_have_the_indices_of_the_program():
    a, b, c = Var(F32), Var(F32), Var(F32)
    eqn = JaxprEqn([b, a], [c], add_p, {}, {InputEffect(0)}, None)
    assert Jaxpr([a], [b], [c], [eqn], {InputEffect(0)}).effects == {InputEffect(1)}
    assert Jaxpr([b], [a], [c], [eqn], {InputEffect(0)}).effects == {InputEffect(0)}


def test_programs_in_parameters_are_found_in_order():
    first, second = sum_of_two(), sum_of_two()
    assert [*jaxprs_in_params({"a": 1, "b": first, "c": (second, 2)})] == [first, second]
    outer = Jaxpr(eqns=[new_jaxpr_eqn([], [], add_p, {"jaxpr": first})])
    assert [*subjaxprs(outer)] == [first]


def test_facts_are_found_once_for_each_program():
    found = []

    @fact_of_program
    def length(program):
        found.append(program)
        return len(program.eqns)

    program = sum_of_two()
    assert length(program) == length(program.with_consts([1.0])) == 1
    assert found == [program]


def test_debug_info_of_transformed_and_filtered_functions():
    info = DebugInfo("jit", "f at a/b.py:12", ("x", None), lambda: ("result",))
    assert (info.func_name, info.func_filename, info.func_lineno) == ("f", "a/b.py", 12)
    assert info.safe_arg_names(2) == ("x", "")
    assert info.safe_arg_names(3) == ("", "", "")
    assert info.filter_arg_names([False, True]) == (None,)
    assert info.filter_result_paths([True]) == ("result",)
    assert info.replace_func_name("g").func_src_info == "g at a/b.py:12"
    then = info.then("vmap")
    assert (then.traced_for, then.made_by, then.result_paths) == ("vmap", ("jit",), None)
    assert DebugInfo("jit", "f").func_lineno is None
