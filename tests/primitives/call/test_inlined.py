"""Rules that calls of programs share: transposition, and cotangents of other dtypes."""

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import shaped_array
from jitney.primitives.call.call import transposed_program
from jitney.primitives.call.inlined import (
    calls_program,
    of_own_dtypes,
    other_dtypes,
    transposed_call,
)
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero

F32, F16 = (shaped_array((), t) for t in (np.float32, np.float16))
X = np.float32(3)


def test_a_primitive_is_lowered_to_its_program():
    prim = Primitive("calls_of_test")
    prim.multiple_results = True
    calls_program(prim, "program")
    program = jitney.make_jaxpr(lambda x: (x * x, x))(X)
    closed = jitney.make_jaxpr(lambda x: prim.bind(x, program=program))(X)
    assert closed.out_avals == program.out_avals
    square, same = jitney.jit(lambda x: prim.bind(x, program=program))(X)
    assert (float(square), float(same)) == (9, 3)


def test_calls_of_transposed_programs():
    closed = jitney.make_jaxpr(lambda k, x, y: (k * x, 2.0 * y))(X, X, X)
    bound = []

    def bind(program, operands):
        bound.append(operands)
        return jaxpr_as_fun(program)(*operands)

    args = [X, UndefinedPrimal(F32), UndefinedPrimal(F32)]
    cts, log = transposed_call(
        lambda linear, nonzero: transposed_program(closed, linear, nonzero),
        bind,
        [np.float32(5), Zero(F32)],
        args,
    )
    assert [None if ct is None else float(ct) for ct in cts] == [None, 15, None]
    assert bound == [[3, 5]]
    assert not log


def test_dtypes_of_cotangents():
    wide = jnp.float32(1)
    assert other_dtypes([wide, Zero(F32)], [F32, F32]) is None
    assert other_dtypes([wide, Zero(F32), wide], [F16, F32, F32]) == (np.float32, None)
    zero = Zero(F16)
    got = of_own_dtypes([wide, wide, zero], [F16, F32, F16])
    assert got[0].dtype == np.float16
    assert got[1] is wide
    assert got[2] is zero
