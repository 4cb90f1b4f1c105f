"""What kernels cost LLVM: 16-bit floats held as float32 in loops, and the bound of one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import effort, ir
from jitney.compiler.plan import loops
from jitney.compiler.scalar.effort import function_effort, registers
from jitney.core.util.record import replace

HALVES = ("float16", "bfloat16")
SPECIAL = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, 6e4, 0.1, 1 / 3)


@pytest.fixture(autouse=True)
def in_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are kernels where LLVM can compile these, even if steps would be faster."""
    monkeypatch.setattr(loops, "registers_pay", lambda *_: True)


def _loop(body: Callable[[Any], Any], length: int = 4) -> Callable[[Any], Any]:
    def step(c: Any, _: Any) -> Any:
        c = body(c).astype(c.dtype)
        return c, c

    return lambda x: lax.scan(step, x, None, length=length)


def _assert_same(got: Any, wanted: Any) -> None:
    """Equal numbers, the signs of zeros too; NaN where there is one."""
    assert got.dtype == wanted.dtype
    got, wanted = np.asarray(got, np.float32), np.asarray(wanted, np.float32)
    np.testing.assert_array_equal(got, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))


BODIES: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda c: c * c + c[::-1] / 3 - c,
    "extremes": lambda c: jnp.clip(jnp.maximum(c, c[::-1]) - 1, c[:1], 2.5),
    "roots": lambda c: jnp.sqrt(jnp.abs(c)) + jnp.square(c[::-1]),
    "rounded": lambda c: jnp.floor(c * 1.7) + jnp.sign(c[::-1]) + lax.round(c),
    "chosen": lambda c: jnp.where(c > c[::-1], -c, c + 1),
    "remainder": lambda c: lax.rem(c, c[::-1]) + 1,
    "neighbour": lambda c: jnp.nextafter(c, c[::-1]),
    "bits": lambda c: lax.bitcast_convert_type(
        lax.bitcast_convert_type(c, np.int16) ^ np.int16(3), c.dtype
    ),
    "integers": lambda c: c.astype(np.int32).astype(c.dtype) * c + jnp.isfinite(c),
    "other half": lambda c: (
        c.astype(jnp.float16 if c.dtype == jnp.bfloat16 else jnp.bfloat16).astype(c.dtype) * 3
    ),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", BODIES)
def test_halves_in_wide_registers(name: str, dtype: str) -> None:
    x = jnp.asarray(np.resize(SPECIAL, (17, 5)).astype(np.float32)).astype(dtype)
    f = jitney.vmap(_loop(BODIES[name]))
    last, each = jitney.jit(f)(x)
    text = jitney.jit(f).lower(x).as_text("kernels")
    assert "while %" in text
    assert last.dtype == each.dtype == dtype
    with jitney.disable_jit():
        wanted_last, wanted = f(x)
    _assert_same(each, wanted)
    _assert_same(last, wanted_last)


@pytest.mark.parametrize("dtype", HALVES)
def test_carries_are_float32(dtype: str) -> None:
    f = jitney.vmap(_loop(BODIES["arithmetic"]))
    text = jitney.jit(f).lower(jnp.ones((8, 50), dtype)).as_text("kernels")
    carried = [line for line in text.splitlines() if "by lane" in line]
    assert len(carried) == 50
    assert all(line.endswith(": float32 by lane") for line in carried)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("fn", ["add", "sub", "mul", "div"])
def test_all_nan_and_halfway_cases(fn: str, dtype: str) -> None:
    words = np.arange(1 << 16, dtype=np.uint16)
    x = lax.bitcast_convert_type(words, dtype)
    y = jnp.asarray([1.0, 1.0078125, -0.5, np.nan, np.inf, 1e-38, 3.0]).astype(dtype)
    f = getattr(lax, fn)
    for other in y:
        operands = x, jnp.broadcast_to(other, x.shape)
        _assert_same(jitney.jit(f)(*operands), f(*operands))


def test_units_count_registers() -> None:
    assert registers("%v = fadd <8 x float> %a, %b") == 1
    assert registers("%v = fadd <32 x float> %a, %b") == 4
    assert registers("%v = zext <32 x i8> %a to <32 x i32>") == 4
    assert registers("%v = add i32 %a, %b") == 1
    float32, bfloat16 = np.dtype(np.float32), np.dtype(jnp.bfloat16)
    assert function_effort("add", [float32] * 2, float32, 8) == 1
    assert function_effort("add", [bfloat16] * 2, bfloat16, 16) > 10
    assert function_effort("div", [np.dtype(np.int8)] * 2, np.dtype(np.int8), 32) > 20


def _built(body: Callable[[Any], Any], x: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The estimates of the loop kernels that were thought of for a loop over `x`."""
    found: list[int] = []
    fits = effort.fits

    def watched(kernel: ir.Kernel) -> bool:
        found.append(effort.compile_effort(kernel))
        return fits(kernel)

    monkeypatch.setattr(effort, "fits", watched)
    jitney.jit(jitney.vmap(_loop(body))).lower(x).as_text("kernels")
    return found


def _long(c: Any) -> Any:
    for _ in range(13):
        c = c * c + c[::-1]
    return c


def test_wide_registers_take_less_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    (single,) = _built(_long, jnp.ones((16, 80)), monkeypatch)
    (half,) = _built(_long, jnp.ones((16, 80), jnp.bfloat16), monkeypatch)
    assert single < 3_000
    assert half < 20_000  # 71,291 with conversions around each function


def test_no_loop_kernel_past_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(c: Any) -> Any:
        for _ in range(13):
            c = (c // jnp.maximum(c[::-1], 1)).astype(c.dtype) + c
        return c

    x = jnp.asarray(np.arange(16 * 40).reshape(16, 40) % 7).astype(jnp.bfloat16)
    f = jitney.vmap(_loop(body))
    monkeypatch.setattr(effort, "COSTS", replace(COSTS, max_effort=1_000))
    text = jitney.jit(f).lower(x).as_text("kernels")
    assert "while %" not in text
    assert "while {" in text
    last, _ = jitney.jit(f)(x)
    with jitney.disable_jit():
        wanted, _ = f(x)
    _assert_same(last, wanted)


def test_products_of_bytes() -> None:
    x = np.arange(256, dtype=np.uint8)
    for dtype in (np.uint8, np.int8):
        a, b = np.meshgrid(x.astype(dtype), x.astype(dtype))
        np.testing.assert_array_equal(np.asarray(jitney.jit(lax.mul)(a, b)), a * b)
        text = jitney.jit(lax.mul).lower(a, b).as_text("llvm")
        assert not [line for line in text.splitlines() if " mul <" in line and "x i8>" in line]
