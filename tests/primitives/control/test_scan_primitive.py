"""The primitive `scan`: dead results are pruned, and loops are transposed and split."""

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.core.program import typecheck
from jitney.interpreters import partial_eval as pe

XS = np.array([1, 2, 3], np.float32)


def loop(c, xs):
    """The carry is multiplied by rows; a second one, which nothing depends on, adds them up."""

    def body(carry, x):
        return (carry[0] * x, carry[1] + x), (carry[0], carry[1])

    return lax.scan(body, (c, 0.0), xs)


def scans(closed):
    return [e for e in closed.jaxpr.eqns if e.primitive.name == "scan"]


def test_results_that_are_not_used_are_pruned():
    closed = jitney.make_jaxpr(lambda c, xs: loop(c, xs)[1][0])(1.0, XS)
    pruned, used = pe.dce_jaxpr(closed.jaxpr, [True])
    (eqn,) = [e for e in pruned.eqns if e.primitive.name == "scan"]
    _, carry, rows = eqn.params["ft_in"].elts
    assert (len(carry), len(rows), len(eqn.outvars)) == (1, 1, 2)
    assert used == [True, True]
    typecheck.check_jaxpr(pruned)


def test_cotangents_of_carry_rows_and_constants():
    c = np.float32(2)

    def f(c, xs, k):
        return lax.scan(lambda a, x: (a * x * k, a), c, xs)

    (_, olds), pull = jitney.vjp(f, c, XS, np.float32(1))
    np.testing.assert_array_equal(olds, [2, 2, 4])
    dc, dxs, dk = pull((np.float32(1), np.zeros(3, np.float32)))
    assert dc == 6
    np.testing.assert_allclose(dxs, 12 / XS)
    assert dk == 36
    dc, dxs, _ = pull((np.float32(0), np.array([1, 1, 1], np.float32)))
    assert dc == 1 + 1 + 2
    np.testing.assert_array_equal(dxs, [2 + 4, 2, 0])


@pytest.mark.parametrize("axes", [(0, None), (None, 1), (0, 1)])
def test_batches(axes):
    c, xs = np.float32([1, 2]), np.stack([XS, XS + 1], 1)
    got, _ = jitney.vmap(loop, in_axes=axes)(
        c if axes[0] == 0 else c[0], xs if axes[1] == 1 else xs[:, 0]
    )
    products = np.prod(xs, 0) if axes[1] == 1 else np.prod(XS)
    np.testing.assert_array_equal(got[0], (c if axes[0] == 0 else c[0]) * products * np.ones(2))


def test_what_does_not_depend_on_unknown_values_is_computed_at_once():
    _, linear = jitney.linearize(lambda c: loop(c, XS)[0][0], np.float32(2))
    text = str(jitney.make_jaxpr(linear)(np.float32(1)))
    assert "add" not in text  # the sum of the rows does not depend on c
    assert linear(np.float32(3)) == 18
