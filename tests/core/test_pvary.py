"""Values are cast along manual axes by the fewest casts, in the order of the scope."""

import numpy as np
import pytest

import jitney
import jitney.primitives.parallel.pvary  # the rules of the casts
from jitney.core.sharding.manual_axes import NOT_MANUAL, ManualAxisType
from jitney.core.tracing.pvary import as_type, in_order
from jitney.core.tracing.trace import extend_axis_env


def casts(manual):
    """Returns the names and axes of the casts of a value to a type."""
    with extend_axis_env(("z", 2), ("x", 2), ("y", 2)):
        program = jitney.make_jaxpr(lambda x: as_type(x, manual))(np.float32(1))
    return [(e.primitive.name, e.params["axes"]) for e in program.eqns]


def test_axes_are_in_the_order_of_the_scope():
    with extend_axis_env(("z", 2), ("x", 2)):
        assert in_order({"x", "z", "other"}) == ("z", "x")
        assert in_order(()) == ()
    assert in_order({"x"}) == ()


@pytest.mark.parametrize(
    "manual, expected",
    [
        (NOT_MANUAL, []),
        (ManualAxisType(varying="xz"), [("pvary", ("z", "x"))]),
        (ManualAxisType(reduced="y"), [("preduced", ("y",))]),
        (
            ManualAxisType(varying="x", unreduced="y"),
            [("pvary", ("x", "y")), ("vary_unreduced_cast_p", ("y",))],
        ),
    ],
    ids=["none", "varying", "reduced", "unreduced"],
)
def test_casts(manual, expected):
    assert casts(manual) == expected
