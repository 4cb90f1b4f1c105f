"""Operands are live if a result or an effect depends on them."""

import numpy as np
import pytest

import jitney
from jitney.core.program.liveness import live_inputs

jit_first = jitney.jit(lambda x, y: (x, y + 1), inline=False)


def printed(x, y):
    jitney.debug.print("{}", y)
    return x


@pytest.mark.parametrize(
    "f, live",
    [
        (lambda x, y: x, (True, False)),
        (lambda x, y: (), (False, False)),
        (lambda x, y: 2.0, (False, False)),
        (lambda x, y: (x * 2) - 3, (True, False)),
        (lambda x, y: (y * 2, x * y)[0], (False, True)),
        (lambda x, y: jit_first(x, y)[0], (True, False)),
        (lambda x, y: jit_first(x, y)[1], (False, True)),
        (lambda x, y: jit_first(*jit_first(y, x))[0], (False, True)),
        (printed, (True, True)),
    ],
)
def test_live_operands(f, live):
    jaxpr = jitney.make_jaxpr(f)(np.float32(1), np.float32(2)).jaxpr
    assert live_inputs(jaxpr) == live
    assert live_inputs(jaxpr) is live_inputs(jaxpr)
