"""Loops over 16-bit floats, held as float32 while they run.

No processor that we know computes with them throughout: each function of theirs is a function of
float32 with conversions around it, most of them of what has just been rounded. In a loop kernel,
whose values stay in registers, a number is widened when it is loaded, rounded after each function
whose result may need it, and narrowed when it is stored. All bits are those of the kernel as it was.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import is_half
from jitney.compiler.kernels.loop_kernel import LoopCarried, LoopKernel, LoopStatement
from jitney.compiler.scalar_functions import lookup
from jitney.core.record import replace

_FLOAT32 = np.dtype(np.float32)


class _Widener:
    """The statements of a kernel, rewritten.

    Attributes:
      body: the new statements.
      wide: for each old statement, the new one with its value; float32 in place of 16 bits.
      narrow: new statements with the 16 bits of old ones, where there are some.
    """

    def __init__(self) -> None:
        self.body: list[LoopStatement] = []
        self.wide: list[int] = []
        self.narrow: dict[int, int] = {}

    def add(self, s: LoopStatement) -> int:
        self.body.append(s)
        return len(self.body) - 1

    def statement(self, number: int, s: LoopStatement, old: tuple[LoopStatement, ...]) -> None:
        """Rewrites statement `number`."""
        match s:
            case ir.Call():
                self.wide.append(self.call(number, s, old))
            case LoopCarried() if is_half(s.dtype):
                self.wide.append(self.add(LoopCarried(s.index, _FLOAT32, s.varies)))
            case ir.Const() if is_half(s.dtype):
                self.wide.append(self.add(ir.Const(s.value.astype(_FLOAT32))))
            case ir.Load() | ir.IndexValue():
                moved = replace(s, index=self.moved(s.index))
                self.wide.append(self.widened(number, self.add(moved)))
            case _:
                self.wide.append(self.add(s))

    def call(self, number: int, s: ir.Call, old: tuple[LoopStatement, ...]) -> int:
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
        """New statement `value`, that of old statement `number`, as float32 if it has 16 bits."""
        if not is_half(self.body[value].dtype):
            return value
        self.narrow[number] = value
        return self.add(ir.Call("convert", (value,), _FLOAT32))

    def narrowed(self, number: int, dtype: np.dtype) -> int:
        """Returns the new statement for old statement `number`, in the old one's dtype."""
        if not is_half(dtype):
            return self.wide[number]
        if number not in self.narrow:
            self.narrow[number] = self.add(ir.Call("convert", (self.wide[number],), dtype))
        return self.narrow[number]

    def moved(self, index: ir.Affine) -> ir.Affine:
        """`index` by the numbers of new statements."""
        return replace(index, terms=tuple([(self.wide[t], factor) for t, factor in index.terms]))


def _is_worth_it(kernel: LoopKernel) -> bool:
    """Returns whether 16-bit floats are computed with, and no bits of theirs are looked at.

    A conversion may change the bits of a NaN: numbers that are but moved or seen as bits stay as
    they are.
    """
    functions = {
        s.fn
        for s in kernel.body
        if isinstance(s, ir.Call)
        and (is_half(s.dtype) or any(is_half(kernel.body[a].dtype) for a in s.args))
    }
    return "bitcast" not in functions and bool(functions - {"select", "convert"})


def in_wide_registers(kernel: LoopKernel) -> LoopKernel:
    """`kernel` with float32 in place of 16-bit floats, everywhere but in memory."""
    if not _is_worth_it(kernel):
        return kernel
    w = _Widener()
    for number, s in enumerate(kernel.body):
        w.statement(number, s, kernel.body)
    outputs = [
        replace(o, index=w.moved(o.index), value=w.narrowed(o.value, kernel.body[o.value].dtype))
        for o in kernel.outputs
    ]
    carried = [replace(p, dtype=_FLOAT32) if is_half(p.dtype) else p for p in kernel.carried]
    return replace(
        kernel,
        carried=tuple(carried),
        body=tuple(w.body),
        condition=w.wide[kernel.condition],
        next_values=tuple([w.wide[f] for f in kernel.next_values]),
        outputs=tuple(outputs),
    )
