"""Programs print as real jax prints them, character for character."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.parity.examples import Example, read, same_text, text_of, with_own_options

EXAMPLES = read("jaxpr_examples.txt")


def _because(reason: str, *names: str) -> Iterable[tuple[str, str]]:
    return ((name, reason) for name in names)


# Examples that do not print the same yet, and what they wait for.
NOT_YET: dict[str, str] = dict(
    (
        *_because("jnp.fft", "linear_algebra"),
    )
)  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_prints_as_jax(example: Example) -> None:
    try:
        printed = text_of(example)
    except Exception:
        if example.name in NOT_YET:
            return
        raise
    if example.name in NOT_YET:
        assert not same_text(printed, example), f"{example.name} prints right: take it off NOT_YET"
    else:
        assert same_text(printed, example) or printed == with_own_options(example.expected)


def test_names_of_the_list_exist() -> None:
    assert set(NOT_YET) <= {example.name for example in EXAMPLES}
