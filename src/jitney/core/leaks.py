"""Finding tracers that outlived their trace, for `checking_leaks`.

Looking costs a walk over all objects, so it is done only where it was asked for.
"""

# A trace knows its own tracers by their `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from jitney.core.trace import Trace, Tracer

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def check(trace: Trace, known: set[int]) -> None:
    """Raises an Exception if a tracer of `trace` is still referred to.

    Args:
      trace: one whose function has returned.
      known: identities of tracers that the trace itself holds.
    """
    gc.collect()
    leaked = [
        x
        for x in gc.get_objects()
        if isinstance(x, Tracer) and x._trace is trace and id(x) not in known
    ]
    if not leaked:
        return
    lines = [f"Leaked trace {trace}. Leaked tracer(s):"]
    for tracer in leaked:
        lines.append(f"\n{tracer!r}{tracer._origin_msg()}")
        lines += [f"It is referred to by {holder}." for holder in _holders(tracer, leaked)]
    raise Exception("\n".join(lines))


def _holders(tracer: Tracer, own: list[Any]) -> list[str]:
    """What refers to `tracer`, in words."""
    found: list[str] = []
    holder: object
    for holder in gc.get_referrers(tracer):
        if holder is own or type(holder).__name__ in ("frame", "cell"):
            continue
        place = ""
        if _is_sequence(holder):
            place = f" at position {next(i for i, x in enumerate(holder) if x is tracer)}"
        elif _is_dict(holder):
            place = f" at key {next((k for k, x in holder.items() if x is tracer), None)!r}"
        found.append(f"a {type(holder).__name__}{place}")
    return found


def _is_sequence(x: object) -> TypeIs[list[object] | tuple[object, ...]]:
    return isinstance(x, list | tuple)


def _is_dict(x: object) -> TypeIs[dict[object, object]]:
    return isinstance(x, dict)


__all__ = ["check"]
