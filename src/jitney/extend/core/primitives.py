"""`jax.extend.core.primitives`: the operations that programs are made of, each as `name_p`.

The names are those of the primitives, with underscores; `primitives.add_p` is what a jaxpr prints as
`add`.
"""

from __future__ import annotations

from jitney.core.primitive import Primitive, registry
from jitney.primitives import load_all

load_all.load()


def _attribute(name: str) -> str:
    return name.replace("-", "_") + "_p"


# What JAX calls differently here than in jaxprs.
_RENAMED = {"add_any_p": "add_jaxvals_p", "checkpoint_p": "remat_p"}

_by_attribute: dict[str, Primitive] = {}
for _name, _primitive in registry.items():
    _own = _attribute(_name)
    _by_attribute[_RENAMED.get(_own, _own)] = _primitive

globals().update(_by_attribute)
__all__ = sorted(_by_attribute)  # pyright: ignore[reportUnsupportedDunderAll]  # made of a table
