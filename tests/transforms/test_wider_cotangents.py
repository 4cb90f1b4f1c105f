"""Cotangents that a user's backward rule has widened, against JAX.

Operations that only move elements pass them on, so that gradients are wider than what they are of.
Others refuse an operand of another dtype, as they do elsewhere. Loops, branches and recomputed programs
take cotangents in their own dtypes, where JAX raises an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import Raised, of_jax

import jitney

X = np.array([[1.0, 3.0, 2.0], [0.5, 4.0, -1.0]], np.float32)
I = np.array([1, 0])  # noqa: E741

MOVES = {
    "where": lambda j, x: j.numpy.where(x > 1, x, 0),
    "sort": lambda j, x: j.numpy.sort(x, 1),
    "roll": lambda j, x: j.numpy.roll(x, 1, 1),
    "flip": lambda j, x: j.numpy.flip(x, 1),
    "take": lambda j, x: j.numpy.take(x, I, axis=1),
    "cumsum": lambda j, x: j.numpy.cumsum(x, 1),
    "triu": lambda j, x: j.numpy.triu(x),
    "diagonal": lambda j, x: j.numpy.diagonal(x),
    "pad": lambda j, x: j.numpy.pad(x, 1),
    "concatenate": lambda j, x: j.numpy.concatenate([x, x]),
    "gather": lambda j, x: x[I, I],
    "dynamic slice": lambda j, x: j.lax.dynamic_slice(x, (0, I[0]), (2, 2)),
    "set": lambda j, x: x.at[0, 0].set(x[1, 1]),
    "add at": lambda j, x: x.at[I, I].add(x[0, 0]),
    "take_along_axis": lambda j, x: j.numpy.take_along_axis(x, j.numpy.argsort(x, 1), 1),
    "copysign": lambda j, x: j.numpy.copysign(x, 1.0),
    "two jits": lambda j, x: j.jit(lambda x: j.jit(lambda x: x[::-1])(x).T)(x),
    "vmap": lambda j, x: j.vmap(lambda row: j.numpy.where(row > 1, row, 0)[::-1])(x),
}  # fmt: skip
NARROWS = {
    "convolution": lambda j, x: j.lax.conv(x[None, None], x[None, None, :1, :2], (1, 1), "SAME"),
    "scan": lambda j, x: j.lax.scan(lambda c, row: (c + row, c * row), x[0], x)[1],
    "cond": lambda j, x: j.lax.cond(True, j.numpy.sin, j.numpy.cos, x),
    "fori_loop": lambda j, x: j.lax.fori_loop(0, 2, lambda _, v: v * 2, x),
    "checkpoint": lambda j, x: j.checkpoint(lambda x: j.numpy.sin(x) * x)(x),
}


def gradient(j: Any, f: Any, compiled: bool, widened: bool = True) -> Any:
    """The gradient of the sum of `f`, the cotangent of whose result is made float32."""

    @j.custom_vjp
    def wide(x: Any) -> Any:
        return x

    def back(_: Any, ct: Any) -> tuple[Any]:
        return (ct.astype(np.float32) * 1.0625 if widened else ct,)

    wide.defvjp(lambda x: (x, None), back)
    slope = j.grad(lambda x: wide(f(j, x)).astype(np.float32).sum())
    return (j.jit(slope) if compiled else slope)(j.numpy.asarray(X, j.numpy.bfloat16))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", MOVES)
def test_moves_pass_them_on(name: str, compiled: bool):
    got = gradient(jitney, MOVES[name], compiled)
    want = of_jax(gradient, MOVES[name], compiled).array
    assert got.dtype == want.dtype == np.float32
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", NARROWS)
def test_programs_take_them_in_their_own_dtypes(name: str, compiled: bool):
    got = gradient(jitney, NARROWS[name], compiled)
    assert got.dtype == jitney.numpy.bfloat16
    plain = gradient(jitney, NARROWS[name], compiled, widened=False)
    np.testing.assert_allclose(
        np.asarray(got, np.float32), 1.0625 * np.asarray(plain, np.float32), rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_products_refuse_them(compiled: bool):
    f = lambda j, x: j.numpy.sin(x) * x  # noqa: E731
    assert isinstance(of_jax(gradient, f, compiled), Raised)
    with pytest.raises(TypeError, match=r"mul.*float32.*bfloat16|mul.*bfloat16.*float32"):
        gradient(jitney, f, compiled)
