"""Public functions of `jax.numpy` take what real jax's take, by the same names and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax.numpy as J
import pytest

import jitney.numpy as jnp

# Real jax hands these through to others, and tells of (*args, **kwargs).
OPAQUE = {"array", "set_printoptions"}


def signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


FUNCTIONS = [
    name
    for name in sorted(jnp.__all__)
    if name not in OPAQUE
    and callable(getattr(jnp, name))
    and not isinstance(getattr(jnp, name), type)
    and signature(getattr(J, name)) is not None
]


def shown(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """(name, kind, default) of each parameter; names that callers cannot use do not count."""
    found = signature(function)
    assert found is not None
    return [
        (
            "" if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL, p.VAR_KEYWORD) else p.name,
            p.kind,
            getattr(p.default, "__name__", repr(p.default)),
        )
        for p in found.parameters.values()
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature(name: str):
    assert shown(getattr(jnp, name)) == shown(getattr(J, name))


@pytest.mark.parametrize("name", [n for n in dir(J.linalg) if n[0] != "_"])
def test_signature_of_linalg(name: str):
    assert shown(getattr(jnp.linalg, name)) == shown(getattr(J.linalg, name))


def test_all_functions_are_compared():
    assert len(FUNCTIONS) > 300
