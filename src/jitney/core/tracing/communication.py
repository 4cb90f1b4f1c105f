"""The mesh axes along which the devices communicate in an operation, for `no_collectives`.

For most operations types determine these axes: an operand is sharded along them, and no result is.
Collectives name their axes. They and other operations for which types do not suffice have a rule.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from jitney.core.sharding.partition_spec import names_of
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import declare_slot

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue

# (operand types, result types, parameters) -> list of communications of an operation
COMMUNICATION = declare_slot("communication")


class Communication(NamedTuple):
    """A communication between devices.

    Attributes:
      axes: the mesh axes along which the devices communicate.
      what: what the operation does there, for messages.
    """

    axes: frozenset[Any]
    what: str


def of_types(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    """Returns the communication along axes along which operands are sharded, but no result is.

    Axes along which a result is unreduced do not count. Axes along which operands are unreduced,
    but no result is, count as well.
    """
    (before, terms_before), (after, terms) = _divided(avals), _divided(outs)
    lost = (before - after - terms) | (terms_before - terms)
    return [Communication(lost, "has a result that is replicated along them, and not unreduced")]


def of_collective(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    """Returns the communication along the axes in the parameter `axes` or `axis_name`."""
    own: Any = params["axes"] if "axes" in params else params["axis_name"]
    axes = cast("Sequence[Any]", own) if isinstance(own, tuple | list) else (own,)
    return [Communication(frozenset(axes), "acts on them")]


def of_contents(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    """Returns no communication for operations that call programs: their equations are checked."""
    return []


def unreduced_axes(avals: Sequence[AbstractValue]) -> frozenset[Hashable]:
    """Returns the mesh axes along which arrays of these types are unreduced."""
    return _divided(avals)[1]


def _divided(avals: Sequence[AbstractValue]) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
    """Returns the mesh axes along which arrays of these types are sharded, and unreduced."""
    specs = [place.spec for place in map(explicit.sharding_of, avals) if place is not None]
    along = [name for spec in specs for entry in spec for name in names_of(entry)]
    return frozenset(along), frozenset([name for spec in specs for name in spec.unreduced])
