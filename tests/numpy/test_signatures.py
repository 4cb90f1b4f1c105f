"""Public functions of `jax.numpy` take what real jax's take, by the same names and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from tests.helpers.newest import added
from tests.helpers.oracle import of_jax

import jitney.numpy as jnp

# Real jax hands these through to others, and tells of (*args, **kwargs).
OPAQUE = {"array", "set_printoptions"}
# What functions take in JAX 0.12.0.1, or take beyond what they take in JAX 0.10.2.
ADDED = {
    "minmax": {
        "a": inspect.Parameter.empty, "axis": None, "out": None, "keepdims": False, "initial": None,
        "where": None,
    },
    "top_k": {"axis": -1, "mode": "largest", "sorted": True},
}  # fmt: skip


def signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


FUNCTIONS = [
    name
    for name in sorted(vars(jnp)["__all__"])
    if name not in OPAQUE
    and callable(getattr(jnp, name))
    and not isinstance(getattr(jnp, name), type)
]
OF_LINALG = [
    name
    for name, f in sorted(vars(jnp.linalg).items())
    if getattr(f, "__module__", "") == "jax.numpy.linalg"
    and not isinstance(f, type)
    and name[0] != "_"
    and name != "where"  # which the module imports
]


def shown(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """(name, kind, default) of each parameter; names that callers cannot use do not count."""
    found = signature(function)
    assert found is not None
    return [
        (
            "" if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL, p.VAR_KEYWORD) else p.name,
            int(p.kind),
            getattr(p.default, "__name__", repr(p.default)),
        )
        for p in found.parameters.values()
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature(name: str):
    own = shown(getattr(jnp, name))
    new = ADDED.get(name, {})
    found = {p.name: p.default for p in inspect.signature(getattr(jnp, name)).parameters.values()}
    assert new.items() <= found.items()
    if name not in added("jax.numpy"):
        assert [p for p in own if p[0] not in new] == of_jax(
            lambda j: shown(getattr(j.numpy, name))
        )


@pytest.mark.parametrize("name", OF_LINALG)
def test_signature_of_linalg(name: str):
    assert shown(getattr(jnp.linalg, name)) == of_jax(
        lambda j: shown(getattr(j.numpy.linalg, name))
    )


def test_all_functions_are_compared():
    assert len(FUNCTIONS) > 300
    assert of_jax(lambda j: [n for n in dir(j.numpy.linalg) if n[0] != "_"]) == OF_LINALG
