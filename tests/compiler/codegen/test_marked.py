"""Debug locations: they lead from instructions to nodes, and change none of the instructions."""

from __future__ import annotations

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.codegen import program
from jitney.compiler.codegen.marked import Marks, line_of_directive
from jitney.compiler.hlo import ir as hlo
from jitney.inspection.facts import lowered_module
from jitney.inspection.texts import functions_of

X = np.ones((40, 300), np.float32)


def several(x, y):
    a = jnp.exp(x)
    b = jnp.sin(a * y)
    return (a + b).sum(1)


def sequential(x, y):
    def body(i, c):
        return jnp.sin(c) * 0.5 + 0.1

    return jax.lax.fori_loop(0, 1000, body, x[0, 0])


def softmax(x, y):
    e = jnp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def halves(x, y):
    def body(i, c):
        return c * jnp.bfloat16(0.5) + jnp.sin(c)

    return jax.lax.fori_loop(0, 50, body, x[0].astype(jnp.bfloat16))


def _instructions(assembly: str) -> list[str]:
    texts = [text for lines in functions_of(assembly).values() for text, _ in lines]
    return [text for text in texts if text.startswith("\t") and not text.startswith("\t.")]


def _plan(fun, x=X):
    return pipeline.plan(pipeline.optimize(lowered_module(fun, (x, x), {})))


@pytest.mark.parametrize("fun", [several, sequential, softmax, halves])
def test_instructions_are_the_same(fun):
    plan = _plan(fun)
    plain, marked = program.asm_text(plan), program.asm_text(plan, Marks())
    assert ".loc" in marked
    assert ".loc" not in plain
    assert _instructions(plain) == _instructions(marked)


@pytest.mark.parametrize("fun", [several, sequential, softmax, halves])
def test_functions_have_instructions_of_their_own(fun):
    marks = Marks()
    functions = functions_of(program.asm_text(_plan(fun), marks))
    nodes = {marks.node_at(line) for lines in functions.values() for _, line in lines if line}
    named = {node.fn for node in nodes if isinstance(node, hlo.Apply)}
    assert named >= {"exp"} if fun is softmax else named >= {"sin"}


def test_reductions_are_told_from_their_operands():
    marks = Marks()
    functions = functions_of(program.asm_text(_plan(several), marks))
    lines = [line for text in functions.values() for _, line in text]
    assert any(isinstance(marks.node_at(line), hlo.Reduce) for line in lines if line)
    assert any(line == 1 for line in lines)  # the loop itself


def test_text_of_functions():
    marks = Marks()
    text = program.llvm_text(_plan(several), marks)
    lines = marks.lines["k0"]
    assert lines[0][0].startswith("define i32 @k0(")
    assert lines[-1] == ("}", None)
    assert any(node is not None and " = fadd " in line for line, node in lines)
    assert not any("!dbg" in line for line, _ in lines)
    assert text.count("distinct !DISubprogram") == len(marks.lines)


def test_lines_of_directives():
    assert line_of_directive("\t.loc\t1 12 0 is_stmt 0  # nodes:12:0") == 12
    assert line_of_directive("\tmovl\t$1, %eax") is None
    assert Marks().node_at(1) is None
