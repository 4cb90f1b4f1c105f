"""Flat functions are pulled back to the wanted arguments, and zeros become arrays for users."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.autodiff import differentiation
from jitney.core.types.avals import get_aval
from jitney.core.types.dtypes import float0
from jitney.runtime.arrays.array import ArrayImpl
from jitney.transforms.linearize import linearize_flat
from jitney.transforms.zero import Zero


def linear_of(fun, *args):
    leaves, tree = jax.tree.flatten(args)
    flat = differentiation.flat_function(fun, tree)
    return linearize_flat(flat, leaves, differentiation.debug_info(fun, "grad"))[1]


def test_cotangents_of_all_and_of_wanted_arguments():
    x, y = jnp.float32(2), jnp.float32(5)
    linear = linear_of(lambda x, y: (x * y, x), x, y)
    cts, _ = differentiation.pull_back(linear, linear.consts, [jnp.float32(1), jnp.float32(10)])
    assert [float(ct) for ct in cts] == [15.0, 2.0]
    wanted = differentiation.pull_back(
        linear, linear.consts, [jnp.float32(1), jnp.float32(10)], wanted=[False, True]
    )[0]
    assert float(wanted[1]) == 2.0


def test_arguments_without_influence_have_no_cotangent():
    linear = linear_of(lambda n, x: n * x, jnp.int32(3), jnp.float32(2))
    cts, _ = differentiation.pull_back(linear, linear.consts, [jnp.float32(1)])
    assert (cts[0] is None or isinstance(cts[0], Zero)) and float(cts[1]) == 3.0


def test_cotangents_as_users_see_them():
    real, whole = get_aval(jnp.ones((2, 3))), get_aval(jnp.int32(3))
    for absent in (None, Zero(real)):
        np.testing.assert_array_equal(differentiation.cotangent(absent, real), np.zeros((2, 3)))
    assert differentiation.cotangent(None, whole).dtype == float0
    assert isinstance(differentiation.cotangent(np.float32(2), get_aval(2.0)), ArrayImpl)
    assert isinstance(differentiation.instantiated(Zero(real)), ArrayImpl)
    assert differentiation.instantiated(Zero(whole.to_tangent_aval())).dtype == float0


def test_numbers_are_converted_only_on_request():
    leaves = [np.ones(2), np.float32(1), 2.0, True]
    kinds = [isinstance(x, ArrayImpl) for x in differentiation.array_values(leaves)]
    assert kinds == [True, True, False, False]
    assert all([isinstance(x, ArrayImpl) for x in differentiation.array_values(leaves, True)])


def test_what_is_no_array_and_no_function_is_refused():
    def named(x):
        return {"k": "text"}

    with pytest.raises(TypeError, match=r"named must return arrays .* output \['k'\] is of type"):
        linear_of(named, 1.0)
    with pytest.raises(TypeError, match="expected a function, but got 3 of type int"):
        differentiation.check_callable(3)
