"""Primitives are evaluated by compiled code, also on values of types that users register."""

from functools import partial

import numpy as np
import pytest

import jitney as jax
from jitney.core.recording.compat import pytype_aval_mappings
from jitney.core.types.avals import get_aval
from jitney.interpreters import mlir, xla
from jitney.lax import add_p
from jitney.runtime.arrays.array import ArrayImpl


class Variable:
    def __init__(self, data):
        self.data = data


@pytest.fixture
def registered():
    pytype_aval_mappings[Variable] = lambda v: get_aval(v.data)
    xla.canonicalize_dtype_handlers[Variable] = lambda v: v.data
    yield
    del pytype_aval_mappings[Variable], xla.canonicalize_dtype_handlers[Variable]


def test_primitives_are_compiled():
    out = xla.apply_primitive(add_p, np.float32([1, 2]), np.float32([10, 20]))
    assert isinstance(out, ArrayImpl)
    np.testing.assert_array_equal(out, [11, 22])
    with pytest.raises(TypeError):
        xla.apply_primitive(add_p, np.float32([1, 2]), "text")


def test_primitives_of_users_are_evaluated_by_their_lowering_rule():
    prim = jax.extend.core.Primitive("twice of the tests of xla")
    prim.def_impl(partial(xla.apply_primitive, prim))
    prim.def_abstract_eval(lambda x: x)
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: x * 2, multiple_results=False))
    np.testing.assert_array_equal(prim.bind(np.float32([1, 2])), [2, 4])


def test_types_of_users_stand_for_arrays(registered):
    x = Variable(np.float32([1, 2]))
    np.testing.assert_array_equal(jax.numpy.add(x, 1), [2, 3])
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2)(x), [2, 4])
    np.testing.assert_array_equal(xla.apply_primitive(add_p, x, x), [2, 4])
