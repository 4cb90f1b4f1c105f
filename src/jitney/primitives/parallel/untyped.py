"""Programs whose types say nothing of how arrays are divided.

A `shard_map` over some of a mesh's axes holds a program whose types say how parts are divided along the
other ones, if these are Explicit. Operations on all devices' parts at once (`spmd`) cut and join axes
of whole arrays, which no type allows. By then types have served: what they say of results is said, and
between there the compiler divides arrays as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core import explicit
from jitney.core.closed_programs import closed_of, constants_as_operands
from jitney.core.evaluate import evaluate_by
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.core.memo import memoize_by_identity
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec

if TYPE_CHECKING:
    from jitney.core.typing import Value


@memoize_by_identity
def has_types(jaxpr: Jaxpr) -> bool:
    """Returns whether types of a program, or of one within it, say how arrays are divided."""
    variables = [*jaxpr.constvars, *jaxpr.invars, *[v for e in jaxpr.eqns for v in e.outvars]]
    return any([explicit.sharding_of(v.aval) is not None for v in variables]) or any(
        [has_types(program.jaxpr) for e in jaxpr.eqns for program in jaxprs_in_params(e.params)]
    )


def evaluate(jaxpr: Jaxpr, consts: Sequence[Any], *args: Value) -> list[Any]:
    """Returns the results of `jaxpr` on values whose types say nothing, under the current trace."""
    return evaluate_by(bind, jaxpr, consts, args)


def bind(eqn: JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """Returns the results of an equation on such values."""
    params = {name: without_types(value) for name, value in eqn.params.items()}
    out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(params))
    return list(out) if eqn.primitive.multiple_results else [out]


@memoize_by_identity
def _untyped(closed: ClosedJaxpr) -> ClosedJaxpr:
    avals = [explicit.typed(aval, None) for aval in closed.in_avals]
    jaxpr, _, consts = trace_to_jaxpr(
        lambda *xs: evaluate(closed.jaxpr, closed.consts, *xs), avals, closed.jaxpr.debug_info
    )
    assert len(consts) == len(closed.consts), closed  # operands of the program that holds it stay
    return ClosedJaxpr(jaxpr, consts)


def without_types(value: object) -> Any:
    """A parameter of an equation: programs without such types, places on meshes of Auto axes."""
    if isinstance(value, Jaxpr):
        if value.is_closed:
            return _untyped(value) if has_types(value.jaxpr) else value
        if not has_types(value):
            return value
        return constants_as_operands(_untyped(closed_of(value)).jaxpr)
    if isinstance(value, NamedSharding):  # what is a sum is a matter of types, too
        spec = value.spec.update(unreduced=(), reduced=())
        return value.update(mesh=without_types(value.mesh), spec=spec)
    if isinstance(value, Mesh | AbstractMesh):
        return value.update(axis_types=(AxisType.Auto,) * len(value.axis_names))
    if isinstance(value, PartitionSpec):  # of the mesh in force
        return None
    if type(value) is tuple:
        return tuple(map(_of_several, cast("tuple[Any, ...]", value)))
    return value


def _of_several(value: object) -> Any:
    return value if isinstance(value, PartitionSpec) else without_types(value)
