"""Programs without shardings in types.

A `shard_map` over some axes of a mesh contains a program whose types have shardings along the other
axes, if these are Explicit. Operations on the shards of all devices at once (`spmd`) split and
merge axes of global arrays, which such types do not permit. Therefore the shardings are removed. By
then, types have been checked, result shardings are known, and the compiler chooses the shardings of
intermediate values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.evaluate import evaluate_by
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding_in_types import explicit

if TYPE_CHECKING:
    from jitney.core.typing import Value


@memoize_by_identity
def has_types(jaxpr: Jaxpr) -> bool:
    """Returns whether the types of a program, or of inner programs, have shardings."""
    variables = [*jaxpr.constvars, *jaxpr.invars, *[v for e in jaxpr.eqns for v in e.outvars]]
    return any([explicit.sharding_of(v.aval) is not None for v in variables]) or any(
        [has_types(program.jaxpr) for e in jaxpr.eqns for program in jaxprs_in_params(e.params)]
    )


def evaluate(jaxpr: Jaxpr, consts: Sequence[Any], *args: Value) -> list[Value]:
    """Evaluates `jaxpr` on values whose types have no shardings, under the current trace."""
    return evaluate_by(bind, jaxpr, consts, args)


def bind(eqn: JaxprEqn, operands: Sequence[Any]) -> list[Value]:
    """Binds an equation to operands whose types have no shardings."""
    params = {name: without_types(value) for name, value in eqn.params.items()}
    out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(params))
    return list(out) if eqn.primitive.multiple_results else [out]


@memoize_by_identity
def _untyped(closed: ClosedJaxpr) -> ClosedJaxpr:
    avals = [explicit.typed(aval, None) for aval in closed.in_avals]
    jaxpr, _, consts = trace_to_jaxpr(
        lambda *xs: evaluate(closed.jaxpr, closed.consts, *xs), avals, closed.jaxpr.debug_info
    )
    assert len(consts) == len(closed.consts), closed  # its operands must not change
    return ClosedJaxpr(jaxpr, consts)


def without_types(value: object) -> object:
    """Removes shardings from the types in an equation parameter; meshes get Auto axes."""
    if isinstance(value, Jaxpr):
        if value.is_closed:
            return _untyped(value) if has_types(value.jaxpr) else value
        if not has_types(value):
            return value
        return constants_as_operands(_untyped(closed_of(value)).jaxpr)
    if isinstance(value, NamedSharding):  # unreduced and reduced axes are also a property of types
        spec = value.spec.update(unreduced=(), reduced=())
        return value.update(mesh=without_types(value.mesh), spec=spec)
    if isinstance(value, Mesh | AbstractMesh):
        return value.update(axis_types=(AxisType.Auto,) * len(value.axis_names))
    if isinstance(value, PartitionSpec):  # on the context mesh
        return None
    if type(value) is tuple:
        return tuple(map(_of_several, cast("tuple[Any, ...]", value)))
    return value


def _of_several(value: object) -> object:
    return value if isinstance(value, PartitionSpec) else without_types(value)
