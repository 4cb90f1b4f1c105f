"""Checks of traced functions: mutable references must not be passed twice or returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.types.refs import is_ref

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import DebugInfo


def check_passed_once(
    args: Sequence[object],
    closed_over: Sequence[object],
    names: Callable[[], Sequence[str | None]],
    info: DebugInfo,
) -> None:
    """Raises ValueError if a reference is passed to a function twice, or passed and closed over.

    Args:
      args: the flat arguments.
      closed_over: the values that the function closes over.
      names: returns the names of the arguments.
      info: the origin of the function.
    """
    seen: dict[int, int] = {}
    outer = {id(x) for x in closed_over}
    for k, x in enumerate(args):
        if not is_ref(x):
            continue
        first = seen.setdefault(id(x), k)
        if first == k and id(x) not in outer:
            continue
        arg_names = names()
        kind = getattr(x, "aval", None)
        where = f"when tracing {info.func_src_info} for {info.traced_for}"
        if first != k:
            raise ValueError(
                f"{where}: references must not alias, as a write to one would change the other, "
                f"but {arg_names[first]} and {arg_names[k]} are the same reference, of type {kind}"
            )
        raise ValueError(
            f"{where}: the reference of type {kind} was passed as the argument {arg_names[k]}, "
            "and the function also closes over it: use only one of the two"
        )


def check_none_returned(outs: Sequence[Any], info: DebugInfo, origin: Callable[[Any], str]) -> None:
    """Raises ValueError if a reference is among the results of a function.

    Args:
      outs: the flat results.
      info: the origin of the function.
      origin: returns a description of where a result comes from.
    """
    for x in outs:
        if is_ref(x):
            raise ValueError(
                f"function {info.func_src_info} traced for {info.traced_for} must return arrays, "
                f"but returned a reference to a mutable array, of type {x.aval}.{origin(x)} "
                "Return its array, jax.freeze(ref)"
            )
