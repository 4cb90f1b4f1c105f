"""A kind of reduction needs axes to reduce along, and only sums are supported."""

import pytest

from jitney.core.sharding.unreduced_kind import UnreducedKind, check_kind, refuse_extremes


def test_kinds_need_unreduced_axes():
    check_kind(UnreducedKind.max, {"x"})
    with pytest.raises(ValueError, match="must be None if no axes are unreduced"):
        check_kind(UnreducedKind.sum, ())
    with pytest.raises(TypeError, match="UnreducedKind or None, but is 'sum'"):
        check_kind("sum", {"x"})


def test_extremes_are_refused():
    refuse_extremes(None, "P")
    refuse_extremes(UnreducedKind.sum, "P")
    for kind in (UnreducedKind.max, UnreducedKind.min):
        with pytest.raises(NotImplementedError, match="P: arrays of partial maxima and minima"):
            refuse_extremes(kind, "P")
