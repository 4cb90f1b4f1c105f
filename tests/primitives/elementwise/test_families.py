"""Elementwise functions accept categories of dtypes, and shapes of one rank."""

import numpy as np
import pytest

from jitney.core.types.avals import shaped_array
from jitney.primitives.elementwise import families


def avals(*shapes, dtype=np.float32):
    return [shaped_array(s, dtype) for s in shapes]


@pytest.mark.parametrize(
    ("dtype", "accepts", "want"),
    [
        (np.int8, families.NUMERIC, True),
        (bool, families.NUMERIC, False),
        (bool, families.BITS, True),
        (np.complex64, families.ORDERED, False),
        (np.complex64, families.INEXACT, True),
        (bool, None, True),
        (np.float16, (np.dtype(np.float32),), False),
    ],
)
def test_categories(dtype, accepts, want):
    assert families.is_accepted(np.dtype(dtype), accepts) is want


def test_messages_name_the_categories():
    families.check_dtype("sin", np.dtype(np.float16), families.INEXACT)
    with pytest.raises(TypeError, match="sin: operand 1 must be floating or complex, but is bool"):
        families.check_dtype("sin", np.dtype(bool), families.INEXACT, 1)
    with pytest.raises(TypeError, match="must be integer, floating or boolean, but is complex64"):
        families.check_dtype("lt", np.dtype(np.complex64), families.ORDERED)


def test_dtypes_must_agree():
    families.check_same_dtypes("add", avals((), (2,)))
    unlike = [*avals(()), *avals((), dtype=np.int32)]
    with pytest.raises(TypeError, match=r"have float32, int32; jnp.subtract promotes"):
        families.check_same_dtypes("sub", unlike)


@pytest.mark.parametrize(
    ("shapes", "want"),
    [
        ([(2, 3), (2, 3)], (2, 3)),
        ([(), (2, 3)], (2, 3)),
        ([(2, 1), (1, 3), ()], (2, 3)),
        ([(1, 0), (4, 1)], (4, 0)),
        ([(1,), (1,), ()], (1,)),
    ],
)
def test_common_shapes(shapes, want):
    assert families.broadcast_shape("add", avals(*shapes)) == want


def test_shapes_that_do_not_match():
    with pytest.raises(TypeError, match="but their ranks are 1, 2; functions of jnp broadcast"):
        families.broadcast_shape("add", avals((3,), (2, 3)))
    with pytest.raises(TypeError, match=r"\(2, 3\), \(2, 4\) do not broadcast.*3 meets 4"):
        families.broadcast_shape("add", avals((2, 3), (2, 4)))
    assert "y[:, None]" in families.unlike_shapes("add", avals((2, 3), (2,)))
    assert "None" not in families.unlike_shapes("add", avals((2, 3), (4,)))


def test_parts_of_complex_dtypes():
    for real, whole in [(np.float32, np.complex64), (np.float64, np.complex128)]:
        assert families.real_part(np.dtype(whole)) == families.real_part(np.dtype(real)) == real
        assert families.with_imaginary_part(np.dtype(real)) == whole
        assert families.with_imaginary_part(np.dtype(whole)) == whole


def test_operands_that_are_no_arrays():
    families.check_operands("add", 1, np.ones(2))
    with pytest.raises(TypeError, match="the one at position 1 is of type <class 'list'>"):
        families.check_operands("add", 1.0, [2.0])
