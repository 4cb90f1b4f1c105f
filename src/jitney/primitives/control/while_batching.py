"""Batching of `while_loop`.

If the predicate is batched, all carries become batched, and instances that have finished keep their
carries. Otherwise only carries that depend on batched values become batched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.recording.jaxpr_trace import retrace
from jitney.core.types.effects import has_io
from jitney.core.util.fixpoint import least_fixpoint
from jitney.primitives import rules
from jitney.transforms.batch import AxisData, batch_flat, batch_jaxpr, move_to, whole_aval
from jitney.transforms.discharge import changed_refs

if TYPE_CHECKING:
    from jitney.primitives.rule_types import BatchDim, Dims, Value

T = TypeVar("T")


def parts_of(args: Sequence[T], params: dict[str, Any]) -> tuple[list[T], list[T], list[T]]:
    """Splits operands into constants of the condition, constants of the body, and carries."""
    n, m = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    return list(args[:n]), list(args[n:m]), list(args[m:])


def batched(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, params: dict[str, Any]
) -> tuple[list[Value], dict[str, object], list[BatchDim]]:
    """Batches a loop; returns the operands, the parameters and the batch dimensions of the results.

    Args:
      axis_data: the batch axis.
      args, params: operands and parameters of the loop.
      dims: batch dimensions of the operands.

    Raises:
      NotImplementedError: if the predicate is batched, and the loop has an effect that is not.
    """
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts, init = parts_of(args, params)
    cond_d, body_d, init_d = parts_of(dims, params)
    cond_b = tuple(d is not None for d in cond_d)
    body_b = tuple(d is not None for d in body_d)
    carry_b = [d is not None for d in init_d]

    def analyze(carry_b: list[bool]) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
        body, carry_out = batch_jaxpr(body_jaxpr, axis_data, (*body_b, *carry_b), tuple(carry_b))
        return body, carry_out

    carry_b, body = least_fixpoint(analyze, carry_b)
    cond, (pred_b,) = batch_jaxpr(cond_jaxpr, axis_data, (*cond_b, *carry_b), False)
    if pred_b and not all(carry_b):
        # If the predicate is batched, so is every carry.
        carry_b = [True] * len(carry_b)
        body, _ = analyze(carry_b)
        cond, (pred_b,) = batch_jaxpr(cond_jaxpr, axis_data, (*cond_b, *carry_b), False)
    if pred_b:
        _refuse_effects(
            (cond, cond_b), (body, body_b), io=has_io(cond.effects | body_jaxpr.effects)
        )
    # An unbatched predicate may have axes of other batches, which precede this batch axis.
    place = 0 if pred_b else len(cond_jaxpr.out_avals[0].shape)
    if place:
        cond = _batched_at(place, cond_jaxpr, axis_data, cond_b, carry_b, (False,))
        body = _batched_at(place, body_jaxpr, axis_data, body_b, carry_b, carry_b)
    cond_consts = [
        x if d is None else rules.move_axis(x, d, 0)
        for x, d in zip(cond_consts, cond_d, strict=True)
    ]
    body_consts = [
        x if d is None else rules.move_axis(x, d, 0)
        for x, d in zip(body_consts, body_d, strict=True)
    ]
    init = [
        move_to(x, d, place, axis_data.size, axis_data.along) if b else x
        for x, d, b in zip(init, init_d, carry_b, strict=True)
    ]
    changed: dict[str, object] = {
        "cond_jaxpr": cond,
        "cond_nconsts": len(cond_consts),
        "body_jaxpr": body,
        "body_nconsts": len(body_consts),
    }
    return [*cond_consts, *body_consts, *init], changed, [place if b else None for b in carry_b]


def _refuse_effects(*parts: tuple[ClosedJaxpr, Sequence[bool]], io: bool) -> None:
    """Raises NotImplementedError if instances that have finished would still have an effect.

    Args:
      *parts: pairs of the batched condition or body, and flags of its batched constants.
      io: whether the condition or the body has effects outside of the program.
    """
    if io:
        raise NotImplementedError(
            "vmap of while_loop with a batched condition: instances finish at different times, so "
            "a callback with side effects would also run for instances that have finished"
        )
    if any(_unbatched_effects(part, consts_batched) for part, consts_batched in parts):
        raise NotImplementedError(
            "a while_loop with batched predicate changes a mutable array reference that is not batched"
        )


def _unbatched_effects(closed: ClosedJaxpr, consts_batched: Sequence[bool]) -> bool:
    """Returns whether a program writes to an unbatched reference among its constants."""
    changed = changed_refs(closed.jaxpr)
    return any(c and not b for c, b in zip(changed, consts_batched, strict=False))


def _batched_at(
    place: int,
    closed: ClosedJaxpr,
    axis_data: AxisData,
    consts_b: Sequence[bool],
    carry_b: Sequence[bool],
    out_b: Sequence[bool],
) -> ClosedJaxpr:
    """Batches `closed`(constants, carry): constants along axis 0, carries along `place`."""
    dims = [0 if b else None for b in consts_b] + [place if b else None for b in carry_b]

    def fun(*args: Value) -> list[Value]:
        outs, out_dims = batch_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), axis_data, args, dims
        )
        return [
            move_to(x, d, place, axis_data.size, axis_data.along) if b else x
            for x, d, b in zip(outs, out_dims, out_b, strict=True)
        ]

    avals = [whole_aval(a, axis_data, d) for a, d in zip(closed.in_avals, dims, strict=True)]
    return retrace("while", fun, avals, closed)
