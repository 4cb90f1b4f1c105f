"""Programs print as real jax prints them, character for character."""

from __future__ import annotations

import pytest
from tests.parity.examples import Example, read, same_text, text_of, with_own_options

EXAMPLES = read("jaxpr_examples.txt")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_prints_as_jax(example: Example) -> None:
    printed = text_of(example)
    assert same_text(printed, example) or printed == with_own_options(example.expected)
