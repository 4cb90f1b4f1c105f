"""Conversions between jaxprs with constants as operands and closed jaxprs.

Both conversions are memoized: converting a program again yields the same object, so that results
cached for that object are found.
"""

from __future__ import annotations

from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr
from jitney.core.program.memo import memoize_by_identity


@memoize_by_identity
def closed_of(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Returns `jaxpr`, which has no constants, as a closed jaxpr."""
    return ClosedJaxpr(jaxpr, ())


@memoize_by_identity
def constants_as_operands(jaxpr: Jaxpr) -> Jaxpr:
    """Returns `jaxpr` with its constants as leading operands."""
    if not jaxpr.constvars:
        return jaxpr
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))
    return jaxpr.replace(
        constvars=[],
        invars=[*jaxpr.constvars, *jaxpr.invars],
        debug_info=jaxpr.debug_info._replace(arg_names=(None,) * len(jaxpr.constvars) + names),
    )
