"""Carries of a discharged `while_loop` for the contents of references among its constants.

The condition and the body have separate constants, which may include the same reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.transforms.discharge import with_contents

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Value


def places_of_contents(
    cond_changed: Sequence[bool], body_changed: Sequence[bool], same: Sequence[int | None]
) -> tuple[list[int], list[int | None]]:
    """Determines the references whose contents are carried, and the carry that each constant reads.

    Args:
      cond_changed, body_changed: whether the condition and the body write to each of their
        constants.
      same: for each constant of the body, the index of the constant of the condition that is the
        same reference, or None.

    Returns: a pair (indices of the constants whose contents are carried, where the constants of the
      condition precede those of the body; for each constant, the index of its carry, or None).
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
) -> tuple[list[Value], list[Value]]:
    """Runs the condition or the body of a loop that carries the contents of references.

    Args:
      part: the discharged program.
      changed: whether the original program writes to each of its references.
      constants: the constants before discharge.
      places: for each constant, its index in `contents`, or None.
      contents: the carried contents.
      carry: the other carries.

    Returns: a pair (results of the program, contents after it ran).
    """
    consts = [x if p is None else contents[p] for x, p in zip(constants, places, strict=True)]
    outs = eval_jaxpr(part.jaxpr, part.consts, *consts, *carry)
    results, new = with_contents(changed, outs, len(outs) - sum(changed))
    after = list(contents)
    for p, x in zip(places, new, strict=False):
        if p is not None and x is not None:
            after[p] = x
    return results, after
