"""`custom_gradient`, `closure_convert` and `linear_call`, against real jax."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rule_checks import agree, module

import jitney

B = np.array([1.0, 2.0, -1.0], np.float32)


def with_gradient(j):
    @j.custom_gradient
    def f(x, y):
        return {"s": j.numpy.sin(x) * y}, lambda g: (3 * g["s"] * x, g["s"] * 5)

    return f


@pytest.mark.parametrize(
    "use",
    [
        lambda j: with_gradient(j)(2.0, 3.0),
        lambda j: j.grad(lambda x, y: with_gradient(j)(x, y)["s"], argnums=(0, 1))(2.0, 3.0),
        lambda j: j.jit(j.grad(lambda x: with_gradient(j)(x, x)["s"]))(2.0),
        lambda j: j.vmap(j.grad(lambda x: with_gradient(j)(x, 2.0)["s"]))(B),
        lambda j: j.grad(j.custom_gradient(lambda x: (x**2, lambda g: g * 7)))(2.0),
    ],
)
def test_custom_gradient(use):
    agree(use)


def test_closure_convert():
    def use(j):
        def f(y, k):
            g, values = j.closure_convert(lambda x: (x * y).sum() + k, B)
            return g(2 * B, *values), np.int32(len(values))

        eager = f(B, 1)
        inside = j.grad(lambda y: f(y, 1)[0])(B)
        return eager, inside, j.jit(f)(B, 1)

    agree(use)
    f, values = jitney.closure_convert(lambda x: x, 1.0)
    assert values == []
    with pytest.raises(TypeError, match="structure"):
        f(1.0, 2.0)


def test_linear_call():
    def use(j):
        linear_call = module(j, "custom_derivatives").linear_call

        def f(r, x):
            return linear_call(lambda r, x: x * r["r"], lambda r, t: t / r["r"], {"r": r}, x)

        return (
            f(2.0, 3.0), j.grad(lambda x: f(2.0, x))(3.0), j.jvp(lambda x: f(2.0, x), (3.0,), (1.0,)),
            j.jit(j.grad(lambda x: f(x, 4.0) if False else f(2.0, x)))(3.0),
            j.linear_transpose(lambda t: j.linear_transpose(lambda x: f(2.0, x), 1.0)(t)[0], 1.0)(3.0),
        )  # fmt: skip

    agree(use)
