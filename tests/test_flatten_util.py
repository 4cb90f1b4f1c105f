"""`jax.flatten_util`, against real jax."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.both import check_claim
from tests.helpers.oracle import of_jax
from tests.helpers.rule_checks import agree, module

import jitney

A = np.array([[4.0, 1.5, 0.2], [1.0, 3.0, 0.1], [0.0, 0.4, 2.0]], np.float32)
B = np.array([1.0, 2.0, -1.0], np.float32)


@pytest.mark.parametrize(
    "tree",
    [
        {"a": A, "b": (1, np.arange(2))}, {}, {"a": A, "b": B}, [np.float32(1.0)],
        {"c": 1j, "b": B},
    ],
)  # fmt: skip
def test_ravel_pytree(tree):
    def use(j):
        vector, unravel = module(j, "flatten_util").ravel_pytree(tree)
        return vector, unravel(vector), j.jit(lambda v: unravel(2 * v))(vector)

    agree(use)


def test_unravel_errors():
    def claim(j):
        ravel = module(j, "flatten_util").ravel_pytree
        vector, unravel = ravel({"a": A, "b": B})
        with pytest.raises(ValueError, match="12"):
            unravel(vector[1:])
        vector, unravel = ravel({"a": A, "b": np.arange(2)})
        with pytest.raises(TypeError, match="dtype"):
            unravel(vector.astype(int))

    check_claim(claim)


@pytest.mark.parametrize(
    "tree",
    [{"a": 1.0}, {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": B}, {"a": 1, "b": 2.0}, {"a": 1, "b": 2}],
)
def test_python_numbers_stay_weakly_typed(tree):
    def claim(j):
        vector, unravel = module(j, "flatten_util").ravel_pytree(tree)
        return vector.weak_type, [x.weak_type for x in unravel(vector).values()]

    assert claim(jitney) == of_jax(claim)
