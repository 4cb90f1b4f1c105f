"""Sizes of axes may be symbolic: shapes are equal or not for all values of the symbols."""

import numpy as np
import pytest

import jitney as jax
from jitney import export
from jitney.core.diagnostics.errors import InconclusiveDimensionOperation
from jitney.core.types.avals import shaped_array
from jitney.private.stand_ins.shapes import (
    canonicalize_shape,
    canonicalize_slice,
    concrete_dim_or_error,
    definitely_equal,
    definitely_equal_shape,
    dilate_dim,
    dimension_as_value,
    divide_shape_sizes,
    is_dim,
    is_empty_shape,
    stride_dim,
    typecheck,
    typecompat,
    typematch,
)

A, B = export.symbolic_shape("a, b")


def test_shapes_are_integers_and_symbolic_expressions():
    found = canonicalize_shape((np.int64(2), A))
    assert found == (2, A) and type(found[0]) is int
    assert is_dim(3) and is_dim(A + 1) and not is_dim("a") and not is_dim(2.5)
    for wrong in (2.5,), ("a",):
        with pytest.raises(TypeError, match=r"must be known .* in context"):
            canonicalize_shape(wrong, "in context")


def test_traced_sizes_are_refused():
    def f(n):
        with pytest.raises(TypeError, match="known when the program is traced"):
            canonicalize_shape((n,))
        with pytest.raises(jax.errors.ConcretizationTypeError):
            concrete_dim_or_error(n)
        return n

    jax.make_jaxpr(f)(3)
    assert concrete_dim_or_error(np.int8(3)) == 3 and concrete_dim_or_error(A) is A


def test_sizes_are_equal_for_all_values_of_their_symbols():
    assert definitely_equal(A + B, B + A) and not definitely_equal(A, B)
    assert definitely_equal_shape((A, 2), (A, 2)) and not definitely_equal_shape((A,), (A, 1))
    assert is_empty_shape((3, 0)) and not is_empty_shape((A, 3)) and not is_empty_shape(())
    assert not definitely_equal("a", "b")


def test_quotients_of_sizes_are_whole():
    assert divide_shape_sizes((6, 4), (3, 2)) == 4 and divide_shape_sizes((0,), (0, 2)) == 1
    assert divide_shape_sizes((A, 4), (2, A)) == 2 and divide_shape_sizes((), ()) == 1
    for s1, s2 in ((3,), (2,)), ((3,), (0,)):
        with pytest.raises(InconclusiveDimensionOperation, match="must be a multiple"):
            divide_shape_sizes(s1, s2)


@pytest.mark.parametrize(("d", "dilation"), [(0, 3), (1, 3), (4, 1), (4, 3)])
def test_dilated_sizes_count_the_holes(d, dilation):
    assert dilate_dim(d, dilation) == len(
        range(0, d * dilation, 1)[: max(0, (d - 1) * dilation + 1)]
    )
    assert dilate_dim(A, 2) == 2 * A - 1


@pytest.mark.parametrize("n", [0, 2, 3, 7, 8])
def test_windows_that_fit_are_counted(n):
    assert stride_dim(n, 3, 2) == len([k for k in range(0, n, 2) if k + 3 <= n])


def test_slices_have_start_step_and_size():
    for s in slice(None), slice(5, 1, -2), slice(-2, None), slice(3, 3), slice(None, None, -1):
        start, step, size = canonicalize_slice(s, 6)
        assert [start + k * step for k in range(size)] == list(range(6))[s]


def test_types_match_up_to_weak_types():
    x = shaped_array((2,), np.dtype("float32"))
    weak, other = x.update(weak_type=True), x.update(dtype=np.dtype("int32"))
    assert typematch(x, weak) and typecompat(weak, x) and not typematch(x, other)
    assert typematch(x, other, no_dtype_check=True)
    assert typecheck(x, np.zeros(2, np.float32)) and not typecheck(x, np.zeros(3, np.float32))
    assert dimension_as_value(np.int64(3)) == 3
