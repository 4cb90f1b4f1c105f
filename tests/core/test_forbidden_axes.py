"""Axes along which communication is forbidden are sets of names, in a context."""

import pytest

from jitney.core.settings import options
from jitney.core.sharding_in_types.forbidden_axes import NoCollectives, _axes, no_collectives


def test_axes_are_forbidden_within_a_context():
    assert no_collectives.value == frozenset()
    outside = options.trace_epoch()
    with no_collectives({"x"}):
        assert no_collectives.value == {"x"}
        assert options.trace_epoch() != outside
        with no_collectives(frozenset()):
            assert options.trace_epoch() == outside
    assert no_collectives.value == frozenset()


@pytest.mark.parametrize("axes", ["x", ["x"], True, None])
def test_other_containers_are_refused(axes):
    with pytest.raises(TypeError, match="no_collectives takes a set of axis names, but got"):
        no_collectives(axes)


def test_the_environment_has_no_influence(monkeypatch):
    for name in ("JAX_NO_COLLECTIVES", "NO_COLLECTIVES"):
        monkeypatch.setenv(name, "x")
    assert NoCollectives("no_collectives", frozenset(), _axes).value == frozenset()
