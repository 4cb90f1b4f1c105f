"""Which operations take unreduced values, and which of them commute with the sum.

What is *unreduced* along an axis of a mesh is terms of a sum: a linear operation may go before the sum,
others may not. What is *reduced* is a sum, whose cotangents are such terms; so others may not differ
along the axis. The rules are the same for axes that types say arrays are divided along
(`core.explicit`), and for those that programs are mapped over (`core.varying`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

from jitney.core.manual_axes import ManualAxisType

T = TypeVar("T")

# Operations of several operands that are linear in all of them together, beside those that say so.
_ADDITIVE = frozenset(["add", "sub", "add_any", "convert_element_type", "scatter-add"])
# Operations of two operands that are linear in each of them.
_BILINEAR = frozenset(["mul", "dot_general", "conv_general_dilated"])

# Operations of terms and numbers that are refused: what a number means, the term of each device or what
# all of them share, types have to say. (Elsewhere numbers on no mesh are zeros that fill.)
MIND_NUMBERS = frozenset(["add", "sub", "mul", "div"])

# Which operands the results are made of; the others say where elements are.
_ELEMENTS = {"gather": (0,), "dynamic_slice": (0,), "scatter-add": (0, 2)}


def elements_and_positions(name: str, operands: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Returns the operands that the results are made of, and those that say where elements are."""
    elements = _ELEMENTS.get(name)
    if elements is None:
        return operands, ()
    positions = [x for k, x in enumerate(operands) if k not in elements]
    return [operands[k] for k in elements], positions


class ShardingTypeError(Exception):
    """Operands are divided in ways that an operation has no rule for; `jax.core.ShardingTypeError`."""


class Operation(Protocol):
    """What is asked of a primitive here."""

    @property
    def linear(self) -> bool: ...


def of_result(
    primitive: Operation,
    name: str,
    operands: Sequence[ManualAxisType],
    refuse: Callable[[str], NoReturn],
    *,
    contractions_gather: bool,
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Returns the axes along which the results of an operation are unreduced, and reduced.

    Args:
      primitive: the operation.
      name: its name.
      operands: for each operand, the axes along which it varies (or is divided), is unreduced, reduced.
      refuse: raises the error of an operation that does not go with its operands, with a reason.
      contractions_gather: whether operands of contractions are moved to where the others are, so that
        these need not be reduced along the same axes.

    Raises:
      NotImplementedError: if the operation is not linear, and an operand is unreduced.
    """
    unreduced = frozenset[Any]().union(*[x.unreduced for x in operands])
    reduced = frozenset[Any]().union(*[x.reduced for x in operands])
    if unreduced:
        _check_unreduced(primitive, name, operands, refuse)
        return unreduced, reduced - unreduced
    is_free = contractions_gather and name in _BILINEAR - {"mul"}
    if reduced and not is_free and len(operands) > 1:
        if any([reduced & x.varying for x in operands]):
            refuse(
                f"{name}: an operand is reduced along {set(reduced)}, where no other may be "
                "divided or vary, "
                "but one does"
            )
        if any([x.reduced != reduced for x in operands]):
            refuse(
                f"{name}: all operands must be reduced along {set(reduced)}, as one is, but one is "
                "not"
            )
    return unreduced, reduced


def _check_unreduced(
    primitive: Operation,
    name: str,
    operands: Sequence[ManualAxisType],
    refuse: Callable[[str], NoReturn],
) -> None:
    """Raises if the operation does not go before the sums that its operands are terms of."""
    if name in _BILINEAR:
        if len(operands) < 2:
            return  # times a number
        left, right = operands
        if left.unreduced and right.unreduced:
            refuse(f"{name} takes one operand that is unreduced, not two")
        term, factor = (left, right) if left.unreduced else (right, left)
        if term.unreduced != factor.reduced:
            one, other = ("LHS", "RHS") if left.unreduced else ("RHS", "LHS")
            refuse(
                f"{name}: {other} must be reduced along {set(term.unreduced)}, where {one} is "
                "unreduced, but is "
                f"along {set(factor.reduced) or '{}'}"
            )
        return
    if name == "div":
        _check_quotient(operands, refuse)
        return
    if not primitive.linear and name not in _ADDITIVE and name != "select_n":
        raise NotImplementedError(
            f"there is no unreduced rule for {name}, which is not linear: an operand is unreduced "
            f"along {set(frozenset[Any]().union(*[x.unreduced for x in operands]))}, and {name} of a "
            "sum is not a sum. Reduce it first, by jax.sharding.reshard, or jax.lax.psum in a shard_map"
        )
    if len({x.unreduced for x in operands}) > 1:
        listed = ", ".join([str(set(x.unreduced) or "{}") for x in operands])
        what = "lhs and rhs" if len(operands) == 2 else "operands"
        if len(operands) == 2 and not all([x.unreduced for x in operands]):
            one, other = ("lhs", "rhs") if operands[0].unreduced else ("rhs", "lhs")
            listed += f": {one} is unreduced while {other} is not"
        refuse(
            f"{name}: {what} must all be unreduced along one set of axes, but are so along {listed}"
        )


def _check_quotient(operands: Sequence[ManualAxisType], refuse: Callable[[str], NoReturn]) -> None:
    """Raises unless each device divides its terms by what all of them share."""
    numerator, denominator = operands
    if denominator.unreduced:
        refuse(
            f"div: the denominator must not be unreduced, but is along {set(denominator.unreduced)}"
        )
    if denominator.reduced != numerator.unreduced:
        refuse(
            f"div: the denominator must be reduced along {set(numerator.unreduced)}, where the "
            f"numerator is unreduced, but is along {set(denominator.reduced) or '{}'}"
        )
