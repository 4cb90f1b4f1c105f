"""`jax.interpreters.xla`: evaluation of primitives, and conversion of values of user-defined types.

A type that represents arrays is registered in `jax.core.pytype_aval_mappings`, with a function that
returns the abstract value of an object, and in `canonicalize_dtype_handlers`, with a function that
returns the array:

    jax.core.pytype_aval_mappings[Variable] = lambda v: jax.core.ShapedArray(v.shape, v.dtype)
    jax.interpreters.xla.canonicalize_dtype_handlers[Variable] = lambda v: v.data
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import host_values as canonicalize_dtype_handlers
from jitney.core.util.lazy import listing
from jitney.runtime.devices.client import Client as Backend
from jitney.runtime.execution import eager

if TYPE_CHECKING:
    from jitney.core.typing import Value

__all__ = ["Backend", "apply_primitive", "canonicalize_dtype_handlers"]

__dir__ = listing(__name__)


def apply_primitive(prim: Primitive, *args: Value, **params: object) -> object:
    """Compiles and runs `prim` on arrays, for `prim.def_impl(partial(apply_primitive, prim))`."""
    return eager.run_compiled(prim, args, params)
