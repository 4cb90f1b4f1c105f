"""Linearity of operations, which decides how they act on unreduced and reduced values.

A value that is *unreduced* along a mesh axis is a sum over the devices whose terms have not been
added yet: linear operations commute with the sum, others do not. A value that is *reduced* is equal
on all devices, and has unreduced cotangents. If one operand is reduced along an axis, all must be,
except in products with an unreduced operand and in contractions along Explicit axes. The rules are
the same for axes along which types shard arrays (`core.sharding_in_types.explicit`) and for axes
that programs are mapped over (`core.sharding_in_types.varying`). Each primitive declares its
`Linearity`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn, TypeAlias

from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.util.record import record

Refuse: TypeAlias = Callable[[str], NoReturn]  # raises an error for the operation, given a reason


class ShardingTypeError(Exception):
    """An operation has no rule for its operands' shardings; `jax.core.ShardingTypeError`."""


class NonlinearError(ShardingTypeError, NotImplementedError):
    """An operation that is not linear has an unreduced operand.

    JAX raises ShardingTypeError for some operations and NotImplementedError for others; before 0.12
    it raises NotImplementedError for most.
    """


@record(frozen=True, eq=False)
class Linearity:
    """The operands in which an operation is linear.

    Attributes:
      check: (name, operands, refuse) -> None; raises unless the results for unreduced operands are
        the terms of the result for their sums.
      elements: the operands that provide the elements of results. Other operands are positions or
        selectors, and must not be unreduced.
      mistakes_numbers: whether a scalar without a mesh is ambiguous, because it could be a term on
        each device or a common factor. If so, it is rejected together with an unreduced operand.
      is_contraction: whether operands are resharded along Explicit axes to match each other, so
        that they need not be reduced along the same axes.
    """

    check: Callable[[str, Sequence[ManualAxisType], Refuse], None]
    elements: slice = slice(None)
    mistakes_numbers: bool = False
    is_contraction: bool = False


def of_result(
    linearity: Linearity,
    name: str,
    operands: Sequence[ManualAxisType | None],
    refuse: Refuse,
    *,
    contractions_gather: bool,
) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
    """Returns the axes along which the results of an operation are unreduced, and reduced.

    Args:
      linearity: the linearity of the operation.
      name: its name.
      operands: for each operand, the axes along which it varies (or is sharded), is unreduced, and
        is reduced; None for operands that are not arrays, or are constants.
      refuse: raises an error for the operation on these operands, given a reason.
      contractions_gather: whether contractions move operands.

    Raises:
      NonlinearError: if the operation is not linear, and an operand is unreduced.
    """
    chosen = range(*linearity.elements.indices(len(operands)))
    if any([x is not None and x.unreduced for k, x in enumerate(operands) if k not in chosen]):
        refuse(f"{name}: positions must not be unreduced")
    elements = [x for x in operands[linearity.elements] if x is not None]
    unreduced = frozenset[Any]().union(*[x.unreduced for x in elements])
    reduced = frozenset[Any]().union(*[x.reduced for x in elements])
    if unreduced:
        linearity.check(name, elements, refuse)
        return unreduced, reduced - unreduced
    is_free = contractions_gather and linearity.is_contraction
    if reduced and not is_free and len(elements) > 1:
        if any([reduced & x.varying for x in elements]):
            refuse(
                f"{name}: an operand is reduced along {set(reduced)}, along which no other "
                "operand may be sharded or vary, but another one is sharded or varies along it"
            )
        if any([x.reduced != reduced for x in elements]):
            refuse(
                f"{name}: all operands must be reduced along {set(reduced)} if one is, but one is "
                "not"
            )
    return unreduced, reduced


def _check_nonlinear(name: str, operands: Sequence[ManualAxisType], _: Refuse) -> None:
    axes = set(frozenset[Any]().union(*[x.unreduced for x in operands]))
    raise NonlinearError(
        f"there is no unreduced rule for {name}, which is not linear: an operand is unreduced along "
        f"{axes}, and {name} cannot be applied to partial sums. Reduce the operand first, with "
        "jax.sharding.reshard, or with jax.lax.psum in a shard_map"
    )


def _check_terms(name: str, operands: Sequence[ManualAxisType], refuse: Refuse) -> None:
    """Raises unless all operands are unreduced along the same axes."""
    if len({x.unreduced for x in operands}) > 1:
        listed = ", ".join([str(set(x.unreduced) or "{}") for x in operands])
        what = "lhs and rhs" if len(operands) == 2 else "operands"
        if len(operands) == 2 and not all([x.unreduced for x in operands]):
            one, other = ("lhs", "rhs") if operands[0].unreduced else ("rhs", "lhs")
            listed += f": {one} is, but {other} is not"
        refuse(
            f"{name}: {what} must all be unreduced along the same axes, but are unreduced along "
            f"{listed}"
        )


def _check_product(name: str, operands: Sequence[ManualAxisType], refuse: Refuse) -> None:
    """Raises unless one operand is unreduced, and the other a factor common to all devices."""
    if len(operands) < 2:
        return  # multiplication by a scalar
    left, right = operands
    if left.unreduced and right.unreduced:
        refuse(f"{name} takes at most one unreduced operand, but got two")
    term, factor = (left, right) if left.unreduced else (right, left)
    if term.unreduced != factor.reduced:
        one, other = ("LHS", "RHS") if left.unreduced else ("RHS", "LHS")
        refuse(
            f"{name}: {other} must be reduced along {set(term.unreduced)}, along which {one} is "
            f"unreduced, but is reduced along {set(factor.reduced) or '{}'}"
        )


def _check_quotient(name: str, operands: Sequence[ManualAxisType], refuse: Refuse) -> None:
    """Raises unless each device divides its term by a denominator common to all devices."""
    numerator, denominator = operands
    if denominator.unreduced:
        refuse(
            f"{name}: the denominator must not be unreduced, but is unreduced along "
            f"{set(denominator.unreduced)}"
        )
    if denominator.reduced != numerator.unreduced:
        refuse(
            f"{name}: the denominator must be reduced along {set(numerator.unreduced)}, along "
            "which the numerator is unreduced, but is reduced along "
            f"{set(denominator.reduced) or '{}'}"
        )


NONLINEAR = Linearity(_check_nonlinear)
LINEAR = Linearity(_check_terms)  # jointly in all operands
SUM = Linearity(_check_terms, mistakes_numbers=True)
SELECTION = Linearity(_check_terms, slice(1, None))  # the first operand selects
SCATTERED_SUM = Linearity(_check_terms, slice(0, None, 2))  # (array, positions, updates)
LOOKUP = Linearity(_check_nonlinear, slice(0, 1))  # (array, positions); may insert a fill value
PRODUCT = Linearity(_check_product, mistakes_numbers=True)  # linear in each operand
CONTRACTION = Linearity(_check_product, is_contraction=True)
QUOTIENT = Linearity(_check_quotient, mistakes_numbers=True)  # linear in the numerator
