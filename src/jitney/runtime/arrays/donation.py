"""Donation: which operands' buffers a call uses up.

A call uses up the buffers that the user donates and that a result fits into. Whether a result then
aliases an operand is decided at each call: the program must have finished reading the operand when
it writes the result (`compiler/plan/aliasing.py`), and nothing else, such as a NumPy view, may
refer to the operand's memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Sequence
from types import CodeType
from typing import TYPE_CHECKING

from jitney.core.program.liveness import live_inputs
from jitney.core.source import source_info

if TYPE_CHECKING:
    from jitney.compiler.input_output_alias import InputOutputAlias
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.types.avals import AbstractValue


def place_of_call(name: str) -> tuple[str, CodeType, int] | None:
    """Returns the function `name` and the place of the user's call, which donated arrays record."""
    frame = inspect.currentframe()
    while frame is not None and source_info.is_internal(frame.f_code):
        frame = frame.f_back
    return None if frame is None else (name, frame.f_code, frame.f_lasti)


def used_up(
    closed: ClosedJaxpr, donated: Sequence[bool], keep_unused: bool
) -> tuple[tuple[bool, ...], list[str]]:
    """Returns whether each operand's buffer is used up, that is, donated and of a result's size.

    Args:
      closed: the program.
      donated: whether the user donates each operand.
      keep_unused: whether operands that no result depends on are kept, too.

    Returns: the flags, and the types of donated operands whose size matches no result. Operands
      that are not used at all are silently ignored, unless `keep_unused`.
    """
    is_usable = [
        is_donated and (is_live or keep_unused)
        for is_donated, is_live in zip(donated, live_inputs(closed.jaxpr), strict=True)
    ]
    in_avals, out_avals = closed.in_avals, [*closed.out_avals]
    flags = [False] * len(in_avals)
    for kind_of in (_kind, _n_bytes):  # results of the same type come first
        free = [kind_of(aval) for aval in out_avals]
        for i, aval in enumerate(in_avals):
            if is_usable[i] and not flags[i] and kind_of(aval) in free:
                k, flags[i] = free.index(kind_of(aval)), True
                del free[k], out_avals[k]
    useless = [
        aval.str_short()
        for aval, is_asked, is_used in zip(in_avals, is_usable, flags, strict=True)
        if is_asked and not is_used
    ]
    return tuple(flags), useless


def aliases(
    alias: InputOutputAlias,
    inputs: Sequence[Hashable],
    outputs: Sequence[Hashable],
    used_up: Sequence[bool],
) -> tuple[int, ...]:
    """Returns, for each output, the input whose memory it uses; -1 if it uses new memory.

    Args:
      alias: the inputs whose memory each output may use.
      inputs, outputs: their dtypes and shapes in memory, which must be equal.
      used_up: whether each input's buffer is donated; empty if none is.
    """
    free: dict[Hashable, list[int]] = {}
    for i, is_used_up in enumerate(used_up):
        if is_used_up:
            free.setdefault(inputs[i], []).append(i)
    sources: list[int] = []
    for j, output in enumerate(outputs):
        candidates = free.get(output, [])
        sources.append(next((i for i in candidates if alias.allows(i, j)), -1))
        if sources[-1] >= 0:
            candidates.remove(sources[-1])
    return tuple(sources)


def _kind(aval: AbstractValue) -> object:
    return getattr(aval, "shape", None), getattr(aval, "dtype", None)


def _n_bytes(aval: AbstractValue) -> object:
    return getattr(aval, "nbytes", None) or aval
