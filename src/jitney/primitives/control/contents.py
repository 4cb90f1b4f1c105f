"""What references hold while a `while_loop` runs, whose constants they were: values that are carried.

The condition and the body have constants of their own, and one reference may be among both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.evaluate import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr
from jitney.transforms.discharge import with_contents

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Value


def places_of_contents(
    cond_changed: Sequence[bool], body_changed: Sequence[bool], same: Sequence[int | None]
) -> tuple[list[int], list[int | None]]:
    """Return which constants' contents are carried, and for each constant which of these it sees.

    Args:
      cond_changed, body_changed: whether the condition, and the body, write to its constants.
      same: for each constant of the body the one of the condition that is the same reference, if any.

    Returns: (numbers of constants, those of the body counted on; for each constant a place among these,
      None where nothing is carried).
    """
    n = len(cond_changed)
    held = [k for k, is_changed in enumerate(cond_changed) if is_changed]
    held += [n + k for k, c in enumerate(body_changed) if c and same[k] not in held]
    place = {k: i for i, k in enumerate(held)}
    of_twins = {k: place.get(n + j) for j, k in reversed([*enumerate(same)]) if k is not None}
    of_cond = [place.get(k, of_twins.get(k)) for k in range(n)]
    of_body = [place.get(n + j, None if k is None else place.get(k)) for j, k in enumerate(same)]
    return held, [*of_cond, *of_body]


def run_with_contents(
    part: ClosedJaxpr,
    changed: Sequence[bool],
    constants: Sequence[Value],
    places: Sequence[int | None],
    contents: Sequence[Value],
    carry: Sequence[Value],
) -> tuple[list[Any], list[Any]]:
    """Run the condition or the body of a loop that carries what references hold.

    Args:
      part: its program, without references.
      changed: which of the references that it had it writes to.
      constants: the constants that it had.
      places: which of `contents` each constant stands for, if any.
      contents: what references hold.
      carry: the other carries.

    Returns: (its results, contents afterwards).
    """
    consts = [x if p is None else contents[p] for x, p in zip(constants, places, strict=True)]
    outs = eval_jaxpr(part.jaxpr, part.consts, *consts, *carry)
    results, new = with_contents(changed, outs, len(outs) - sum(changed))
    after = list(contents)
    for p, x in zip(places, new, strict=False):
        if p is not None and x is not None:
            after[p] = x
    return results, after
