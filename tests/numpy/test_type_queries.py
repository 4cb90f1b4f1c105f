"""Questions about types and shapes are answered for arrays, scalars and dtypes alike."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.numpy.type_queries import (
    iscomplexobj,
    isdtype,
    isrealobj,
    isscalar,
    issubdtype,
    ndim,
    promote_types,
    result_type,
    shape,
    size,
)

X = jnp.zeros((2, 3, 4), np.float16)


def test_python_scalars_do_not_widen():
    assert result_type(X, 1.0) == np.float16
    assert result_type(np.int8, 1.0) == np.float32
    assert result_type(np.int8, np.uint8) == promote_types("int8", "uint8") == np.int16
    assert promote_types("float16", "bfloat16") == np.float32


@pytest.mark.parametrize(
    ("dtype", "kinds"),
    [
        ("bool", {"bool"}),
        ("int8", {"signed integer", "integral", "numeric"}),
        ("uint32", {"unsigned integer", "integral", "numeric"}),
        ("bfloat16", {"real floating", "numeric"}),
        ("complex64", {"complex floating", "numeric"}),
    ],
)
def test_kinds_of_the_array_api(dtype, kinds):
    dtype = jnp.dtype(getattr(jnp, dtype) if dtype == "bfloat16" else dtype)
    names = ["bool", "signed integer", "unsigned integer", "integral", "real floating",
             "complex floating", "numeric"]  # fmt: skip
    assert {k for k in names if isdtype(dtype, k)} == kinds
    assert isdtype(dtype, ("bool", "numeric"))
    assert isdtype(dtype, dtype)
    assert not isdtype(dtype, ())


def test_kinds_have_names():
    with pytest.raises(ValueError, match="or name a dtype, but it is 'floating'"):
        isdtype(np.float32, "floating")
    with pytest.raises(TypeError, match="or a tuple of them, but it is 3"):
        isdtype(np.float32, 3)
    assert issubdtype("bfloat16", np.floating)
    assert not issubdtype(np.bool_, np.integer)


def test_complex_objects():
    assert [iscomplexobj(x) for x in (1j, [1, 2j], np.zeros(2), X, [])] == [1, 1, 0, 0, 0]
    assert isrealobj([[1.0], [2]])
    assert jitney.jit(lambda x: jnp.array(iscomplexobj([x, 1])))(1j)


def test_scalars_have_no_axes():
    values = [1, 2.5, np.int8(3), "text", jnp.array(1), np.array(2.0), X, [1], np.zeros(1)]
    assert [isscalar(x) for x in values] == [True] * 6 + [False] * 3


def test_shapes():
    assert (shape(X), ndim(X), size(X)) == ((2, 3, 4), 3, 24)
    assert (shape(1.5), ndim(2), size(3)) == ((), 0, 1)
    assert size(X, 1) == 3
    assert size(X, (0, -1)) == 8
    assert size(X, ()) == 1
    with pytest.raises(ValueError, match="repeated axis"):
        size(X, (0, -3))
    for f in (shape, ndim, size):
        with pytest.warns(
            DeprecationWarning, match=f"jnp.{f.__name__}: `a` must be an array or a scalar"
        ):
            f([1, 2])
