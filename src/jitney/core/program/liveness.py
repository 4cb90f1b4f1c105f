"""Liveness of the operands of a jaxpr."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from jitney.core.program.jaxpr import Jaxpr, Var
from jitney.core.settings import caches

_live: weakref.WeakKeyDictionary[Jaxpr, tuple[bool, ...]] = weakref.WeakKeyDictionary()
caches.register(
    "live operands of programs", "the program", __name__, entries=_live.__len__, clear=_live.clear
)


def live_inputs(jaxpr: Jaxpr) -> tuple[bool, ...]:
    """Returns, for each operand of `jaxpr`, whether a result or an effect depends on it."""
    live = _live.get(jaxpr)
    if live is None:
        live = _live[jaxpr] = _find(jaxpr, (True,) * len(jaxpr.outvars))
    return live


def _find(jaxpr: Jaxpr, live_outputs: Sequence[bool]) -> tuple[bool, ...]:
    pairs = zip(jaxpr.outvars, live_outputs, strict=True)
    live = {v for v, is_live in pairs if is_live and isinstance(v, Var)}
    for eqn in reversed(jaxpr.eqns):
        wanted = [v in live for v in eqn.outvars]
        if not eqn.effects and not any(wanted):
            continue
        needed: Sequence[bool] = (True,) * len(eqn.invars)
        if eqn.primitive.name == "jit" and not eqn.effects:
            needed = _find(eqn.params["jaxpr"].jaxpr, wanted)
        live.update(
            v for v, is_live in zip(eqn.invars, needed, strict=True)
            if is_live and isinstance(v, Var)
        )  # fmt: skip
    return tuple([v in live for v in jaxpr.invars])
