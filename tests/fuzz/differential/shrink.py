"""Smaller programs that fail in the same way: parts are taken away for as long as the failure stays.

A candidate need not be valid: one that is not fails in another way, and is not taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.fuzz.differential.program import Block, Input, Op, Program, Type


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program found in that time for which `fails` holds."""
    end = time.monotonic() + seconds
    improved = True
    while improved and time.monotonic() < end:
        improved = False
        for candidate in candidates(program):
            if time.monotonic() > end:
                break
            if size(candidate) < size(program) and fails(candidate):
                program = candidate
                improved = True
                break
    return program


def size(program: Program) -> tuple[int, ...]:
    """Operations, those with operands, transformations, results, inputs, and digits of these."""
    ops = list(program.all_ops())
    digits = sum(len(repr(v)) for x in program.inputs for v in x.values)
    rest = (len(program.mode), len(program.block.results), len(program.inputs))
    return len(ops), sum(1 for op in ops if op.operands), *rest, digits, program.x64


def candidates(program: Program) -> Iterator[Program]:
    """Programs with something taken away, large parts first."""
    for i in range(len(program.mode)):
        yield replace(program, mode=program.mode[:i] + program.mode[i + 1 :])
    for name in program.block.results:
        if len(program.block.results) > 1:
            block = replace(program.block, results=(name,), returns="({0},)")
            yield without_unused(replace(program, block=block))
    inputs = [(x.name, x.type) for x in program.inputs]
    for block in _blocks(program.block, inputs):
        yield without_unused(replace(program, block=block))
    if not program.mode:
        yield _without_unused_inputs(program)
    for i, x in enumerate(program.inputs):
        for simple in _simpler(x):
            yield replace(program, inputs=(*program.inputs[:i], simple, *program.inputs[i + 1 :]))
    if program.x64:
        yield replace(program, x64=False)


Scope = Sequence[tuple[str, Type]]


def _blocks(block: Block, scope: Scope) -> Iterator[Block]:
    """`block` with one operation less, or with less in the blocks of one."""
    inner = list(scope)
    for i, op in enumerate(block.ops):
        before, after = block.ops[:i], block.ops[i + 1 :]
        for others in _replacements(op, inner):
            if isinstance(others, dict):
                renamed = [_renamed(o, others) for o in after]
                results = tuple([others.get(n, n) for n in block.results])
                yield replace(block, ops=(*before, *renamed), results=results)
            else:
                yield replace(block, ops=(*before, *others, *after))
        for k, body in enumerate(op.blocks):
            for smaller in _blocks(body, inner):
                blocks = (*op.blocks[:k], smaller, *op.blocks[k + 1 :])
                yield replace(block, ops=(*before, replace(op, blocks=blocks), *after))
        inner += zip(op.results, op.types, strict=False)


def _replacements(op: Op, scope: Scope) -> Iterator[dict[str, str] | list[Op]]:
    """Names to use in place of the results, or simpler operations with the same results."""
    alike = [[n for n, t in scope if t[:2] == want[:2]] for want in op.types]
    if all(alike):
        yield {result: names[0] for result, names in zip(op.results, alike, strict=False)}
    # What the type of a parameter is, is not known here.
    for operand in op.operands:
        yield dict.fromkeys(op.results, operand)
    if op.operands and op.types:
        yield [
            Op((name,), f'jnp.ones({type_.shape}, "{type_.dtype}")', (), True, (), (type_,))
            for name, type_ in zip(op.results, op.types, strict=True)
        ]


def _renamed(op: Op, names: dict[str, str]) -> Op:
    blocks = [
        replace(
            block,
            ops=tuple([_renamed(inner, names) for inner in block.ops]),
            results=tuple([names.get(n, n) for n in block.results]),
        )
        for block in op.blocks
    ]
    return replace(op, operands=tuple([names.get(n, n) for n in op.operands]), blocks=tuple(blocks))


def without_unused(program: Program) -> Program:
    """`program` without operations whose results are not used."""
    while True:
        used = set(program.block.results)
        for op in program.all_ops():
            used |= set(op.operands) | {n for block in op.blocks for n in block.results}
            # Texts of loops name their counters.
            used |= {n for block in op.blocks for n in block.returns.replace("(", " ").split()}
        smaller = replace(program, block=_live(program.block, used))
        if smaller == program:
            return program
        program = smaller


def _live(block: Block, used: set[str]) -> Block:
    ops = [
        replace(op, blocks=tuple([_live(inner, used) for inner in op.blocks]))
        for op in block.ops
        if used & set(op.results)
    ]
    return replace(block, ops=tuple(ops))


def _without_unused_inputs(program: Program) -> Program:
    used = set(program.block.results).union(*[op.operands for op in program.all_ops()])
    used |= {n for op in program.all_ops() for block in op.blocks for n in block.results}
    inputs = tuple([x for x in program.inputs if x.name in used]) or program.inputs[:1]
    signature = ", ".join([x.name for x in inputs])
    return replace(program, inputs=inputs, block=replace(program.block, signature=signature))


def _simpler(x: Input) -> Iterator[Input]:
    """`x` with simpler values."""
    kind = type(x.values[0]) if x.values else float
    for value in (0, 1):
        yield replace(x, values=tuple([kind(value)] * len(x.values)))
    if kind is float and any(v != round(v, 1) for v in x.values if abs(v) < 1e9):
        yield replace(x, values=tuple([round(v, 1) if abs(v) < 1e9 else v for v in x.values]))
    for i, v in enumerate(x.values[:40]):
        if v != kind(1):
            yield replace(x, values=(*x.values[:i], kind(1), *x.values[i + 1 :]))
