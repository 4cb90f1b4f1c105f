"""Dtypes correspond to the scalar types of Python."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.dtypes import float0, scalar_type_of


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (True, bool),
        (np.uint8(1), int),
        (jnp.zeros(2, jnp.int4), int),
        (2.5, float),
        (jnp.zeros(2, jnp.bfloat16), float),
        (jnp.zeros(2, jnp.float8_e4m3fn), float),
        (np.zeros(2, np.complex128), complex),
        ("float16", float),
    ],
)
def test_scalar_types_are_those_of_the_kind(x, wanted):
    assert scalar_type_of(x) is wanted


def test_keys_and_tangents_of_integers_have_no_scalar_type():
    with pytest.raises(TypeError, match=r"no Python scalar type corresponds to dtype key<fry>"):
        scalar_type_of(jax.random.key(0))
    with pytest.raises(TypeError, match="float0"):
        scalar_type_of(np.zeros(2, float0))
