"""Arguments of samplers become shapes, dtypes and parameters, or errors that name the sampler."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.random.checks import (
    broadcast_shape,
    inexact_dtype,
    integer_dtype,
    promoted,
    shape_of,
)


def test_shapes():
    assert shape_of(3) == (3,) and shape_of([2, np.int64(0)]) == (2, 0) and shape_of(()) == ()
    with pytest.raises(TypeError, match="must be 0 or more"):
        shape_of((2, -1))


def test_dtypes_follow_the_precision_in_force():
    assert inexact_dtype("f", None) == "float32" and integer_dtype("f", None) == "int32"
    with jitney.enable_x64(True):
        assert inexact_dtype("f", None) == "float64" and integer_dtype("f", int) == "int64"
    assert inexact_dtype("f", complex, allow_complex=True) == "complex64"
    assert integer_dtype("f", None, np.uint8) == "uint8"


def test_dtypes_of_other_kinds_are_refused():
    with pytest.raises(ValueError, match=r"jax\.random\.f: `dtype` must be float, but got int32"):
        inexact_dtype("f", int)
    with pytest.raises(ValueError, match="`dtype` must be float, but got complex64"):
        inexact_dtype("f", complex)
    with pytest.raises(TypeError, match="`dtype` must be an integer dtype, but got float32"):
        integer_dtype("f", float)


def test_parameters_broadcast_to_the_shape_of_the_draw():
    assert broadcast_shape("f", None, (3, 1), (2,)) == (3, 2)
    assert broadcast_shape("f", (4, 3, 2), (3, 1), (2,)) == (4, 3, 2)
    for shape in ((2,), (3, 1), (5, 2)):
        with pytest.raises(ValueError, match="do not broadcast to shape="):
            broadcast_shape("f", shape, (3, 1), (2,))


def test_parameters_promote_to_the_dtype_of_the_draw():
    found = promoted("f", np.dtype("float32"), 1, np.arange(2), jnp.ones(2, "float16"))
    assert [x.dtype for x in found] == ["float32"] * 3
    with (
        jitney.enable_x64(True),
        pytest.raises(ValueError, match="f: parameters must promote to float32"),
    ):
        promoted("f", np.dtype("float32"), np.ones(2))
