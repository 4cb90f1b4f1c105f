"""Draws of 1,000,000 numbers, within `jit` and outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Side, case_each_way

N = 1_000_000


def _mean(drawn: Any) -> list[Any]:
    # One number in some 10^5 may be another: rejection compares rounded numbers.
    return [np.mean(drawn, dtype=np.float64)]


def _draw(name: str, what: str, goal: float, draw: Callable[[Any, Any], Any]) -> None:
    @case_each_way(name, f"{what} of 1,000,000 numbers", goal=goal, check=_mean)
    def _(side: Side) -> tuple[Any, ...]:
        return lambda key: draw(side.random, key), side.random.key(0)


_draw("uniform", "random.uniform", 8, lambda random, key: random.uniform(key, (N,)))
_draw("normal", "random.normal", 5, lambda random, key: random.normal(key, (N,)))
_draw("gamma", "random.gamma(2.5)", 4, lambda random, key: random.gamma(key, 2.5, (N,)))
_draw("beta", "random.beta(2, 3)", 4, lambda random, key: random.beta(key, 2.0, 3.0, (N,)))
_draw("poisson", "random.poisson(3)", 4, lambda random, key: random.poisson(key, 3.0, (N,)))
_draw("poisson_30", "random.poisson(30)", 4, lambda random, key: random.poisson(key, 30.0, (N,)))
