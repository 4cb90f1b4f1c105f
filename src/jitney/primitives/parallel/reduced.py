"""Collectives on unreduced operands or with reduced results: see `core.sharding_in_types.sums`.

They compute the same values as `psum`, `psum_scatter` and `all_gather`, but have different types
and therefore different derivatives. The cotangent of the sum of an unreduced value is *reduced*,
equal on all devices; the cotangent of a reduced value is unreduced. Within a
`shard_map(..., check_vma=True)`, `psum`, `psum_scatter` and `all_gather(to="reduced")` bind these
primitives where types require it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding_in_types import varying
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.tracing.pvary import preduced_p
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.primitives import rules
from jitney.primitives.parallel.all_gather import (
    all_gather_p,
    gather_rows,
    reduce_scatter_p,
    scatter_rows,
)
from jitney.primitives.parallel.collectives import has_name, psum_invariant_p
from jitney.transforms.batch import AxisData

if TYPE_CHECKING:
    from jitney.core.typing import AxisName
    from jitney.primitives.rule_types import BatchDim, Dims, Operand, Param, Value


def _declared(
    name: str,
    model: Primitive,
    takes: str,
    result: Callable[[ManualAxisType, frozenset[Any]], ManualAxisType],
    **model_params: Param,
) -> Primitive:
    """Declares a collective that computes the same values as `model`, with different types.

    Args:
      name: the name of the primitive.
      model: the primitive that computes the same values.
      takes: the required type of operands along the axes: "varying" or "unreduced".
      result: (manual axis type of the operand, axes of the collective) -> that of the result.
      **model_params: parameters of `model` that this collective lacks.
    """
    prim = declare(name, linear=True)
    prim.communication(communication.of_collective)

    @prim.abstract
    def abstract_rule(x: ShapedArray, **params: Param) -> AbstractValue:
        manual, axes = x.manual_axis_type, frozenset(_names(params))
        if not axes <= getattr(manual, takes):
            raise ValueError(
                f"{name}: the operand must be {takes} along {', '.join(map(str, _names(params)))}, but "
                f"has type {x.str_short()}"
            )
        out = model.rules["abstract"](x, **params, **model_params)
        return varying.typed(out, result(manual, axes))

    prim.varying(varying.as_declared)
    prim.absent(
        "eager",
        "lower",
        why=f"`shard_map` batches it over its devices, and turns it into {model.name}",
    )
    return prim


def _names(params: Mapping[str, Any]) -> tuple[AxisName, ...]:
    return tuple(params["axes"] if "axes" in params else params["axis_name"])


# --- the sum of terms -------------------------------------------------------------------------------

unreduced_psum_p = _declared(
    "unreduced_psum", psum_invariant_p, "unreduced",
    lambda manual, axes: manual.update(unreduced=manual.unreduced - axes),
)  # fmt: skip


@unreduced_psum_p.batch_with_axis
def _unreduced_psum_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axes: tuple[AxisName, ...]
) -> tuple[Value, BatchDim]:
    if not has_name(axis_data, axes):
        return unreduced_psum_p.bind(args[0], axes=axes), dims[0]
    return psum_invariant_p.rules["batch_with_axis"](axis_data, args, dims, axes=axes)


def _unreduced_psum_transpose(ct: Value, x: Operand, *, axes: tuple[AxisName, ...]) -> Value:
    return preduced_p.bind(ct, axes=axes)


rules.deflinear(unreduced_psum_p, _unreduced_psum_transpose)

# --- the parts of such a sum ------------------------------------------------------------------------

unreduced_reduce_scatter_p = _declared(
    "unreduced_reduce_scatter", reduce_scatter_p, "unreduced",
    lambda manual, axes: manual.update(
        unreduced=manual.unreduced - axes, varying=manual.varying | axes
    ),
    axis_index_groups=None,
)  # fmt: skip


@unreduced_reduce_scatter_p.batch_with_axis
def _unreduced_reduce_scatter_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: tuple[AxisName, ...],
    **params: Any,
) -> tuple[Value, BatchDim]:  # fmt: skip
    if not has_name(axis_data, axis_name):
        return scatter_rows(
            unreduced_reduce_scatter_p, args[0], dims[0], axis_name=axis_name, **params
        )
    return reduce_scatter_p.rules["batch_with_axis"](
        axis_data, args, dims, axis_name=axis_name, axis_index_groups=None, **params
    )


def _unreduced_reduce_scatter_transpose(
    ct: Value, x: Operand, *, scatter_dimension: int, **params: Param
) -> Value:
    return all_gather_reduced_p.bind(ct, all_gather_dimension=scatter_dimension, **params)


rules.deflinear(unreduced_reduce_scatter_p, _unreduced_reduce_scatter_transpose)

# --- all parts, as one value ------------------------------------------------------------------------

all_gather_reduced_p = _declared(
    "all_gather_reduced", all_gather_p, "varying",
    lambda manual, axes: manual.update(
        varying=manual.varying - axes, reduced=manual.reduced | axes
    ),
    axis_index_groups=None,
)  # fmt: skip


@all_gather_reduced_p.batch_with_axis
def _all_gather_reduced_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: tuple[AxisName, ...],
    **params: Any,
) -> tuple[Value, BatchDim]:  # fmt: skip
    if not has_name(axis_data, axis_name):
        return gather_rows(all_gather_reduced_p, args[0], dims[0], axis_name=axis_name, **params)
    return all_gather_p.rules["batch_with_axis"](
        axis_data, args, dims, axis_name=axis_name, axis_index_groups=None, **params
    )


def _all_gather_reduced_transpose(
    ct: Value, x: Operand, *, all_gather_dimension: int, **params: Param
) -> Value:
    return unreduced_reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)


rules.deflinear(all_gather_reduced_p, _all_gather_reduced_transpose)
