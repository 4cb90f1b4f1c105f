"""Elements of 8 and 16 bits whose lanes lie apart in memory: gathered as words, stored one by one."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.runtime.compilation import lazy_compiler

NARROW = ("bool", "int8", "uint8", "int16", "uint16", "float16", "bfloat16")


def _numbers(shape: tuple[int, ...], dtype: str) -> Any:
    values = np.random.RandomState(0).randint(-120, 120, shape)
    return jnp.asarray(values % 2 if dtype == "bool" else values).astype(dtype)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("lanes", [2, 5, 16, 17, 40])
def test_loops_in_the_lanes(dtype: str, lanes: int) -> None:
    x = _numbers((lanes, 7), dtype)

    def step(c: Any, _: Any) -> Any:
        c = jnp.maximum(c[::-1], c) if dtype == "bool" else (c * c[::-1] + c).astype(dtype)
        return c, c

    f = jitney.vmap(lambda x: lax.scan(step, x, None, length=4))
    last, each = jitney.jit(f)(x)
    with jitney.disable_jit():
        wanted_last, wanted = f(x)
    assert last.dtype == each.dtype == dtype
    np.testing.assert_array_equal(np.asarray(last), np.asarray(wanted_last))
    np.testing.assert_array_equal(np.asarray(each), np.asarray(wanted))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("begin", [0, 1, 3])
def test_words_around_elements(dtype: str, begin: int) -> None:
    x = np.asarray(_numbers((50 * 37,), dtype))[begin:]  # not at the start of a word
    order = np.random.RandomState(1).randint(0, x.size, 333)
    m = x[: 37 * 41].reshape(41, 37)
    for f, args in [
        (lambda x, i: x[i], (x, order)),
        (lambda x: jnp.maximum(x[::3], x[::3][::-1]), (x,)),
        (lambda m: jnp.maximum(m[:30, :30].T, m[:30, :30]), (m,)),
        (lambda x: jnp.stack([x, x[::-1]], 1), (x,)),
        (lambda x, i: jnp.zeros(x.size, x.dtype).at[i].set(x[0]), (x, order)),
    ]:
        wanted = np.asarray(f(*map(jnp.asarray, args)))
        got = np.asarray(jitney.jit(f)(*args))
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_no_branch_for_each_lane(dtype: str) -> None:
    """What LLVM writes out lane by lane under a mask took it seconds for a small loop."""

    def loop(x: Any) -> Any:
        return lax.fori_loop(0, 5, lambda _, c: jnp.maximum(c, c[::-1]), x)

    f = jitney.jit(jitney.vmap(loop))
    text = f.lower(_numbers((5, 40), dtype)).compile().as_text("llvm")
    narrow = re.findall(r"call .*llvm\.masked\.(?:gather|scatter)\.v\d+i(?:8|16)\..*", text)
    # With all lanes there is no branch: processors of some widths have no lanes left over here, and
    # others have such a store in a function that all share.
    assert not [call for call in narrow if "splat (i1 true)" not in call]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [5, 9, 17, 21])
def test_nothing_is_written_past_the_end(dtype: str, columns: int) -> None:
    """Of vectors of fewer than 128 bits, the lanes that LLVM adds to them are not stored."""

    def f(x: Any) -> Any:
        return jitney.vmap(lambda row: jnp.gcd(row[row], row[row]))(x.T)

    x = np.asarray(_numbers((columns, 3), dtype))
    built = lazy_compiler.compiler().compile_module(jitney.jit(f).lower(x).compiler_ir())
    out = np.full(x.nbytes + 128, 0xEE, np.uint8)
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(built.entry)
    arena = np.zeros(built.arena_bytes + 64, np.uint8)
    inputs, outputs = [(ctypes.c_void_p * 1)(a.ctypes.data) for a in (x, out)]
    assert entry(None, inputs, outputs, arena.ctypes.data) == 1
    assert (out[x.nbytes :] == 0xEE).all()
