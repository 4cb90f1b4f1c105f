"""What classes show of their objects: ufuncs, estimates of densities, stages."""

import inspect

import numpy as np
import pytest
from tests.helpers.both import check_claim, of_both


@pytest.mark.parametrize("name", ["nin", "nout", "nargs", "identity"])
def test_ufuncs(name):
    def found(j):
        assert isinstance(inspect.getattr_static(j.numpy.ufunc, name), property)
        with pytest.raises(AttributeError):
            setattr(j.numpy.add, name, 3)
        functions = ("add", "multiply", "maximum", "negative")
        return [getattr(getattr(j.numpy, f), name) for f in functions]

    ours, theirs = of_both(found)
    assert ours == theirs


def test_estimates_of_densities():
    def claim(j):
        kde = j.scipy.stats.gaussian_kde
        names = ("neff", "dataset", "weights", "covariance", "inv_cov")
        assert all(hasattr(kde, name) for name in names)
        estimate = kde(np.array([1.0, 2, 4], np.float32))
        assert not hasattr(estimate, "__dict__")
        with pytest.raises(AttributeError, match="cannot assign"):
            estimate.dataset = 0
        doubled = j.tree.map(lambda x: 2 * x, estimate)
        np.testing.assert_array_equal(doubled.dataset, [[2, 4, 8]])

    check_claim(claim)


def test_stages():
    def claim(j):
        traced = j.jit(lambda x, y=1: {"a": x + y}).trace(1.0, y=2)
        for stage in (traced, traced.lower(), traced.lower().compile()):
            assert str(stage.in_tree) == "PyTreeDef(((*,), {'y': *}))"
            assert str(stage.out_tree) == "PyTreeDef({'a': *})"
            assert hasattr(type(stage), "in_tree") and hasattr(type(stage), "out_tree")
        assert traced.fun_name == "<lambda>" and hasattr(type(traced), "fun_name")

    check_claim(claim)
