"""`jax.interpreters.xla`: evaluation of single primitives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core.avals import pytype_aval_mappings as pytype_aval_mappings
from jitney.core.primitive import Primitive
from jitney.runtime import eager

if TYPE_CHECKING:
    from jitney.core.typing import Value


def apply_primitive(prim: Primitive, *args: Value, **params: object) -> Any:
    """Compiles and runs `prim` on arrays: `prim.def_impl(partial(apply_primitive, prim))`."""
    return eager.run_compiled(prim, args, params)
