"""Rules of primitives that call a program: types, effects, inlining, transposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler import lower as lowering
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.core.types.effects import moved
from jitney.primitives import calculus
from jitney.transforms.discharge import discharge, with_contents
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.primitives.rule_types import Builder, Cotangent, Node, Operand, Value
    from jitney.transforms.logs import Log
    from jitney.transforms.transpose import TransposedProgram


def calls_program(prim: Primitive, parameter: str, *, lowered: bool = True) -> None:
    """Sets the rules for types, effects, discharge and lowering of `prim`, which calls a program.

    The program is the parameter with the name `parameter`, from which the rules are derived. If
    `lowered` is False, no lowering rule is set.
    """
    prim.effectful = True
    prim.called = parameter

    @prim.abstract
    def abstract_rule(
        *_avals: object, **params: ClosedJaxpr
    ) -> tuple[list[AbstractValue], Effects]:
        program = params[parameter]
        n = len(program.jaxpr.constvars)
        return program.out_avals, moved(program.effects, -n)

    @prim.discharge
    def discharge_rule(
        which: tuple[bool, ...], *values: Value, **params: ClosedJaxpr
    ) -> tuple[Sequence[Value], Sequence[Value | None]]:
        program, changed = discharge(params[parameter], which)
        outs = eval_jaxpr(program.jaxpr, program.consts, *values)
        return with_contents(changed, outs, len(params[parameter].out_avals))

    if not lowered:
        return
    prim.is_transparent = True

    @prim.lower
    def lower_rule(b: Builder, *nodes: Node, **params: ClosedJaxpr) -> list[Node]:
        return lowering.inline(b, params[parameter], nodes)


def transposed_call(
    transposed: Callable[[tuple[bool, ...], tuple[bool, ...]], TransposedProgram],
    bind: Callable[[ClosedJaxpr, list[Any]], Sequence[Any]],
    cts: Sequence[Cotangent],
    args: Sequence[Operand],
) -> tuple[Sequence[Cotangent | None], Log]:
    """Transposes a call by calling the transposed program.

    Args:
      transposed: a function (whether each operand is linear, whether each result has a nonzero
        cotangent) -> transposed program.
      bind: a function that calls a program on operands.
      cts: cotangents of the results.
      args: operands.

    Returns: a pair (cotangents of the operands, log of the program).
    """
    linear = tuple([type(x) is UndefinedPrimal for x in args])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    program = transposed(linear, nonzero)
    operands: list[Any] = [x for x, lin in zip(args, linear, strict=True) if not lin]
    operands += [ct for ct in cts if type(ct) is not Zero]
    outs = iter(bind(program.closed, operands))
    flags = iter(program.has_ct)
    operand_cts = [next(outs) if lin and next(flags) else None for lin in linear]
    return operand_cts, program.log_of(outs)


def other_dtypes(
    cts: Sequence[Cotangent], avals: Sequence[AbstractValue]
) -> tuple[np.dtype | None, ...] | None:
    """Returns the dtypes of cotangents whose dtypes differ from those of the results.

    Users' backward rules may widen cotangents, and operations that only move elements preserve
    their dtypes.

    Args:
      cts: cotangents of the results.
      avals: types of the results.

    Returns: for each nonzero cotangent, its dtype, or None if that is the dtype of the result's
      cotangent type. If all dtypes would be None, None is returned instead of the tuple.
    """
    found = [_other_dtype(ct, a) for ct, a in zip(cts, avals, strict=True) if type(ct) is not Zero]
    return None if all([dtype is None for dtype in found]) else tuple(found)


def _other_dtype(ct: Cotangent, aval: AbstractValue) -> np.dtype | None:
    got, wanted = get_aval(ct), aval.to_cotangent_aval()
    if not isinstance(got, ShapedArray) or not isinstance(wanted, ShapedArray):
        return None
    return None if got.dtype == wanted.dtype else got.dtype


def of_own_dtypes(cts: Sequence[Cotangent], avals: Sequence[AbstractValue]) -> list[Cotangent]:
    """Converts cotangents to the dtypes of the results' cotangent types, which loops require."""
    return [
        ct
        if isinstance(ct, Zero) or _other_dtype(ct, a) is None
        else calculus.convert_element_type(ct, new_dtype=a.to_cotangent_aval().dtype)
        for ct, a in zip(cts, avals, strict=True)
    ]
