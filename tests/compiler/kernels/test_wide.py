"""Loops over 16-bit floats are held as float32, and rounded after each function."""

import numpy as np
import pytest

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Carried, Carry, Kernel, While
from jitney.compiler.kernels.wide import in_wide_registers

BOOL, F16, F32 = np.dtype(bool), np.dtype(np.float16), np.dtype(np.float32)
HERE = Affine(0, (1,))


def loop(*statements, dtype=F16, last=None, outputs=()):
    """A loop with one carried scalar, which continues while it is less than 1."""
    body = (Carried(0, dtype, True), *statements)
    last = len(body) - 1 if last is None else last
    one = ir.Const(np.ones((), dtype))
    body = (*body, one, ir.Call("lt", (0, len(body)), BOOL))
    slot = Carry(0, 1, HERE, dtype, True)
    loop = While((slot,), len(body) - 1, (last,))
    return Kernel((8,), 0, (dtype, dtype), body, outputs, loop=loop)


def functions(kernel):
    return [(s.fn, s.dtype.name) for s in kernel.body if isinstance(s, ir.Call)]


def test_carried_scalars_and_constants_are_float32():
    wide = in_wide_registers(loop(ir.Call("add", (0, 0), F16)))
    assert wide.params == (F16, F16)  # memory is as it was
    assert [p.dtype for p in wide.loop.carries] == [F32]
    assert all(s.dtype == F32 for s in wide.body if not isinstance(s, ir.Call))
    assert functions(wide) == [
        ("add", "float32"), ("round_to_float16", "float32"), ("lt", "bool"),
    ]  # fmt: skip
    assert wide.body[wide.loop.next_values[0]].fn == "round_to_float16"
    assert wide.body[wide.loop.condition].fn == "lt"


def test_functions_that_are_exact_are_not_rounded():
    wide = in_wide_registers(loop(ir.Call("neg", (0,), F16), ir.Call("sin", (1,), F16)))
    names = [name for name, _ in functions(wide)]
    assert names[0] == "neg" and names[1] in ("sin", "convert")
    assert "round_to_float16" not in names[:2]


def test_stores_are_narrow():
    out = (ir.Store(1, HERE, 1),)
    wide = in_wide_registers(loop(ir.Call("add", (0, 0), F16), outputs=out))
    stored = wide.body[wide.outputs[0].value]
    assert (stored.fn, stored.dtype) == ("convert", F16)


def test_loads_are_widened_once():
    load = ir.Load(0, HERE, F16)
    wide = in_wide_registers(loop(load, ir.Call("add", (0, 1), F16), ir.Call("mul", (2, 1), F16)))
    assert functions(wide).count(("convert", "float32")) == 1


@pytest.mark.parametrize(
    "kernel",
    [
        loop(ir.Call("add", (0, 0), F32), dtype=F32),
        loop(ir.Call("bitcast", (0,), np.dtype(np.int16)), ir.Call("neg", (0,), F16)),
    ],
)
def test_other_loops_stay_as_they_are(kernel):
    """Those without 16-bit floats, and those that inspect their bits."""
    assert in_wide_registers(kernel) is kernel
