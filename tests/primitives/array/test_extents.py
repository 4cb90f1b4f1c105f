"""A symbolic dimension is an integer of the program, and has no value outside."""

import numpy as np
import pytest

import jitney
from jitney.primitives.array.extents import dim_as_value


def test_a_dimension_is_a_weakly_typed_integer():
    (n,) = jitney.export.symbolic_shape("n")
    out = jitney.eval_shape(lambda x: dim_as_value(n), jitney.ShapeDtypeStruct((n,), np.float32))
    assert (out.shape, out.dtype, out.weak_type) == ((), np.int32, True)
    program = jitney.make_jaxpr(lambda x: x * dim_as_value(2 * n + 1))(1.0)
    assert "dim_as_value[dim=2*n + 1]" in str(program)


def test_no_value_outside_of_a_trace():
    (n,) = jitney.export.symbolic_shape("n")
    with pytest.raises(NotImplementedError, match="symbolic dimension 'n' has no value outside"):
        dim_as_value(n)
