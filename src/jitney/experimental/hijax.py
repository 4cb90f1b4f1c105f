"""`jax.experimental.hijax`: user-defined types as values of jaxprs, and operations on them.

A value of a user-defined type is a Python object that represents one or more arrays. In a jaxpr it
is a single variable, and users define how operations on it are differentiated and batched. Before a
jaxpr is compiled, it is lowered to operations on arrays. See `docs/hijax.md`.
"""

import jitney.ref  # noqa: F401  # types of references describe the methods of these
from jitney.core.tracing.hi_primitive import HiPrimitive as HiPrimitive
from jitney.core.tracing.hi_types import (
    AvalMutableQDD as AvalMutableQDD,
    AvalQDD as AvalQDD,
    HiPspec as HiPspec,
    HiType as HiType,
    MutableHiType as MutableHiType,
    aval_method as aval_method,
    aval_property as aval_property,
    register_hitype as register_hitype,
)
from jitney.core.types.avals import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from jitney.core.types.effects import control_flow_allowed_effects as control_flow_allowed_effects
from jitney.core.types.refs import AbstractRef as AbstractRef
from jitney.core.util.lazy import listing
from jitney.experimental.hijax_rules import (
    HiPrim as HiPrim,
    MappingSpec as MappingSpec,
    bdims_at_front as bdims_at_front,
    jvp_from_lin as jvp_from_lin,
    linearize_from_jvp as linearize_from_jvp,
    unmap_avals as unmap_avals,
    vjp_from_jvp as vjp_from_jvp,
    vjp_from_lin as vjp_from_lin,
    vmap_rule as vmap_rule,
)
from jitney.interpreters.ad import instantiate_zeros as instantiate_zeros
from jitney.primitives.call.hi_call import VJPHiPrimitive as VJPHiPrimitive
from jitney.primitives.refs.accumulator import RefAccum as RefAccum
from jitney.primitives.refs.ref import TransformedRef as TransformedRef
from jitney.transforms.accumulators import (
    GradAccum as GradAccum,
    NullAccum as NullAccum,
    ValAccum as ValAccum,
)
from jitney.transforms.transpose import is_undefined_primal as is_undefined_primal
from jitney.transforms.zero import Zero as Zero

__dir__ = listing(__name__)
