"""Which results vary along the manual axes of a mesh, within a `shard_map` that checks it.

The types of values say so (`ShapedArray.manual_axis_type`). An operation's operands must vary along
the same axes, and so does its result. Where they do not, whoever records the operation makes them vary
first (`pvary`), so that derivatives are right: what is one value for all devices has the sum of their
cotangents. Operations to which this does not apply fill the slot `varying`.

This is the type system of "varying manual axes" of JAX's `shard_map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from jitney.core.avals import AbstractValue, ShapedArray
from jitney.core.manual_axes import ManualAxisType

if TYPE_CHECKING:
    from collections.abc import Callable


class Operation(Protocol):
    """What is asked of a primitive here."""

    rules: dict[str, Callable[..., Any]]
    called: str | None
    multiple_results: bool
    linear: bool
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
    """Whether values of some of these types vary along manual axes."""
    return any(
        [
            isinstance(aval, ShapedArray)
            and not aval.has_default_place
            and bool(aval.manual_axis_type)
            for aval in avals
        ]
    )


def axes_of(aval: AbstractValue) -> frozenset[Any]:
    """The manual axes that values of type `aval` vary along."""
    return aval.vma if isinstance(aval, ShapedArray) else frozenset()


def along(aval: AbstractValue, axes: frozenset[Any]) -> AbstractValue:
    """The type of a value that varies along `axes`."""
    if not isinstance(aval, ShapedArray) or aval.vma == axes:
        return aval
    return aval.update(manual_axis_type=ManualAxisType(varying=axes))


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
    each = {aval.vma for aval in avals if isinstance(aval, ShapedArray)}
    axes = frozenset[Any]().union(*each)
    if len(each) > 1:
        raise UnequalAxes(axes)
    if primitive.multiple_results:
        return [along(aval, axes) for aval in results]
    return along(results, axes)


def as_declared(_avals: object, _params: object, results: Any) -> Any:
    """A rule `varying`: the type rule itself says along which axes results vary."""
    return results
