"""Python's numbers made arrays of a dtype, and NumPy's scalars passed through, as JAX treats them."""

import math

import numpy as np
import pytest
from tests.helpers.both import check

import jitney
import jitney.numpy as jnp

NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    1e20,
    -1.5,
    300.7,
    2**40,
    -1,
    7,
    True,
    1 + 2j,
    math.nan + 1j,
]
# Not int4: real JAX takes numbers beyond its range, and wraps around.
DTYPES = ["int32", "uint8", "int8", "bool", "float16", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_array_of_a_number(number, dtype):
    def case(jax, jnp):
        return jnp.array(number, dtype), jnp.asarray(number, dtype)

    check(case)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (math.nan, "NaN cannot be converted to the requested dtype int8"),
        (300, r"between -128 and 127, but the value is 300; `jnp.asarray\(300\)\S+ wraps around"),
        (3e2, r"between -128 and 127, but the value is 300.0; .* saturates"),
        (1j, r"dtype int8 requires a real number, but the value is the complex number 1j"),
    ],
)
def test_error_says_what_the_dtype_holds(number, words):
    with pytest.raises((ValueError, OverflowError, TypeError), match=words):
        jnp.array(number, "int8")


@pytest.mark.parametrize("number", [8, -9, 8.0, 2**40])
def test_numbers_beyond_int4_are_refused(number):
    with pytest.raises(OverflowError, match="between -8 and 7"):
        jnp.array(number, "int4")


@pytest.mark.parametrize("scalar", [np.float32(2), np.float64(2)], ids=repr)
def test_jvp_leaves_scalars_of_numpy_alone(scalar):
    seen = []

    def f(x, y):
        seen.append(type(y))
        return x * y, y

    zero = np.zeros((), jitney.dtypes.float0)
    (_, primal), tangents = jitney.jvp(f, (3.0, scalar), (1.0, np.float32(0)))
    assert type(primal) is type(scalar)
    assert tangents[0] == scalar
    (_, count), _ = jitney.jvp(f, (3.0, np.int32(4)), (1.0, zero))
    assert type(count) is np.int32
    assert seen[-1] is np.int32


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1])
def test_integers_keep_all_bits_beside_arrays(number):
    """A number that no float64 holds."""
    with jitney.enable_x64(True):
        x = jnp.zeros(2, jnp.int64)
        for sum_of in (jnp.add, jitney.jit(jnp.add), jitney.jit(lambda x, _: x + number)):
            assert sum_of(x, number).tolist() == [number, number]
        assert (x + number).tolist() == [number, number]
        assert jitney.jit(lambda x: jnp.where(x == number, 1, 2))(x + number).tolist() == [1, 1]
