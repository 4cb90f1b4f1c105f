"""Widens 16-bit floats in kernels with a loop to float32 registers.

No processor has all operations on 16-bit floats, so each scalar function is a float32 function
between conversions, most of which convert values that have just been rounded. In such a kernel,
the values of which stay in registers, a value is widened when it is loaded, rounded after each function
whose result may require it, and narrowed when it is stored. The results have the same bits as those
of the original kernel.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import is_half
from jitney.compiler.scalar_functions import lookup
from jitney.core.util.record import replace

_FLOAT32 = np.dtype(np.float32)


class _Widener:
    """The statements of a kernel, rewritten with float32 values.

    Attributes:
      body: the new statements.
      wide: maps each old statement to the new one with its value, in float32 if it had 16 bits.
      narrow: maps some old statements to new ones with the original 16 bits.
    """

    def __init__(self) -> None:
        self.body: list[ir.Statement] = []
        self.wide: list[int] = []
        self.narrow: dict[int, int] = {}

    def add(self, s: ir.Statement) -> int:
        self.body.append(s)
        return len(self.body) - 1

    def statement(self, number: int, s: ir.Statement, old: tuple[ir.Statement, ...]) -> None:
        """Rewrites statement number `number`."""
        match s:
            case ir.Call():
                self.wide.append(self.call(number, s, old))
            case ir.Carried() if is_half(s.dtype):
                self.wide.append(self.add(ir.Carried(s.carry, _FLOAT32, s.varies)))
            case ir.Const() if is_half(s.dtype):
                self.wide.append(self.add(ir.Const(s.value.astype(_FLOAT32))))
            case ir.Load() | ir.IndexValue():
                moved = replace(s, index=self.moved(s.index))
                self.wide.append(self.widened(number, self.add(moved)))
            case _:
                self.wide.append(self.add(s))

    def call(self, number: int, s: ir.Call, old: tuple[ir.Statement, ...]) -> int:
        halves = is_half(s.dtype), any(is_half(old[a].dtype) for a in s.args)
        args = tuple([self.wide[a] for a in s.args])
        if not any(halves):
            return self.add(replace(s, args=args))
        rule = lookup(s.fn).half
        if rule == "own":
            args = tuple([self.narrowed(a, old[a].dtype) for a in s.args])
            return self.widened(number, self.add(replace(s, args=args)))
        if s.fn == "convert":
            if s.dtype == _FLOAT32:
                return args[0]
            return self.widened(number, self.add(replace(s, args=args)))
        if not halves[0]:
            return self.add(replace(s, args=args))
        value = self.add(replace(s, args=args, dtype=_FLOAT32))
        if rule == "closed":
            return value
        if rule == "basic":
            return self.add(
                replace(s, fn=f"round_to_{s.dtype.name}", args=(value,), dtype=_FLOAT32)
            )
        return self.widened(number, self.add(replace(s, fn="convert", args=(value,))))

    def widened(self, number: int, value: int) -> int:
        """Returns the new statement `value`, which replaces `number`, widened to float32."""
        if not is_half(self.body[value].dtype):
            return value
        self.narrow[number] = value
        return self.add(ir.Call("convert", (value,), _FLOAT32))

    def narrowed(self, number: int, dtype: np.dtype) -> int:
        """Returns the new statement for the old statement `number`, in the dtype of the latter."""
        if not is_half(dtype):
            return self.wide[number]
        if number not in self.narrow:
            self.narrow[number] = self.add(ir.Call("convert", (self.wide[number],), dtype))
        return self.narrow[number]

    def moved(self, index: ir.Affine) -> ir.Affine:
        """Returns `index` with its terms renumbered for the new statements."""
        return replace(index, terms=tuple([(self.wide[t], factor) for t, factor in index.terms]))


def _is_worth_it(kernel: ir.Kernel) -> bool:
    """Returns whether the kernel computes with 16-bit floats and does not inspect their bits.

    A conversion can change the bits of a NaN, so values that are only moved or bitcast must not be
    converted.
    """
    functions = {
        s.fn
        for s in kernel.body
        if isinstance(s, ir.Call)
        and (is_half(s.dtype) or any(is_half(kernel.body[a].dtype) for a in s.args))
    }
    return "bitcast" not in functions and bool(functions - {"select", "convert"})


def in_wide_registers(kernel: ir.Kernel) -> ir.Kernel:
    """Returns `kernel` with float32 in place of 16-bit floats everywhere except in memory.

    Kernels without a loop are not changed.
    """
    loop = kernel.loop
    if loop is None or not _is_worth_it(kernel):
        return kernel
    w = _Widener()
    for number, s in enumerate(kernel.body):
        w.statement(number, s, kernel.body)
    outputs = [
        replace(o, index=w.moved(o.index), value=w.narrowed(o.value, kernel.body[o.value].dtype))
        for o in kernel.outputs
    ]
    carries = [replace(p, dtype=_FLOAT32) if is_half(p.dtype) else p for p in loop.carries]
    widened = replace(
        loop,
        carries=tuple(carries),
        condition=w.wide[loop.condition],
        next_values=tuple([w.wide[f] for f in loop.next_values]),
    )
    return replace(kernel, body=tuple(w.body), outputs=tuple(outputs), loop=widened)
