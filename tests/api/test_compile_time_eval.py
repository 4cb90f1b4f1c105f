"""`ensure_compile_time_eval` holds for functions that are traced within it, as in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import check_claim, of_both


def chosen(j: Any, x: Any) -> Any:
    """A function that asks for the value of an operation on numbers."""
    return x * (1 if j.numpy.sin(1.0) > 0 else 2)


# Functions that trace `chosen`: (library, x) -> result.
TRACED: dict[str, Callable[[Any, Any], Any]] = {
    "jit": lambda j, x: j.jit(lambda x: chosen(j, x))(x),
    "nested jit": lambda j, x: j.jit(lambda x: j.jit(lambda x: chosen(j, x))(x) + 1)(x),
    "scan": lambda j, x: j.lax.scan(
        lambda c, r: (chosen(j, c) + r, r), x, np.arange(3, dtype=np.float32)
    )[0],
    "while_loop": lambda j, x: j.lax.while_loop(
        lambda c: c[1] < 2, lambda c: (chosen(j, c[0]), c[1] + 1), (x, 0)
    )[0],
    "fori_loop": lambda j, x: j.lax.fori_loop(0, 3, lambda i, c: chosen(j, c), x),
    "cond": lambda j, x: j.lax.cond(True, lambda x: chosen(j, x), lambda x: x, x),
    "checkpoint": lambda j, x: j.checkpoint(lambda x: chosen(j, x))(x),
    "vmap": lambda j, x: j.vmap(lambda r: chosen(j, r) * x)(np.arange(2, dtype=np.float32)),
    "grad": lambda j, x: j.grad(lambda x: chosen(j, x) * x)(x),
    "grad of jit": lambda j, x: j.grad(j.jit(lambda x: chosen(j, x)))(x),
}


@pytest.mark.parametrize("name", TRACED)
def test_functions_that_are_traced_within(name: str) -> None:
    call = TRACED[name]

    def within(j: Any) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            with j.ensure_compile_time_eval():
                return call(j, x)

        return f

    ways: list[Callable[[Any, Any], Any]] = [
        lambda j, f: f(1.5),
        lambda j, f: j.jit(f)(1.5),
        lambda j, f: j.jvp(f, (1.5,), (1.0,))[1],
        lambda j, f: j.vmap(f)(np.ones(2, np.float32)),
    ]
    for way in ways:
        ours, theirs = of_both(lambda j, way=way: way(j, within(j)))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_tracers_have_no_value_there() -> None:
    def claim(j: Any) -> None:
        with (
            j.ensure_compile_time_eval(),
            pytest.raises(j.errors.TracerBoolConversionError),
        ):
            j.jit(lambda x: x * 2 if x > 0 else x)(1.0)

    check_claim(claim)


def test_a_function_is_traced_for_either() -> None:
    def programs(j: Any) -> tuple[str, str, str]:
        g = j.jit(lambda x: x + j.numpy.sin(2.0))
        before = str(j.make_jaxpr(g)(1.0))
        with j.ensure_compile_time_eval():
            within = str(j.make_jaxpr(g)(1.0))
        return before, within, str(j.make_jaxpr(g)(1.0))

    ours, theirs = of_both(programs)
    assert ours == theirs
    assert "sin" in ours[0] and "sin" not in ours[1] and ours[0] == ours[2]
