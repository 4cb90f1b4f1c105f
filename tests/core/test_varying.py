"""Results vary along the manual axes along which their operands do."""

import types

import numpy as np
import pytest

from jitney.core.sharding.manual_axes import NOT_MANUAL, ManualAxisType
from jitney.core.sharding_in_types import sums, varying
from jitney.core.sharding_in_types.varying import UnequalAxes
from jitney.core.types.avals import shaped_array

PLAIN = shaped_array((3,), np.dtype(np.float32))
X = varying.along(PLAIN, frozenset("x"))
XY = varying.along(PLAIN, frozenset("xy"))


def operation(linearity=sums.NONLINEAR, **attributes):
    given = {"name": "op", "rules": {}, "called": None, "multiple_results": False, **attributes}
    return types.SimpleNamespace(linearity=linearity, **given)


def test_types_vary_along_axes():
    assert varying.axes_of(X) == {"x"}
    assert varying.axes_of(PLAIN) == frozenset()
    assert varying.type_of(PLAIN) is NOT_MANUAL
    assert varying.along(X, frozenset("x")) is X
    assert varying.typed(XY, NOT_MANUAL) == PLAIN
    assert varying.is_manual([PLAIN, X])
    assert not varying.is_manual([PLAIN])
    assert varying.varies_otherwise(PLAIN, X)
    assert not varying.varies_otherwise(X, varying.along(PLAIN, frozenset("x")))


def test_results_vary_like_operands():
    assert varying.of_results(operation(), [X, X], {}, PLAIN) == X
    assert varying.of_results(operation(multiple_results=True), [XY], {}, [PLAIN, X]) == [XY, XY]
    assert varying.of_results(operation(), [], {}, PLAIN) == PLAIN
    with pytest.raises(UnequalAxes) as raised:
        varying.of_results(operation(), [X, PLAIN], {}, PLAIN)
    assert raised.value.axes == {"x"}


def test_rules_and_calls_define_their_own_types():
    rule = {"varying": lambda avals, params, results: (avals, params, results)}
    assert varying.of_results(operation(rules=rule), [X], {"n": 1}, PLAIN) == ([X], {"n": 1}, PLAIN)
    assert varying.of_results(operation(called="jaxpr"), [X, PLAIN], {}, PLAIN) is PLAIN
    assert varying.as_declared(None, None, XY) is XY


def test_only_linear_operations_take_terms_of_sums():
    terms = varying.typed(PLAIN, ManualAxisType(unreduced="x"))
    assert varying.of_results(operation(sums.LINEAR), [terms, terms], {}, PLAIN) == terms
    with pytest.raises(sums.ShardingTypeError, match="op, which is not linear"):
        varying.of_results(operation(), [terms, terms], {}, PLAIN)
    with pytest.raises(
        sums.ShardingTypeError, match=r"\(op of .*Take sums first, with jax.lax.psum"
    ):
        varying.of_results(operation(sums.LINEAR), [terms, PLAIN], {}, PLAIN)


def test_advice_names_the_missing_axes():
    advice = varying.how_to_vary(PLAIN, XY, "the carry")
    assert advice.endswith("apply `jax.lax.pcast(..., ('x', 'y'), to='varying')` to it")
    assert varying.how_to_vary(XY, X, "the carry") == ""
