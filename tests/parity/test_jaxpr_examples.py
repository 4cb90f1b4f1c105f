"""Programs print as real jax prints them, character for character."""

from __future__ import annotations

import pytest
from tests.parity.examples import Example, read, same_text, text_of, with_own_options

EXAMPLES = read("jaxpr_examples.txt")

# Programs that are not yet those of JAX 0.12, and what they lack.
NOT_YET = {
    "vjp": "cotangents added up operation by operation",
    "grad_of_reductions": "cotangents added up operation by operation",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_prints_as_jax(example: Example, request: pytest.FixtureRequest) -> None:
    if example.name in NOT_YET:
        request.applymarker(pytest.mark.xfail(reason=NOT_YET[example.name]))
    printed = text_of(example)
    assert same_text(printed, example) or printed == with_own_options(example.expected)
