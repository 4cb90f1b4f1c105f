"""An iteration of a transposed loop adds up the cotangents of constants and passes on the carry's."""

import numpy as np

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.types.avals import shaped_array
from jitney.primitives.control.scan_backward import BackwardIteration, backward_program

ONE, F32 = np.float32(1), shaped_array((), np.float32)

# constants k (not linear), b (linear); a carry c; rows x (linear), w (not linear)
BODY = jitney.make_jaxpr(lambda k, b, c, x, w: (k * c + b, w * c + 2 * x, x))(*[ONE] * 5)
SHAPE = (1, (False, True), (True, False), (True, False), (False, False))


def test_operands_of_the_iteration():
    back = BackwardIteration(BODY, *SHAPE)
    # k, the cotangent of b so far, those of the carry and of the first result, w
    assert back.in_avals([F32]) == [F32] * 5


def test_one_iteration():
    k, ct_b, ct_c, ct_y, w = map(np.float32, (3, 100, 5, 7, 11))
    want = [100 + 5, 3 * 5 + 11 * 7, 2 * 7]
    cts, log = BackwardIteration(BODY, *SHAPE).body(k, ct_b, ct_c, ct_y, w)
    assert [float(c) for c in cts] == want
    assert not log
    program = backward_program(BODY, *SHAPE[:4], (F32,), SHAPE[4])
    outs = eval_jaxpr(program.closed.jaxpr, program.closed.consts, k, ct_b, ct_c, ct_y, w)
    assert [float(c) for c in outs] == want
    assert backward_program(BODY, *SHAPE[:4], (F32,), SHAPE[4]) is program
