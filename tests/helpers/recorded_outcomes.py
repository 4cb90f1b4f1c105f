"""Outcomes of the fuzzer's programs on real JAX, from the records of the test module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.fuzz.differential import compare, run
from tests.helpers.oracle import answer

COMPILED_BY_JAX, EAGER_BY_JAX = run.by_jax, run.by_jax_eagerly


def plain(found: run.Outcome) -> tuple[list[np.ndarray], list[bool], Any]:
    """What is recorded of an outcome; of an error its class and what is known of its message."""
    error = None
    if found.error is not None:
        name = type(found.error).__name__
        text = f"{name}: {found.error}"
        error = name, [words for words in compare.REFUSED if words in text]
    return found.results, found.weak, error


def outcomes_of_jax(body: str) -> list[run.Outcome]:
    """The outcomes of JAX, compiled and eager, as recorded. They take no time."""

    def outcomes() -> Any:
        try:
            return plain(COMPILED_BY_JAX([body])[0]), plain(EAGER_BY_JAX(body))
        finally:
            run.real_jax().config.update("jax_enable_x64", False)

    found = []
    for results, weak, error in answer(outcomes):
        raised = error and type(error[0], (Exception,), {})("; ".join(error[1]))
        found.append(run.Outcome([np.asarray(x) for x in results], weak, raised, body=body))
    return found


def use_recorded_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the recorded outcomes of JAX those of the fuzzer, for a test."""
    monkeypatch.setattr(run, "by_jax", lambda bodies: [outcomes_of_jax(x)[0] for x in bodies])
    monkeypatch.setattr(run, "by_jax_eagerly", lambda body: outcomes_of_jax(body)[1])
