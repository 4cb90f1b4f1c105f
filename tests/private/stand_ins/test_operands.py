"""Operands are checked and promoted as in `jax._src.numpy.util`."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.private.stand_ins.operands import (
    check_arraylike_or_none,
    check_no_float0s,
    ensure_arraylike_tuple,
    is_arraylike,
    promote_args,
    promote_args_complex,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_complex,
    supports_inf,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
)

X, FLAGS = np.arange(3, dtype=np.int16), np.array([[True]])


@pytest.mark.parametrize(
    ("promote", "dtype"),
    [
        (promote_args, np.int16),
        (promote_args_numeric, np.int16),
        (promote_args_inexact, np.float32),
        (promote_args_complex, np.complex64),
    ],
)
def test_operands_get_one_rank_and_dtype(promote, dtype):
    x, y = promote("f", X, FLAGS)
    assert x.shape == (1, 3) and y.shape == (1, 1) and x.dtype == y.dtype == dtype
    assert x.tolist() == [[0, 1, 2]] and y.tolist() == [[1]]
    with pytest.raises(TypeError, match="f"):
        promote("f", X, "text")


def test_booleans_alone_become_integers_or_complex_numbers():
    (x,) = promote_args_numeric("f", FLAGS)
    assert x.dtype == np.int32
    assert promote_dtypes_complex(np.float32(1), np.complex64(2))[0].dtype == np.complex64
    assert promote_args("f", FLAGS)[0].dtype == bool


@pytest.mark.parametrize(
    ("dtype", "inexact", "real", "complex_"),
    [
        ("bool", "float32", "float32", "complex64"),
        ("int64", "float64", "float64", "complex128"),
        ("uint8", "float32", "float32", "complex64"),
        ("bfloat16", "bfloat16", "bfloat16", "complex64"),
        ("float64", "float64", "float64", "complex128"),
        ("complex64", "complex64", "float32", "complex64"),
        ("complex128", "complex128", "float64", "complex128"),
    ],
)
def test_dtypes_in_which_values_are_computed(dtype, inexact, real, complex_):
    kind = jnp.dtype(dtype)
    assert to_inexact_dtype(kind) == inexact and to_floating_dtype(kind) == real
    assert to_complex_dtype(kind) == complex_


def test_some_small_floats_have_no_infinity():
    assert supports_inf(np.float16) and supports_inf(np.complex64) and supports_inf("bfloat16")
    assert supports_inf(jnp.float8_e5m2) and not supports_inf(jnp.float8_e4m3fn)
    assert not supports_inf(np.int32)


def test_arrays_and_scalars_are_operands():
    assert is_arraylike(X) and is_arraylike(1.0) and is_arraylike("a") and not is_arraylike([1])
    check_arraylike_or_none("f", None, 1, X)
    with pytest.raises(TypeError, match="f"):
        check_arraylike_or_none("f", [1])
    x, y = ensure_arraylike_tuple("f", (X, 2.0))
    assert isinstance(x, jax.Array) and y.weak_type
    check_no_float0s("f", X, 1)
    with pytest.raises(TypeError, match="f"):
        check_no_float0s("f", np.zeros(2, jax.dtypes.float0))
