"""Composites are named operations with constant attributes, and without derivatives."""

import numpy as np
import pytest

import jitney
from jitney.core.diagnostics.errors import UnexpectedTracerError
from jitney.primitives.call.composite import HashableArray, composite

X = np.float32([1, 2])


def scaled(x, *, by):
    return {"y": x * by["k"], "sum": x.sum()}


operation = composite(scaled, "test.scaled", version=3)


def test_results_and_recorded_attributes():
    got = operation(X, by={"k": np.float32(3)})
    np.testing.assert_array_equal(got["y"], 3 * X)
    assert got["sum"] == 3
    closed = jitney.make_jaxpr(lambda x: operation(x, by={"k": np.float32([3, 4])}))(X)
    (eqn,) = closed.eqns
    assert (eqn.params["name"], eqn.params["version"]) == ("test.scaled", 3)
    ((name, leaves, _),) = eqn.params["attributes"]
    assert (name, leaves) == ("by", (HashableArray(np.float32([3, 4])),))
    got = jitney.jit(lambda x: operation(x, by={"k": 2})["y"])(X)
    np.testing.assert_array_equal(got, 2 * X)


def test_arrays_as_attributes_are_compared_by_type_and_elements():
    x = np.arange(4, dtype=np.int64)
    a = HashableArray(x)
    x[0] = 9
    assert a == HashableArray(np.arange(4))
    assert hash(a) == hash(HashableArray(np.arange(4)))
    for other in (np.arange(4).reshape(2, 2), np.arange(4, dtype=np.uint64), x):
        assert a != HashableArray(other)
    with pytest.raises(ValueError, match="read-only"):
        a.val[0] = 1


def test_rules_that_composites_do_not_have():
    def f(x):
        return operation(x, by={"k": 2})["y"]

    with pytest.raises(ValueError, match=r"composite 'test.scaled' has no derivative rule"):
        jitney.jvp(f, (X,), (X,))
    with pytest.raises(NotImplementedError, match="has no batching rule"):
        jitney.vmap(f)(X)


def test_traced_values_must_be_arguments():
    with pytest.raises(UnexpectedTracerError, match="attribute 'by' is traced"):
        jitney.jit(lambda x: operation(x, by={"k": x}))(X)
    with pytest.raises(UnexpectedTracerError, match="closes over a traced value"):
        jitney.jit(lambda x: composite(lambda y: x + y, "test.outside")(X))(X)
