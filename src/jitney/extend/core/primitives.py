"""`jax.extend.core.primitives`: the operations that programs are made of, each as `name_p`.

The names are those of the primitives, with underscores; `primitives.add_p` is what a jaxpr prints as
`add`. Libraries load this module with `jax.extend`, most of them without using it: operations whose
modules are not loaded yet are declared when one is asked for that is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.lazy import refusing
from jitney.core.primitive import Primitive, registry

if TYPE_CHECKING:
    __all__: list[str]

# What JAX calls differently here than in jaxprs.
_RENAMED = {
    "add_any_p": "add_jaxvals_p",
    "custom_linear_solve_p": "linear_solve_p",
    "remat2_p": "remat_p",
}


def _declared() -> dict[str, Primitive]:
    """Returns the primitives that have been declared, by their names here."""
    by_name = {f"{name.replace('-', '_')}_p": primitive for name, primitive in registry.items()}
    return {_RENAMED.get(name, name): primitive for name, primitive in by_name.items()}


def _all() -> dict[str, Primitive]:
    from jitney.primitives import load_all

    load_all.load()
    return _declared()


def __getattr__(name: str) -> Primitive | list[str]:  # what Python calls it
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
