"""Checks that kernels are well formed. `kernels.ir` lists the constraints K1 - K7 and L1 - L6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import is_half
from jitney.compiler.kernels.while_analysis import dependent_lanes


class KernelError(AssertionError):
    """A violation of a constraint; the message starts with its identifier."""


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise KernelError(what)


def _check_index(index: ir.Affine, body: Sequence[Any], limit: int, rank: int) -> None:
    _need(len(index.coefficients) == rank, f"K2: {index} does not have {rank} coefficients")
    for statement, _ in index.terms:
        _need(statement < limit, f"K1: term {statement} is not an earlier statement")
        _need(body[statement].dtype.kind in "iu", f"K5: term {statement} is not an integer")


def _check_body(body: Sequence[Any], rank: int) -> None:
    for i, s in enumerate(body):
        match s:
            case ir.IndexValue() | ir.Load():
                _check_index(s.index, body, i, rank)
            case ir.Call():
                _need(all(a < i for a in s.args), f"K1: statement {i} refers to a later one")
            case _:
                pass


def verify(kernel: ir.Kernel) -> None:
    """Raises KernelError if `kernel` violates one of the constraints."""
    rank = len(kernel.extents)
    _check_body(kernel.body, rank)
    fixed = ir.invariants(kernel)
    kinds = {type(o) for o in kernel.outputs}
    _need(
        len(kinds) == 1 or (not kinds and kernel.loop is not None),
        "K4: the outputs are not all stores or all reductions",
    )
    _need(ir.Reduce in kinds or not kernel.reduced, "K4: a kernel with stores has reduced axes")
    for o in kernel.outputs:
        _check_index(o.index, kernel.body, len(kernel.body), rank)
        _need(o.value < len(kernel.body), f"K1: unknown statement {o.value}")
        if isinstance(o, ir.Reduce):
            _need(
                all(fixed[t] for t, _ in o.index.terms),
                "K3: a term in the index of a reduction varies",
            )
            if o.factor is not None:
                _need(o.factor < len(kernel.body), f"K1: unknown statement {o.factor}")
                same = kernel.body[o.factor].dtype == kernel.body[o.value].dtype
                _need(
                    same and o.fn == "add",
                    "K7: a factor has a different dtype, or the reduction is not a sum",
                )
        elif o.where is not None:
            _need(o.where < len(kernel.body), f"K1: unknown statement {o.where}")
            _need(kernel.body[o.where].dtype == np.bool_, "K6: `where` is not a predicate")
        tail = o.index.coefficients[rank - kernel.reduced :]
        _need(not any(tail), "K3: the index of a reduction varies along reduced axes")
    _check_loop(kernel, kernel.loop)


def _check_loop(kernel: ir.Kernel, loop: ir.While | None) -> None:
    """Raises KernelError if a constraint of loops is violated; `loop` is that of `kernel`."""
    body = kernel.body
    carries = () if loop is None else loop.carries
    for s in body:
        if isinstance(s, ir.Carried):
            _need(s.carry < len(carries), f"L5: the kernel has no carry {s.carry}")
            carry = carries[s.carry]
            same = (s.dtype, s.varies) == (carry.dtype, carry.varies)
            _need(same, f"L5: a statement has another type than carry {s.carry}")
    if loop is None:
        return
    rank = len(kernel.extents)
    stores = all(isinstance(o, ir.Store) and o.where is None for o in kernel.outputs)
    _need(rank <= 1 and stores, "L4: a loop in a kernel with several axes or other outputs")
    for i in (loop.condition, *loop.next_values):
        _need(0 <= i < len(body), f"L1: unknown statement {i}")
    _need(body[loop.condition].dtype == np.bool_, "L1: the condition is not a predicate")
    _need(len(carries) == len(loop.next_values), "L1: the counts of carries and next values differ")
    _check_lanes(kernel, loop)
    for carry, statement in zip(loop.carries, loop.next_values, strict=True):
        _check_index(carry.index, body, 0, rank)
        stored = {kernel.params[carry.start], kernel.params[carry.finish]}
        held = stored == {carry.dtype} or all(is_half(d) for d in stored)
        same = held and len(stored) == 1 and body[statement].dtype == carry.dtype
        _need(same, f"L1: the next value of a carried {carry.dtype} is {body[statement].dtype}")
    conflict = dependent_lanes(kernel, loop)
    if conflict is not None:
        raise KernelError(": ".join(conflict))


def _check_lanes(kernel: ir.Kernel, loop: ir.While) -> None:
    """Raises KernelError if several lanes access an element that one of them writes."""
    if not any(n > 1 for n in kernel.extents):
        return
    stored = {o.param for o in kernel.outputs}
    for o in kernel.outputs:
        _need(o.index.coefficients[0] != 0, "L6: lanes write to the same element")
    for s in kernel.body:
        reads = isinstance(s, ir.Load) and s.param in stored
        _need(not reads, "L6: lanes read a buffer that they store to")
    for carry in loop.carries:
        _need(
            (carry.index.coefficients[0] != 0) == carry.varies,
            "L6: a carry by lane has one element, or a uniform carry has several",
        )
