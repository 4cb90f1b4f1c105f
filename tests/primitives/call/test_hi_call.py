"""Operations of users on pytrees: derivatives and batches by the rules that they define."""

import numpy as np
import pytest

import jitney
from jitney.primitives.call.hi_call import VJPHiPrimitive, VmapOf
from jitney.transforms.batch import AxisData

X = np.float32([1, 2, 3])


class Operation(VJPHiPrimitive):
    """x^n of the entry "x" of a dict, and the entry "y" unchanged."""

    def __init__(self, aval, n):
        self.in_avals = ({"x": aval, "y": aval},)
        self.out_aval = (aval, aval)
        self.params = {"n": n}
        super().__init__()

    def expand(self, d):
        return d["x"] ** self.n, d["y"]


class Forward(Operation):
    def jvp(self, primals, tangents):
        (d,), (t,) = primals, tangents
        x, y = self(d)
        return (x, y), (self.n * d["x"] ** (self.n - 1) * t["x"], t["y"])


class Half(Operation):
    def vjp_fwd(self, nzs_in, d):
        return self(d), d["x"]


class Reverse(Half):
    def vjp_bwd_retval(self, x, cts):
        return ({"x": self.n * x ** (self.n - 1) * cts[0], "y": cts[1]},)

    def batch_dim_rule(self, axis_data, dims):
        return (dims[0]["x"], dims[0]["y"])


def apply(kind, n=3):
    return lambda x, y: kind(jitney.typeof(x), n)({"x": x, "y": y})


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit])
def test_values(wrap):
    power, same = wrap(apply(Operation))(X, -X)
    np.testing.assert_array_equal(power, X**3)
    np.testing.assert_array_equal(same, -X)


def test_derivatives_by_the_rules():
    _, (dpower, dsame) = jitney.jvp(apply(Forward), (X, X), (X, -X))
    np.testing.assert_array_equal(dpower, 3 * X**3)
    np.testing.assert_array_equal(dsame, -X)
    dx, dy = jitney.vjp(apply(Reverse), X, X)[1]((X, 10 * X))
    np.testing.assert_array_equal(dx, 3 * X**3)
    np.testing.assert_array_equal(dy, 10 * X)


def test_batches_by_the_rule_for_dimensions():
    rows = np.stack([X, 2 * X, 3 * X, 4 * X], 1)
    power, same = jitney.vmap(apply(Reverse), in_axes=1, out_axes=1)(rows, -rows)
    np.testing.assert_array_equal(power, rows**3)
    np.testing.assert_array_equal(same, -rows)
    slopes = jitney.vmap(jitney.grad(lambda x, y: apply(Reverse)(x, y)[0].sum()), in_axes=1)
    np.testing.assert_array_equal(slopes(rows, rows), 3 * rows.T**2)


def test_operations_are_equal_by_their_parameters():
    aval = jitney.typeof(X)
    one = Operation(aval, 3)
    assert one == Operation(aval, 3)
    assert hash(one) == hash(Operation(aval, 3))
    assert one != Operation(aval, 4)
    assert one != Forward(aval, 3)
    assert one != Operation(jitney.typeof(X[:2]), 3)
    assert repr(one) == "Operation[{'n': 3}]"
    dims, axis = ({"x": 0, "y": 0},), AxisData(None, 4)
    assert VmapOf(one, axis, dims, (0, 0)).in_avals_flat[0].shape == (4, 3)


def test_rules_that_are_missing():
    with pytest.raises(NotImplementedError, match="for forward derivatives, Operation must define"):
        jitney.jvp(apply(Operation), (X, X), (X, X))
    with pytest.raises(NotImplementedError, match=r"for reverse derivatives, .* vjp_bwd"):
        jitney.vjp(apply(Half), X, X)[1]((X, X))
    with pytest.raises(NotImplementedError, match="for vmap, Operation must define batch"):
        jitney.vmap(apply(Operation))(X, X)


def test_classes_that_are_incomplete():
    class Without(VJPHiPrimitive):
        def __init__(self):
            self.in_avals, self.out_aval = (), ()
            super().__init__()

    class Twice(Reverse):
        def vjp_bwd(self, res, outgrad, *accums):
            pass

    with pytest.raises(AttributeError, match=r"Without.__init__ must set self.params"):
        Without()
    with pytest.raises(AttributeError, match="only one of vjp_bwd and vjp_bwd_retval"):
        Twice(jitney.typeof(X), 3)
