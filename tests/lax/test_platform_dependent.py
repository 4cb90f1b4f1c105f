"""`platform_dependent`, against real jax."""

from __future__ import annotations

import pytest
from tests.helpers.oracle import of_jax
from tests.helpers.rule_checks import agree

import jitney


def test_platform_dependent():
    def use(j):
        def f(x):
            return j.lax.platform_dependent(x, cpu=lambda v: v * 3, default=lambda v: v - 1)

        other = j.lax.platform_dependent(1.0, tpu=lambda v: v, default=lambda v: v - 1)
        return f(1.0), j.grad(f)(1.0), j.jit(f)(2.0), other

    agree(use)

    def refused(j):
        return j.lax.platform_dependent(1.0, tpu=lambda v: v)

    assert of_jax(refused).is_a(NotImplementedError)
    with pytest.raises(NotImplementedError):
        refused(jitney)
