"""Functions of matrices act on each batch element, and are weakly typed as their operands are."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import shaped_array
from jitney.primitives.linalg.matrix_functions import matrix_function, no_derivative

scaled_trace_p = Primitive("scaled_trace_of_test")


@scaled_trace_p.abstract
def _scaled_trace_abstract(x, *, by):
    return shaped_array(x.shape[:-2], x.dtype)


def _scaled_trace(x, *, by):
    return np.asarray(by * np.trace(x, axis1=-2, axis2=-1), x.dtype)


matrix_function(scaled_trace_p, _scaled_trace)
no_derivative(scaled_trace_p)
X = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)


def scaled_trace(x):
    return scaled_trace_p.bind(x, by=2)


@pytest.mark.parametrize("of", [scaled_trace, jitney.jit(scaled_trace), jitney.vmap(scaled_trace)])
def test_batch_axes_lead(of):
    np.testing.assert_array_equal(of(X), 2 * (X[..., 0, 0] + X[..., 1, 1]))


def test_the_batch_axis_of_vmap_is_moved_to_the_front():
    got = jitney.vmap(scaled_trace, in_axes=3, out_axes=0)(np.moveaxis(X, 1, 3))
    np.testing.assert_array_equal(got, scaled_trace_p.bind(np.swapaxes(X, 0, 1), by=2))


def test_results_of_weakly_typed_operands_are_weakly_typed():
    weak = jnp.full((2, 2), 3.0)
    assert weak.weak_type
    assert scaled_trace(weak).weak_type
    assert not scaled_trace(X).weak_type


def test_tangents_must_be_zero_without_a_derivative():
    with pytest.raises(NotImplementedError, match="scaled_trace_of_test has no derivative"):
        jitney.jvp(scaled_trace, (X,), (X,))
    out, tangent = jitney.jvp(
        lambda x: x[..., 0, 0] + scaled_trace(jitney.lax.stop_gradient(x)), (X,), (X,)
    )
    np.testing.assert_array_equal(tangent, X[..., 0, 0])
    assert out.shape == (2, 3)
