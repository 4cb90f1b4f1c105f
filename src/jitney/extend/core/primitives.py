"""`jax.extend.core.primitives`: the primitives of jaxprs, each as `name_p`.

The names are the names in jaxprs, with hyphens replaced by underscores: `primitives.add_p` is
printed as `add` in a jaxpr. Libraries import this module together with `jax.extend`, often without
using it. Therefore modules that declare primitives are loaded only when an unknown name is looked
up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.tracing.primitive import Primitive, registry
from jitney.core.util.lazy import refusing

if TYPE_CHECKING:
    __all__: list[str]

# Primitives whose name in this module differs from their name in jaxprs.
_RENAMED = {
    "add_any_p": "add_jaxvals_p",
    "custom_linear_solve_p": "linear_solve_p",
    "remat2_p": "remat_p",
}


def _declared() -> dict[str, Primitive]:
    """Returns a dict from names in this module to the primitives declared so far."""
    by_name = {f"{name.replace('-', '_')}_p": primitive for name, primitive in registry.items()}
    return {_RENAMED.get(name, name): primitive for name, primitive in by_name.items()}


def _all() -> dict[str, Primitive]:
    from jitney.primitives import load_all

    load_all.load()
    return _declared()


def __getattr__(name: str) -> Primitive | list[str]:  # the name that Python looks up
    if name == "__all__":
        return sorted(_all())
    if not name.startswith("_"):
        for primitives in (_declared, _all):
            primitive = primitives().get(name)
            if primitive is not None:
                globals()[name] = primitive
                return primitive
    return refusing(__name__)(name)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_all()})
