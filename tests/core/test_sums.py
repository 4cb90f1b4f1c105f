"""Which unreduced and reduced operands operations take: `jitney.core.sharding_in_types.sums`."""

from typing import NoReturn

import pytest

from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding_in_types import sums

SAME = ManualAxisType()
DIVIDED = ManualAxisType(varying=["x"])
TERMS = ManualAxisType(unreduced=["x"])
OTHER_TERMS = ManualAxisType(unreduced=["y"])
REDUCED = ManualAxisType(reduced=["x"])


def refuse(why: str) -> NoReturn:
    raise sums.ShardingTypeError(why)


def of_result(linearity, *operands, contractions_gather=False):
    """(axes along which the result is unreduced, reduced), each as a text."""
    unreduced, reduced = sums.of_result(
        linearity, "f", operands, refuse, contractions_gather=contractions_gather
    )
    return "".join(sorted(unreduced)), "".join(sorted(reduced))


@pytest.mark.parametrize(
    "linearity, operands, expected",
    [
        (sums.NONLINEAR, (SAME, DIVIDED), ("", "")),
        (sums.NONLINEAR, (REDUCED,), ("", "x")),
        (sums.NONLINEAR, (REDUCED, REDUCED), ("", "x")),
        (sums.LINEAR, (TERMS,), ("x", "")),
        (sums.LINEAR, (TERMS, TERMS), ("x", "")),
        (sums.LINEAR, (TERMS, None), ("x", "")),  # a constant that lies anywhere
        (sums.SELECTION, (SAME, TERMS, TERMS), ("x", "")),
        (sums.SELECTION, (SAME, REDUCED, REDUCED), ("", "x")),
        (sums.SELECTION, (None, TERMS, TERMS), ("x", "")),
        (sums.SCATTERED_SUM, (TERMS, SAME, TERMS), ("x", "")),
        (sums.LOOKUP, (REDUCED, SAME), ("", "x")),
        (sums.LOOKUP, (REDUCED, SAME, SAME), ("", "x")),
        (sums.PRODUCT, (TERMS, REDUCED), ("x", "")),
        (sums.PRODUCT, (REDUCED, TERMS), ("x", "")),
        (sums.PRODUCT, (TERMS, None), ("x", "")),
        (sums.CONTRACTION, (TERMS, REDUCED), ("x", "")),
        (sums.QUOTIENT, (TERMS, REDUCED), ("x", "")),
    ],
)
def test_results(linearity, operands, expected):
    assert of_result(linearity, *operands) == expected


@pytest.mark.parametrize(
    "linearity, operands, why",
    [
        (sums.LINEAR, (TERMS, SAME), "lhs is, but rhs is not"),
        (sums.LINEAR, (TERMS, OTHER_TERMS), "along the same axes"),
        (sums.SELECTION, (TERMS, SAME, SAME), "positions must not be unreduced"),
        (sums.SELECTION, (SAME, TERMS, SAME), "lhs is, but rhs is not"),
        (sums.SCATTERED_SUM, (SAME, TERMS, SAME), "positions must not be unreduced"),
        (sums.SCATTERED_SUM, (TERMS, SAME, SAME), "along the same axes"),
        (sums.PRODUCT, (TERMS, TERMS), "takes at most one unreduced operand, but got two"),
        (
            sums.PRODUCT,
            (SAME, TERMS),
            "LHS must be reduced along {'x'}, along which RHS is unreduced",
        ),
        (sums.QUOTIENT, (REDUCED, TERMS), "the denominator must not be unreduced"),
        (sums.QUOTIENT, (TERMS, SAME), "the denominator must be reduced along {'x'}"),
        (sums.NONLINEAR, (REDUCED, SAME), "all operands must be reduced"),
        (sums.NONLINEAR, (REDUCED, DIVIDED), "no other operand may be sharded or vary"),
        (sums.CONTRACTION, (REDUCED, SAME), "all operands must be reduced"),
    ],
)
def test_refused(linearity, operands, why):
    with pytest.raises(sums.ShardingTypeError, match=f"f.*{why}"):
        of_result(linearity, *operands)


@pytest.mark.parametrize("linearity", [sums.NONLINEAR, sums.LOOKUP])
@pytest.mark.parametrize("error", [sums.ShardingTypeError, NotImplementedError])
def test_nonlinear(linearity, error):
    with pytest.raises(error, match="f, which is not linear: an operand is unreduced"):
        of_result(linearity, TERMS)


def test_contractions_move_operands_along_explicit_axes():
    assert of_result(sums.CONTRACTION, REDUCED, SAME, contractions_gather=True) == ("", "x")
    with pytest.raises(sums.ShardingTypeError):
        of_result(sums.PRODUCT, REDUCED, SAME, contractions_gather=True)
