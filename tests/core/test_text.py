"""Documents are laid out within a width, and programs are printed as such documents."""

import numpy as np
import pytest

import jitney
from jitney.core.program.jaxpr import DropVar, Literal, Var
from jitney.core.program.text import (
    Break,
    Concat,
    Context,
    Group,
    Nest,
    Note,
    Settings,
    Text,
    concat,
    encode_digits,
    format_eqn,
    format_jaxpr,
    join,
    literal_text,
    render,
    result_paths,
)
from jitney.core.types.avals import shaped_array

F32 = shaped_array((), np.dtype(np.float32))


@pytest.mark.parametrize("n, name", [(0, "a"), (25, "z"), (26, "ba"), (675, "zz"), (676, "baa")])
def test_names_of_variables_count_in_base_26(n, name):
    assert encode_digits(n) == name


def test_groups_break_only_if_they_exceed_the_width():
    words = join(Break(), [Text(word) for word in ("one", "two", "three")])
    doc = Group(concat(Text("["), Nest(2, words), Text("]"), Text("")))
    assert render(doc, 15) == "[one two three]"
    assert render(doc, 14) == "[one\n  two\n  three]"
    # A break that is a group of its own does not see the text after it.
    assert render(join(Group(Break()), [Text("ab")] * 4), 5) == "ab ab ab\nab"
    assert render(Concat(())) == ""


def test_remarks_are_aligned_after_the_longest_line():
    doc = concat(Text("ab"), Note("first"), Break(), Text("abcd"), Note("x"), Note("y"))
    assert render(doc) == "ab   # first\nabcd # x\n     # y"


def test_names_are_assigned_in_order_and_avoid_those_of_shared_programs():
    context = Context()
    assert context.suggest_shared_name("b") == "b"
    assert context.suggest_shared_name("b") == "b1"
    x, y = Var(F32), Var(F32)
    assert [context.name(v) for v in (x, y, x, DropVar(F32))] == ["a", "c", "a", "_"]


def test_literals_have_their_type():
    assert literal_text(Literal(np.array(2.5, np.float32), F32)) == "2.5:f32[]"
    assert result_paths({"a": [1, 2], "b": 3}) == (
        "result['a'][0]",
        "result['a'][1]",
        "result['b']",
    )


def test_programs_are_printed_with_types_and_without_names_of_unused_results():
    program = jitney.make_jaxpr(lambda x: (x * 2, jitney.lax.top_k(x, 1)[0]))(
        np.zeros(3, np.float32)
    )
    lines = format_jaxpr(program.jaxpr).splitlines()
    assert lines[0] == "{ lambda ; a:f32[3]. let"
    assert lines[1] == "    b:f32[3] = mul a 2.0:f32[]"
    assert "_:i32[1] = top_k[" in lines[2]
    plain = format_jaxpr(program.jaxpr, Settings(print_shapes=False))
    assert "b = mul a 2.0:f32[]" in plain
    assert format_eqn(program.eqns[0]) == "a:f32[3] = mul b 2.0:f32[]"


def test_programs_used_twice_are_printed_once():
    inner = jitney.jit(lambda x: x + 1, inline=False)
    text = format_jaxpr(jitney.make_jaxpr(lambda x: inner(inner(x)))(np.float32(1)).jaxpr)
    assert text.count("add ") == 1
    assert text.startswith("let lambda = ")
