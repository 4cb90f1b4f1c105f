"""Programs whose constants are operands, and programs with the values of their constants."""

import numpy as np

import jitney
from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.evaluate import eval_jaxpr


def program(f, *args):
    return jitney.make_jaxpr(f)(*args)


def test_constants_are_the_first_operands():
    table = np.arange(3, dtype=np.float32)
    closed = program(lambda x: table * x, np.float32(2))
    opened = constants_as_operands(closed.jaxpr)
    assert not opened.constvars
    assert [str(v.aval) for v in opened.invars] == ["float32[3]", "float32[]"]
    (product,) = eval_jaxpr(opened, (), *closed.consts, np.float32(2))
    np.testing.assert_array_equal(product, 2 * table)


def test_arguments_keep_their_names():
    table = np.arange(3, dtype=np.float32)
    opened = constants_as_operands(program(lambda height: table * height, np.float32(2)).jaxpr)
    assert opened.debug_info.arg_names == (None, "height")


def test_the_same_program_gives_the_same():
    table = np.arange(3, dtype=np.float32)
    jaxpr = program(lambda x: table * x, np.float32(2)).jaxpr
    opened = constants_as_operands(jaxpr)
    assert constants_as_operands(jaxpr) is opened
    assert constants_as_operands(opened) is opened  # it has no constants
    assert closed_of(opened) is closed_of(opened)
    assert not closed_of(opened).consts
