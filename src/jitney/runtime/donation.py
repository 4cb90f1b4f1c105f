"""Which operands a call uses up: those that the user gives away, and that a result can lie in.

Whether a result then does lie in an operand's memory is seen for each call: if its program is done with
the operand when it writes the result (`compiler/plan/aliasing.py`), and nothing else refers to that
memory, such as a view as a NumPy array.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Sequence
from types import CodeType
from typing import TYPE_CHECKING

from jitney.core import source_info
from jitney.core.liveness import live_inputs

if TYPE_CHECKING:
    from jitney.compiler.input_output_alias import InputOutputAlias
    from jitney.core.avals import AbstractValue
    from jitney.core.jaxpr import ClosedJaxpr


def place_of_call(name: str) -> tuple[str, CodeType, int] | None:
    """Returns what arrays that are given to a function keep: its name, and where the user calls it."""
    frame = inspect.currentframe()
    while frame is not None and source_info.is_internal(frame.f_code):
        frame = frame.f_back
    return None if frame is None else (name, frame.f_code, frame.f_lasti)


def used_up(
    closed: ClosedJaxpr, donated: Sequence[bool], keep_unused: bool
) -> tuple[tuple[bool, ...], list[str]]:
    """For each operand, whether its buffer is used up: donated, and of a result's size.

    Args:
      closed: the program.
      donated: for each operand, whether the user gives it away.
      keep_unused: whether operands that no result depends on are there, too.

    Returns: the flags, and the types of donated operands that are of no result's size. Those that are
      not used at all are left alone silently.
    """
    is_usable = [
        is_donated and (is_live or keep_unused)
        for is_donated, is_live in zip(donated, live_inputs(closed.jaxpr), strict=True)
    ]
    in_avals, out_avals = closed.in_avals, [*closed.out_avals]
    flags = [False] * len(in_avals)
    for kind_of in (_kind, _n_bytes):  # results of the very type come first
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
    """Return, for each output, the input in whose memory it is to lie; -1 where it has its own.

    Args:
      alias: in the memory of which inputs an output may lie.
      inputs, outputs: their dtypes and shapes in memory, which must be the same.
      used_up: for each input, whether its buffer is given up; empty if none is.
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
