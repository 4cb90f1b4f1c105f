"""`odeint`: solutions, derivatives and errors, against real jax."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.both import check_claim
from tests.helpers.rule_checks import agree, module

import jitney

A = np.array([[4.0, 1.5, 0.2], [1.0, 3.0, 0.1], [0.0, 0.4, 2.0]], np.float32)
B = np.array([1.0, 2.0, -1.0], np.float32)
TIMES = np.linspace(0.0, 2.0, 5).astype(np.float32)


def decay(j):
    return lambda y, t, a: -a * y + j.numpy.sin(t)


def swing(y, t):
    return {"x": y["v"], "v": -y["x"]}


def ode(j, *args, **options):
    return module(j, "experimental.ode").odeint(*args, **options)


@pytest.mark.parametrize(
    "use",
    [
        lambda j: ode(j, decay(j), B, TIMES, 0.7),
        lambda j: ode(j, decay(j), B, TIMES, 0.7, rtol=1e-3, atol=1e-3),
        lambda j: ode(j, decay(j), B, TIMES, 0.7, hmax=0.1),
        lambda j: ode(j, decay(j), B, TIMES, 0.7, rtol=1e-4, mxstep=3),
        lambda j: ode(j, swing, {"x": 1.0, "v": B}, TIMES),
        lambda j: j.grad(lambda y, a: ode(j, decay(j), y, TIMES, a).sum(), argnums=(0, 1))(B, 0.7),
        lambda j: j.grad(
            lambda t: (ode(j, decay(j), B, t, 0.7)[:, 0] * np.arange(5, dtype=np.float32)).sum()
        )(TIMES),
        lambda j: j.grad(lambda a: ode(j, lambda y, t: -a * y, B, TIMES)[-1].sum())(0.7),
        lambda j: j.grad(
            lambda a: ode(j, lambda y, t, a: a * y, np.complex64(1 + 2j), TIMES, a)[-1].real,
            holomorphic=False,
        )(np.complex64(0.3 + 0.4j)),
        lambda j: j.jit(j.vmap(lambda y: ode(j, decay(j), y, TIMES, 0.7)))(A),
        lambda j: j.vmap(j.grad(lambda a: ode(j, decay(j), B, TIMES, a)[-1, 0]))(np.abs(B)),
    ],
)
def test_odeint(use):
    agree(use, rtol=2e-4, atol=2e-5)


def test_odeint_errors():
    def claim(j):
        with pytest.raises(TypeError, match="floats"):
            ode(j, decay(j), B, np.arange(3), 0.7)
        with pytest.raises(TypeError, match=r"odeint.*args`? must .*arrays"):
            ode(j, decay(j), B, TIMES, "a")

    check_claim(claim)


def test_odeint_is_exact_enough():
    with jitney.enable_x64(True):
        times = np.linspace(0.0, 10.0, 11)
        out = ode(jitney, swing, {"x": 1.0, "v": 0.0}, times)
        np.testing.assert_allclose(out["x"], np.cos(times), atol=1e-6)
