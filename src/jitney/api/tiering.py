"""Library functions that are evaluated at first, and compiled where they are called again and again.

Of a function of several operations the first call is quick if NumPy does one after the other, the
thousandth if it is one compiled program. Which of both makes a call must not show in its result, bit
for bit: results would depend on how often a function was called before. So only programs that compute
the same bits either way (`compiler/hlo/exact.py`) are promoted: draws of bits, of uniform numbers and
of integers, clipping, rounding, moves of elements. What has polynomials or sums of floats is not.

In the words of compilers of dynamic languages: tiers, with a counter of calls for each signature.
Calls are sampled, as to look at a signature takes longer than a small operation. A promoted program is
compiled by a thread of its own while calls go on to be evaluated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from jitney.api.jit_call import JitCall, TracedProgram
from jitney.core import config
from jitney.core.errors import api_boundary
from jitney.core.trace import state
from jitney.runtime import dispatch

SAMPLE = 16  # every how many-th call is looked at
PROMOTE_AFTER = 8  # looks at one signature: more than a hundred calls take as long as to compile
MAX_SIGNATURES = 256  # counted at a time

_NEVER = -(1 << 62)  # as a counter: no number of calls is enough


class TieredFunction(dispatch.PjitFunction):
    """A library function: evaluated, or compiled where that pays; one equation within a trace."""

    call: JitCall

    def __init__(self, call: JitCall, fun: Callable[..., Any]) -> None:
        super().__init__(call, fun)
        self._calls = 0
        self._looks: dict[Any, int] = {}  # at calls by key

    @api_boundary
    def call_slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose signature has no compiled program yet."""
        if state.trace is not state.eval_trace:
            return self.call.call(args, kwargs)
        self._calls += 1
        if self._calls % SAMPLE == 0 and self._is_compiled(args, kwargs):
            return self.call.call(args, kwargs, self._remember)
        return self.call.fun(*args, **kwargs)

    def _is_compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Counts a call; whether there is a program for it. Has one compiled where it is time."""
        if config.disable_jit_enabled() or config.checks_values() or config.no_tracing.value:
            return False
        try:
            key = self.call.key(args, kwargs)
            looks = self._looks[key] = self._looks.get(key, 0) + 1
            if looks < PROMOTE_AFTER:
                return False
            program, _ = self.call.trace(args, kwargs)
        except Exception:  # evaluation says what is wrong with the call, if anything is
            return False
        finally:
            if len(self._looks) > MAX_SIGNATURES:
                self._looks.clear()
        if dispatch.is_compiled(program.closed):
            return True
        if looks == PROMOTE_AFTER and not self._promote(program):
            self._looks[key] = _NEVER
        return False

    def _promote(self, program: TracedProgram) -> bool:
        """Has a program compiled in the background, if its results do not show it."""
        if program.outer_tracers:
            return False
        lowering = dispatch.lower(program.closed, self.call.name)
        if not lowering.is_exact():
            return False

        def compile_program() -> None:
            dispatch.keep_executable(program.closed, lowering.compile())

        threading.Thread(target=compile_program, name="jitney-tiering").start()
        return True
