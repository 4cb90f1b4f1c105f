"""Loops with a condition: forward derivatives, batches that end at different times, and errors."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.control.while_loop import while_from, while_loop


def doubled_until(limit):
    def f(x):
        return while_loop(lambda c: c[1] < limit, lambda c: (c[0] + 1, 2 * c[1]), (0, x))

    return f


def test_values_and_tangents():
    count, x = doubled_until(20.0)(3.0)
    assert (int(count), float(x)) == (3, 24)
    (_, dx) = jitney.jvp(lambda x: doubled_until(20.0)(x)[1], (3.0,), (1.0,))
    assert dx == 8
    assert doubled_until(1.0)(3.0)[1] == 3  # the body does not run at all


def test_instances_end_at_different_times():
    counts, x = jitney.vmap(doubled_until(20.0))(np.float32([3, 30, 1]))
    np.testing.assert_array_equal(counts, [3, 0, 5])
    np.testing.assert_array_equal(x, [24, 30, 32])
    counts, x = jitney.vmap(lambda limit: doubled_until(limit)(1.0))(np.float32([0, 5]))
    np.testing.assert_array_equal(counts, [0, 3])


def test_carries_that_do_not_depend_on_the_batch_stay_unbatched():
    def f(x):
        return while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, 1.0))

    closed = jitney.make_jaxpr(jitney.vmap(f, out_axes=(None, 0)))(np.float32([2, 3]))
    (eqn,) = [e for e in closed.eqns if e.primitive.name == "while"]
    assert [v.aval.shape for v in eqn.outvars] == [(), (2,)]
    np.testing.assert_array_equal(jitney.vmap(f)(np.float32([2, 3]))[1], [8, 27])


def test_functions_of_one_source_are_traced_once():
    traces = []

    def body(x):
        traces.append(x)
        return x + 1

    for _ in range(3):
        last = while_from(
            (body, "c"), (body, "b"), lambda x: x < 3, lambda x: body(x), jnp.int32(0)
        )
    assert last == 3
    assert len(traces) == 1


def test_reverse_derivatives_are_refused():
    with pytest.raises(ValueError, match="have no reverse-mode derivative"):
        jitney.grad(lambda x: doubled_until(20.0)(x)[1])(3.0)


@pytest.mark.parametrize(
    ("cond", "body", "match"),
    [
        (3, lambda x: x, "`cond_fun` and `body_fun` must be functions"),
        (lambda x: (x < 3, x), lambda x: x, "one boolean scalar, but has returned a pytree"),
        (lambda x: x, lambda x: x, r"one boolean scalar, but its result is float32\[\]"),
        (lambda x: x < 3, lambda x: (x, x), "tree structure that it has as input"),
        (lambda x: x < 3, lambda x: jnp.ones(2), "their shapes differ"),
    ],
)
def test_functions_that_do_not_fit(cond, body, match):
    with pytest.raises(TypeError, match=match):
        while_loop(cond, body, jnp.float32(0))
