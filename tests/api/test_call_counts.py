"""How many Python functions calls run through: layers that creep in show here, on any machine.

What loads modules does not count, nor what the test itself does. A process of its own counts: what was
evaluated before, or set and set back, sends operations other ways.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import jitney as jax
import jitney.numpy as jnp


def _count(call: Callable[[], object]) -> int:
    """Python functions that `call` runs, but for itself and for the loading of modules."""
    found = 0

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal found
        if event == "call" and not _loads(frame):
            found += 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found - 1


def _loads(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _second_call(call: Callable[[Any], object], x: Any) -> int:
    call(x)
    return _count(lambda: call(x))


def _trace_scan(x: Any) -> object:
    """Traces a scan under a `jit` of its own."""
    return jax.jit(lambda x: jax.lax.scan(lambda c, r: (c + r, c * r), x[0], x)).trace(x)


def _counts() -> dict[str, int]:
    return {  # in this order: the first is the first operation of the process
        "first add of numbers": _count(lambda: jnp.add(1, 2.0)),
        "array and number": _second_call(lambda x: x + 1.0, jnp.ones(3)),
        "gradient at a number": _second_call(jax.grad(lambda x: jnp.sin(x) * x), 1.0),
        "gradient at an array": _second_call(
            jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)), jnp.ones(3)
        ),
        "scan, traced under jit": _second_call(_trace_scan, jnp.ones(3)),
    }


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    """What a new process counts."""
    root = __file__.rpartition("/tests/")[0]
    script = (
        f"import json, sys; sys.path.insert(0, {root!r}); "
        "from tests.api.test_call_counts import _counts; print(json.dumps(_counts()))"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("first add of numbers", 150),
        ("array and number", 10),
        ("gradient at a number", 200),
        ("gradient at an array", 260),
        ("scan, traced under jit", 373),
    ],
)
def test_functions_that_run(counts: dict[str, int], what: str, most: int) -> None:
    assert counts[what] <= most


def test_the_counter_counts() -> None:
    def inner() -> None: ...

    assert _count(lambda: [inner() for _ in range(5)]) >= 5


def test_a_function_is_traced_anew_for_each_gradient() -> None:
    calls: list[object] = []
    grad = jax.grad(lambda x: (calls.append(x), x * x)[1])
    assert [float(grad(1.0)), float(grad(2.0))] == [2.0, 4.0]
    assert len(calls) == 2
