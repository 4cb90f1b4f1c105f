"""How many Python functions calls run through: layers that creep in show here, on any machine.

What loads modules does not count, nor what the test itself does.
"""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from types import FrameType

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


def test_the_counter_counts() -> None:
    def inner() -> None: ...

    assert _count(lambda: [inner() for _ in range(5)]) >= 5


def test_an_operation_of_an_array_and_a_number() -> None:
    x = jnp.ones(3)
    x + 1.0
    assert _count(lambda: x + 1.0) <= 10


def test_the_second_gradient_at_a_number() -> None:
    grad = jax.grad(lambda x: jnp.sin(x) * x)
    grad(1.0)
    assert _count(lambda: grad(1.0)) <= 200


def test_the_second_gradient_at_an_array() -> None:
    grad = jax.grad(lambda x: jnp.sum(jnp.sin(x) * x))
    x = jnp.ones(3)
    grad(x)
    assert _count(lambda: grad(x)) <= 260


def test_a_function_is_traced_anew_for_each_gradient() -> None:
    calls = []
    grad = jax.grad(lambda x: (calls.append(x), x * x)[1])
    assert [float(grad(1.0)), float(grad(2.0))] == [2.0, 4.0]
    assert len(calls) == 2


def test_the_first_operation_of_a_process_on_numbers() -> None:
    script = f"""
        import sys
        sys.path.insert(0, {str(__file__).rpartition("/tests/")[0]!r})
        from tests.api.test_call_counts import _count
        import jitney.numpy as jnp
        print(_count(lambda: jnp.add(1, 2.0)))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert int(shown) <= 150
