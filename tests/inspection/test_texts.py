"""Texts of each stage have the source lines that their lines come from."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import facts, texts
from jitney.inspection.sources import Source
from jitney.inspection.texts import Places

X = np.ones((40, 30), np.float32)


def f(x):
    y = jnp.tanh(x)
    return y - 2.5


LINE = f.__code__.co_firstlineno


def lines_of(lines, places, word):
    """Returns the source lines of all lines of a text that contain a word."""
    found = {places.locations[k] for line in lines if word in line.text for k in line.places}
    return {line for file, line in found if file == __file__}


def test_source_lines_have_numbers_in_order_of_appearance():
    places = Places()
    assert [places.number("a", 3), places.number("b", 3), places.number("a", 3)] == [0, 1, 0]
    several = [Source("a", 2, 0, 4, 1), None, Source("b", 3, 0, 3, 1), Source("a", 4, 0, 4, 1)]
    assert places.of(several) == (2, 0, 3, 1)
    assert places.locations == [("a", 3), ("b", 3), ("a", 2), ("a", 4)]


def test_jaxprs_and_tensor_ir_are_linked_to_the_source():
    places = Places()
    jaxpr = texts.of_jaxpr(jax.make_jaxpr(f)(X).jaxpr, places)
    assert lines_of(jaxpr, places, "tanh") == {LINE + 1}
    assert lines_of(jaxpr, places, "sub") == {LINE + 2}
    assert not any("test_texts.py" in line.text for line in jaxpr)
    module = jax.jit(f).lower(X)._lowering.module
    tensor = texts.of_tensor_ir(module, places)
    assert lines_of(tensor, places, "= tanh") == {LINE + 1}
    assert not any("\x00" in line.text for line in tensor)


def test_kernels_appear_once_with_their_lines():
    program = facts.of_module(jax.jit(lambda x: (f(x), f(x.T))).lower(X)._lowering.module)
    places = Places()
    blocks = texts.of_kernels(program, places)
    assert len({block.title for block in blocks}) == len(blocks)
    assert {LINE + 1, LINE + 2} <= lines_of(blocks[0].lines[:1], places, "")
    assert lines_of(blocks[0].lines[1:], places, "tanh") == {LINE + 1}


def test_sources_are_shown_with_their_surroundings():
    places = Places()
    number = places.number(__file__, LINE + 1)
    places.number(__file__, LINE + 20)
    (block,) = texts.of_source(places, around=1)
    assert block.title == __file__
    shown = [line.text.split() for line in block.lines]
    assert [words[0] for words in shown] == [
        *[str(LINE + k) for k in (0, 1, 2)], "...", *[str(LINE + k) for k in (19, 20, 21)],
    ]  # fmt: skip
    assert block.lines[1].places == (number,) and block.lines[0].places == ()


def test_assembly_is_split_into_functions():
    assembly = """\t.text
first:
\t.loc\t1 7 0
\tmovl\t%eax, %ebx  # a comment
\t.cfi_endproc
.LBB0_1:
\tretq
.Lfunc_end0:
\tnop
second:
\tnop
"""
    functions = texts.functions_of(assembly)
    assert list(functions) == ["first", "second"]
    assert [text.strip() for text, _ in functions["first"]] == [
        "movl\t%eax, %ebx",
        ".LBB0_1:",
        "retq",
    ]
    assert functions["second"] == [("\tnop", 0)]
    at = [line for _, line in functions["first"]]
    assert at[1] == 0 and at[0] == at[2] == 7
