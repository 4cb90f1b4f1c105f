"""A loaded program is called by the single equation of a jaxpr, under its name."""

import numpy as np

import jitney
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.core.types.avals import shaped_array
from jitney.primitives.call.loaded import loaded_jaxpr

AVAL = shaped_array((2,), np.float32)


def loaded():
    b = Builder()
    x, y = (b.parameter(i, TensorType((2,), np.dtype(np.float32))) for i in range(2))
    total = b.apply("add", x, y)
    module = b.module("two_results", [x, y], [total, b.apply("mul", total, x)])
    return loaded_jaxpr(module, [AVAL, AVAL], [AVAL, AVAL], ("x", "y"))


def test_the_program_is_one_equation():
    closed = loaded()
    (eqn,) = closed.eqns
    assert "loaded_program[program=two_results]" in str(closed)
    assert closed.in_avals == closed.out_avals == [AVAL, AVAL]
    assert closed.jaxpr.debug_info.arg_names == ("x", "y")
    assert eqn.params["program"].out_avals == (AVAL, AVAL)


def test_its_nodes_are_part_of_a_larger_program():
    x, y = np.float32([[1, 2], [3, 4]])
    total, product = jitney.jit(lambda x, y: jaxpr_as_fun(loaded())(2 * x, y))(x, y)
    np.testing.assert_array_equal(total, 2 * x + y)
    np.testing.assert_array_equal(product, (2 * x + y) * 2 * x)
