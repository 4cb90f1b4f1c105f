"""Peak rates of this machine, which bound the rates of steps.

In the roofline model (Williams, Waterman and Patterson, Roofline: an insightful visual performance
model for multicore architectures, 2009), a step takes at least the time for its operations, and at
least the time for its memory traffic. Values in caches can be moved faster than the memory
bandwidth allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from jitney.core.util.record import record
from jitney.inspection import quantities

if TYPE_CHECKING:
    from jitney.core.array import Array

_N = 1024  # rows and columns of the matrices
_BYTES = 1 << 26  # size of the array that is read and written, far larger than the caches
_ROUNDS = 5
_TRIES = 12  # maximum number of repetitions of the rounds
_PATIENCE = 2  # repetitions without a gain before they end
_PAUSE = 0.05  # seconds between repetitions
_GAIN = 0.02  # relative gain for which another repetition is worthwhile


@record(frozen=True)
class Rates:
    """The peak rates of a process, per second.

    Attributes:
      operations: float32 multiplications and additions in a matrix product.
      memory: bytes read and written in a pass over an array that is larger than all caches.
      is_raised: whether a program reached a higher rate than the measured one, which replaced it.
    """

    operations: float
    memory: float
    is_raised: bool = False

    def __str__(self) -> str:
        of = "of products in float32"
        if self.is_raised:
            of = "(measured, or attained by a step if that is higher)"
        return (
            f"{quantities.bytes_rate(self.memory)} of memory, "
            f"{quantities.flops_rate(self.operations)} {of}"
        )

    def raised(self, operations: float, memory: float) -> Rates:
        """Returns the elementwise maximum with other rates."""
        most = max(self.operations, operations), max(self.memory, memory)
        return self if most == (self.operations, self.memory) else Rates(*most, is_raised=True)

    def least_seconds(self, traffic: float, flops: float) -> float:
        """Returns the minimum time for moving the bytes and computing the operations."""
        return max(traffic / self.memory, flops / self.operations)


@cache
def rates() -> Rates:
    """Measures the peak rates of this machine, the best of several rounds, in a second or less."""
    return computing(_seconds)


def computing(seconds: Callable[[Callable[[Array], Array], Array], float]) -> Rates:
    """Measures the peak rates of this machine.

    Args:
      seconds: a function that returns the time that a compiled function takes for an array.
    """
    import jitney
    from jitney import numpy as jnp

    x = jnp.ones((_N, _N), jnp.float32)
    product = seconds(jitney.jit(lambda x: x @ x), x)
    y = jnp.ones(_BYTES // 4, jnp.float32)
    pass_ = seconds(jitney.jit(lambda y: y + 1), y)
    return Rates(2.0 * _N**3 / product, 2.0 * _BYTES / pass_)


def _seconds(f: Callable[[Array], Array], x: Array) -> float:
    """Returns the shortest time over several rounds.

    The machine may be shared, so rounds continue until they no longer improve the time.
    """
    f(x).block_until_ready()
    best = _seconds_of_rounds(f, x)
    tries_without_gain = 0
    for _ in range(_TRIES):
        before = best
        time.sleep(_PAUSE)
        best = min(best, _seconds_of_rounds(f, x))
        tries_without_gain = 0 if best < before * (1 - _GAIN) else tries_without_gain + 1
        if tries_without_gain == _PATIENCE:
            break
    return best


def _seconds_of_rounds(f: Callable[[Array], Array], x: Array) -> float:
    times: list[float] = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        f(x).block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times)
