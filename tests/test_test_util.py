"""`jax.test_util`: what its check of derivatives accepts and refuses."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rule_checks import module

import jitney

B = np.array([1.0, 2.0, -1.0], np.float32)


def test_check_grads():
    check_grads = module(jitney, "test_util").check_grads
    jnp = jitney.numpy
    check_grads(lambda x, y: {"r": jnp.sin(x["a"]) * y}, ({"a": B}, 2.0), 2)
    check_grads(lambda x: x**3, (B,), 3, modes=["rev"])
    check_grads(lambda x, k: x * k, (B, 3), 1)

    @jitney.custom_jvp
    def wrong(x):
        return jnp.sin(x)

    wrong.defjvp(lambda xs, ts: (wrong(*xs), 2 * ts[0]))
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError):
            check_grads(wrong, (B,), 1, modes=[mode])
