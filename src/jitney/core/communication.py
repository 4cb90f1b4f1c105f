"""Along which axes of a mesh an operation has devices communicate: what `no_collectives` asks.

Types tell it of most operations: an operand is divided along an axis, and no result is. Collectives
name their axes; they, and others that types do not tell of, have a rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from jitney.core import explicit
from jitney.core.primitive import declare_slot
from jitney.core.sharding.partition_spec import names_of

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue

# (types of operands, types of results, parameters) -> the communications of an operation
COMMUNICATION = declare_slot("communication")


class Communication(NamedTuple):
    """Devices communicate.

    Attributes:
      axes: of the mesh, along which they do.
      what: the operation does there, for messages.
    """

    axes: frozenset[Any]
    what: str


def of_types(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    """That of operations whose operands are divided along axes that no result is divided along."""
    (before, terms_before), (after, terms) = _divided(avals), _divided(outs)
    lost = (before - after - terms) | (terms_before - terms)
    return [Communication(lost, "has a result that is whole along them, and not unreduced")]


def of_collective(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    """That of collectives, whose parameter `axes` or `axis_name` names the axes."""
    own: Any = params["axes"] if "axes" in params else params["axis_name"]
    axes = cast("Sequence[Any]", own) if isinstance(own, tuple | list) else (own,)
    return [Communication(frozenset(axes), "acts on them")]


def of_contents(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    """That of operations which call programs: none, as the operations of these have their own."""
    return []


def unreduced_axes(avals: Sequence[AbstractValue]) -> frozenset[Any]:
    """Returns the axes of the mesh along which arrays of these types are terms of a sum."""
    return _divided(avals)[1]


def _divided(avals: Sequence[AbstractValue]) -> tuple[frozenset[Any], frozenset[Any]]:
    """The axes that arrays of these types are divided along, and those where they are unreduced."""
    specs = [place.spec for place in map(explicit.sharding_of, avals) if place is not None]
    along = [name for spec in specs for entry in spec for name in names_of(entry)]
    return frozenset(along), frozenset([name for spec in specs for name in spec.unreduced])
