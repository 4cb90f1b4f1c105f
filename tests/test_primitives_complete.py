"""Every primitive has all of its rules, or says why not."""

import pytest

import jitney.experimental.sparse  # noqa: F401  # declares primitives
from jitney.core.tracing.primitive import registry, slots
from jitney.primitives import load_all

load_all.load()


@pytest.mark.parametrize("name", sorted(registry))
def test_slots(name):
    prim = registry[name]
    assert not prim.missing(), f"{name} has neither a rule nor an excuse for {prim.missing()}"
    assert prim.rules.keys() <= slots.keys()
    assert all(slots[name].required for name in prim.absences)
    assert all(prim.absences.values()), f"{name}: an absence without a reason"


@pytest.mark.parametrize("name", sorted(registry))
def test_evaluation(name):
    """A program can only be run if its primitives have a type, and a meaning or a lowering.

    But for those that batching replaces, since they stand within maps over devices only.
    """
    prim = registry[name]
    assert "abstract" in prim.rules
    has_rule = {"eager", "lower", "lower_with_avals"} & set(prim.rules)
    has_rule = has_rule or (
        {"batch_with_axis", "batch_with_trace"} & set(prim.rules)
        and {"eager", "lower"} <= set(prim.absences)
    )
    assert has_rule or (prim.user_impl is not None and "discharge" in prim.rules)


def test_rules_have_names():
    """Tracebacks and profiles show them: `_sin_jvp` says more than `_`."""
    unnamed = [
        f"{name}.{slot}"
        for name, prim in registry.items()
        for slot, rule in prim.rules.items()
        if getattr(rule, "__name__", "") == "_"
    ]
    assert not unnamed
