"""Which results vary along the manual axes of a mesh, within a `shard_map` that checks it.

The types of values say so (`ShapedArray.manual_axis_type`). An operation's operands must vary along the
same axes, and so does its result. Where they do not, the trace that records the operation makes them
vary first (`pvary`), so that derivatives are right: what is one value for all devices has the sum of
their cotangents. What is unreduced, or reduced, is so afterwards if the operation is linear, or refused
(`core.sums`). Operations to which this does not apply fill the slot `varying`.

This is the type system of "varying manual axes" of JAX's `shard_map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from jitney.core import sums
from jitney.core.avals import AbstractValue, ShapedArray
from jitney.core.manual_axes import NOT_MANUAL, ManualAxisType
from jitney.core.refs import AbstractRef
from jitney.core.sums import ShardingTypeError

if TYPE_CHECKING:
    from collections.abc import Callable


class Operation(Protocol):
    """What is asked of a primitive here."""

    name: str
    rules: dict[str, Callable[..., Any]]
    called: str | None
    multiple_results: bool
    linearity: sums.Linearity
    declares_sharding: bool


class UnequalAxes(Exception):  # no error: it is answered where operations are recorded
    """The operands of an operation vary along different axes.

    Attributes:
      axes: all of these.
    """

    def __init__(self, axes: frozenset[Any]) -> None:
        super().__init__(axes)
        self.axes = axes


def is_manual(avals: Sequence[AbstractValue]) -> bool:
    """Whether values of some of these types, or what references hold, vary along manual axes."""
    for aval in avals:
        if isinstance(aval, AbstractRef):
            aval = aval.inner_aval
        if isinstance(aval, ShapedArray) and not aval.has_default_place and aval.manual_axis_type:
            return True
    return False


def axes_of(aval: AbstractValue) -> frozenset[Any]:
    """Returns the manual axes that values of type `aval` vary along."""
    return aval.vma if isinstance(aval, ShapedArray) else frozenset()


def type_of(aval: AbstractValue) -> ManualAxisType:
    """Returns how values of type `aval` relate along manual axes."""
    return aval.manual_axis_type if isinstance(aval, ShapedArray) else NOT_MANUAL


def typed(aval: AbstractValue, manual: ManualAxisType) -> AbstractValue:
    """Returns the type of a value that relates along manual axes as `manual` says."""
    if not isinstance(aval, ShapedArray) or aval.manual_axis_type is manual:
        return aval
    return aval.update(manual_axis_type=manual)


def along(aval: AbstractValue, axes: frozenset[Any]) -> AbstractValue:
    """Returns the type of a value that varies along `axes`; along others nothing changes."""
    if not isinstance(aval, ShapedArray) or aval.vma == axes:
        return aval
    return aval.update(manual_axis_type=aval.manual_axis_type.update(varying=axes))


def of_results(
    primitive: Operation, avals: Sequence[AbstractValue], params: dict[str, Any], results: Any
) -> Any:
    """Types of the results of an operation, some of whose operands vary along manual axes.

    Args:
      primitive: the operation.
      avals: types of its operands.
      params: its parameters.
      results: types of its results by its type rule: a list, or one.

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
    """Returns how results relate, some of whose operands are unreduced or reduced."""

    def refuse(why: str) -> NoReturn:
        types = ", ".join([aval.str_short(short_dtypes=True) for aval in avals])
        raise ShardingTypeError(
            f"{why} ({primitive.name} of {types}). Take sums first, by jax.lax.psum, or cast operands "
            "by jax.lax.pcast"
        )

    operands = [x.manual_axis_type if isinstance(x, ShapedArray) else None for x in avals]
    unreduced, reduced = sums.of_result(
        primitive.linearity, primitive.name, operands, refuse, contractions_gather=False
    )
    return ManualAxisType(varying=varying, unreduced=unreduced, reduced=reduced)


def as_declared(_avals: object, _params: object, results: Any) -> Any:
    """Returns a rule `varying`: the type rule itself says along which axes results vary."""
    return results


def varies_otherwise(aval: AbstractValue, wanted: AbstractValue) -> bool:
    """Whether values of type `aval` relate along manual axes otherwise than those of type `wanted`."""
    return type_of(aval) is not type_of(wanted)


def how_to_vary(aval: AbstractValue, wanted: AbstractValue, what: str) -> str:
    """What to do about a value of type `aval` that does not vary wherever `wanted` does: a sentence."""
    missing = axes_of(wanted) - axes_of(aval)
    if not missing:
        return ""
    axes = tuple(sorted(missing, key=str))
    return f". To cast {what}, apply `jax.lax.pcast(..., {axes}, to='varying')` to it"
