"""Types along manual mesh axes, which track the values that vary, within a checking `shard_map`.

The type of a value records the axes along which it varies (`ShapedArray.manual_axis_type`). The
operands of an operation must vary along the same axes, and then its result varies along these axes,
too. If they do not, the trace that records the operation casts them first (`pvary`), which makes
derivatives correct: the cotangent of a value that is equal on all devices is the sum of the
cotangents on the devices. Linear operations on unreduced or reduced values have unreduced or
reduced results; other operations on them are rejected (`core.sharding_in_types.sums`). Operations
to which these rules do not apply fill the slot `varying`.

This is the type system of "varying manual axes" of JAX's `shard_map`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from jitney.core.sharding.manual_axes import NOT_MANUAL, ManualAxisType
from jitney.core.sharding_in_types import sums
from jitney.core.sharding_in_types.sums import ShardingTypeError
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.core.types.refs import AbstractRef

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitney.core.types.avals import ResultTypes

T = TypeVar("T")


class Operation(Protocol):
    """The interface of primitives that is needed here."""

    name: str
    rules: dict[str, Callable[..., Any]]
    called: str | None
    multiple_results: bool
    linearity: sums.Linearity
    declares_sharding: bool


class UnequalAxes(Exception):  # not an error: handled where operations are recorded
    """The operands of an operation vary along different axes.

    Attributes:
      axes: the union of these axes.
    """

    def __init__(self, axes: frozenset[Any]) -> None:
        super().__init__(axes)
        self.axes = axes


def is_manual(avals: Sequence[AbstractValue]) -> bool:
    """Returns whether some types, or types in references, have a nonempty manual axis type."""
    for aval in avals:
        if isinstance(aval, AbstractRef):
            aval = aval.inner_aval
        if isinstance(aval, ShapedArray) and not aval.has_default_place and aval.manual_axis_type:
            return True
    return False


def axes_of(aval: AbstractValue) -> frozenset[Hashable]:
    """Returns the manual axes along which values of type `aval` vary."""
    return aval.vma if isinstance(aval, ShapedArray) else frozenset()


def type_of(aval: AbstractValue) -> ManualAxisType:
    """Returns the manual axis type of `aval`."""
    return aval.manual_axis_type if isinstance(aval, ShapedArray) else NOT_MANUAL


def typed(aval: AbstractValue, manual: ManualAxisType) -> AbstractValue:
    """Returns `aval` with the manual axis type `manual`."""
    if not isinstance(aval, ShapedArray) or aval.manual_axis_type is manual:
        return aval
    return aval.update(manual_axis_type=manual)


def along(aval: AbstractValue, axes: frozenset[Any]) -> AbstractValue:
    """Returns `aval` with values that vary along exactly `axes`.

    The axes along which the values are unreduced or reduced stay the same.
    """
    if not isinstance(aval, ShapedArray) or aval.vma == axes:
        return aval
    return aval.update(manual_axis_type=aval.manual_axis_type.update(varying=axes))


def of_results(
    primitive: Operation, avals: Sequence[AbstractValue], params: dict[str, Any], results: Any
) -> ResultTypes:
    """Returns the types of the results of an operation, with their manual axis types.

    Args:
      primitive: the operation.
      avals: the types of its operands, some of which vary along manual axes.
      params: its parameters.
      results: the result type, or list of types, that its type rule returned.

    Raises:
      UnequalAxes: if the operands vary along different axes.
    """
    rule = primitive.rules.get("varying")
    if rule is not None:
        return rule(avals, params, results)
    if primitive.called is not None:
        return results
    each = [aval.manual_axis_type for aval in avals if isinstance(aval, ShapedArray)]
    if not each:
        return results
    axes = frozenset[Any]().union(*[manual.varying for manual in each])
    if any([manual.varying != axes for manual in each]):
        raise UnequalAxes(axes)
    manual = each[0]
    if any([x.unreduced or x.reduced for x in each]):
        manual = _of_sums(primitive, avals, axes)
    if primitive.multiple_results:
        return [typed(aval, manual) for aval in results]
    return typed(results, manual)


def _of_sums(
    primitive: Operation, avals: Sequence[AbstractValue], varying: frozenset[Any]
) -> ManualAxisType:
    """Returns the manual axis type of results if some operands are unreduced or reduced."""

    def refuse(why: str) -> NoReturn:
        types = ", ".join([aval.str_short(short_dtypes=True) for aval in avals])
        raise ShardingTypeError(
            f"{why} ({primitive.name} of {types}). Take sums first, with jax.lax.psum, or cast "
            "operands with jax.lax.pcast"
        )

    operands = [x.manual_axis_type if isinstance(x, ShapedArray) else None for x in avals]
    unreduced, reduced = sums.of_result(
        primitive.linearity, primitive.name, operands, refuse, contractions_gather=False
    )
    return ManualAxisType(varying=varying, unreduced=unreduced, reduced=reduced)


def as_declared(_avals: object, _params: object, results: T) -> T:
    """Returns `results` unchanged: the rule `varying` for type rules that set manual axis types."""
    return results


def varies_otherwise(aval: AbstractValue, wanted: AbstractValue) -> bool:
    """Returns whether the manual axis types of `aval` and `wanted` differ."""
    return type_of(aval) is not type_of(wanted)


def how_to_vary(aval: AbstractValue, wanted: AbstractValue, what: str) -> str:
    """Returns advice for a value of type `aval` that does not vary along all axes of `wanted`.

    It is a sentence, or an empty string if no cast is needed.
    """
    missing = axes_of(wanted) - axes_of(aval)
    if not missing:
        return ""
    axes = tuple(sorted(missing, key=str))
    return f". To cast {what}, apply `jax.lax.pcast(..., {axes}, to='varying')` to it"
