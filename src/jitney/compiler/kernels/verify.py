"""Checks that kernels are well formed. `kernels.ir` lists the constraints K1 - K7.

Loop kernels have further constraints:
    L1  the condition is a predicate, and every carried scalar's next value has its dtype
    L2  if the condition differs between lanes, a lane's carries are frozen once it is false
    L3  the next value of a carried scalar that is uniform across lanes is uniform as well
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler.kernels import ir, loop_kernel
from jitney.compiler.kernels.ir import is_half


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
    """Raises KernelError if `kernel` violates one of the constraints K1 - K7."""
    rank = len(kernel.extents)
    _check_body(kernel.body, rank)
    fixed = ir.invariants(kernel)
    kinds = {type(o) for o in kernel.outputs}
    _need(len(kinds) == 1, "K4: the outputs are not all stores or all reductions")
    _need(ir.Reduce in kinds or not kernel.reduced, "K4: a kernel with stores has reduced axes")
    for o in kernel.outputs:
        _check_index(o.index, kernel.body, len(kernel.body), rank)
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


def verify_loop(kernel: loop_kernel.LoopKernel) -> None:
    """Raises KernelError if the loop kernel `kernel` violates a constraint."""
    body, rank = kernel.body, len(kernel.extents)
    _check_body(body, rank)
    for o in kernel.outputs:
        _check_index(o.index, body, len(body), rank)
    _need(body[kernel.condition].dtype == np.bool_, "L1: the condition is not a predicate")
    _need(
        len(kernel.carried) == len(kernel.next_values),
        "L1: the counts of carried scalars and next values differ",
    )
    for place, statement in zip(kernel.carried, kernel.next_values, strict=True):
        _check_index(place.index, body, 0, rank)
        stored = {kernel.params[place.start], kernel.params[place.finish]}
        held = stored == {place.dtype} or all(is_half(d) for d in stored)
        same = held and len(stored) == 1 and body[statement].dtype == place.dtype
        _need(same, f"L1: the next value of a carried {place.dtype} is {body[statement].dtype}")
    varies = loop_kernel.varying(kernel)
    for place, statement in zip(kernel.carried, kernel.next_values, strict=True):
        _need(
            place.varies or not varies[statement],
            "L3: the next value of a uniform scalar varies by lane",
        )
    try:
        loop_kernel.check_uniform(kernel)
    except loop_kernel.NotSunkError as error:
        raise KernelError(f"L2: {error}") from None
