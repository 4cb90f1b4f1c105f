"""Titles of compiled programs: the user's function, and the transformations applied to it.

If a jitted function is differentiated or batched outside of `jit`, it is compiled as a program with
one equation, and the debug information is that of the inner program.
"""

from __future__ import annotations

from jitney.compiler.hlo import ir as hlo
from jitney.core.program.jaxpr import DebugInfo, jaxprs_in_params

_EAGER = (
    "eager"  # what `runtime.execution.eager` states as the purpose of its programs of one equation
)

# Reverse mode: the `jvp` of a program is split into a known part and a part linear in the tangents,
# which is transposed.
_OF_SEVERAL = {
    "jvp partial transpose": "gradient",
    "jvp known": "forward-pass",
    "jvp partial": "derivative",
    "Jacobian Jacobian": "Hessian",
}
_SAID = {
    "derivative": "derivative",
    "forward-pass": "forward pass",
    "gradient": "gradient",
    "value-and-gradient": "value and gradient",
    "Hessian": "Hessian",
    "Jacobian": "Jacobian",
    "jet": "jet",
    "jvp": "jvp",
    "transpose": "transpose",
    "vmap": "vmap",
}


def debug_info_of(module: hlo.Module) -> DebugInfo | None:
    """Returns the debug information of a program; None if unknown."""
    if module.jaxpr is None:
        return None
    info = module.jaxpr.debug_info
    if info.traced_for == _EAGER and len(module.jaxpr.eqns) == 1:
        inner = next(jaxprs_in_params(module.jaxpr.eqns[0].params), None)
        if inner is not None:
            return inner.debug_info
    return info


def is_jitted(module: hlo.Module) -> bool:
    """Returns whether a program is a jitted function, not an eager operation."""
    return module.jaxpr is not None and module.jaxpr.debug_info.traced_for == "jit"


def title_of(module: hlo.Module) -> str:
    """Returns the title of a program: "loss", "gradient of loss", "scan of body" for a loop."""
    info = debug_info_of(module)
    if info is None or module.jaxpr is None:
        return module.name
    outer = module.jaxpr.debug_info
    if info is not outer and module.jaxpr.eqns[0].params.get("name") is None:
        return f"{module.name} of {_title(info.func_name, info)}"
    return _title(module.name, info)


def _title(name: str, info: DebugInfo) -> str:
    words = " ".join([*info.made_by, info.traced_for])
    for steps, composition in _OF_SEVERAL.items():
        words = words.replace(steps, composition)
    title = name
    for word in words.split():
        if word in _SAID:
            title = f"{_SAID[word]} of {title}"
    return title
