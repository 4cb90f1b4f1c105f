"""Public namespaces show what they have in JAX, not the files that implement it."""

from __future__ import annotations

import importlib
import sys

import pytest
from tests.helpers.oracle import answer, jax

import jitney.numpy as jnp


@pytest.mark.parametrize("name", ["numpy", "lax", "random", "nn", "scipy.special", "scipy.linalg"])
def test_submodules_that_are_loaded_do_not_show(name: str) -> None:
    namespace = importlib.import_module(f"jitney.{name}")
    for public in namespace.__all__:
        getattr(namespace, public)
    loaded = {n for n in vars(namespace) if f"{namespace.__name__}.{n}" in sys.modules}
    internal = loaded - {*namespace.__all__}
    assert internal
    assert internal & {*dir(namespace)} == set()
    assert "attach" not in dir(namespace)
    assert {*namespace.__all__} <= {*dir(namespace)}


def test_names_beside_the_table_of_contents_show() -> None:
    assert {"pi", "newaxis", "sin", "linalg"} <= {*dir(jnp)}


def test_functions_say_the_module_that_users_know() -> None:
    own = "jax.numpy"
    listed = [n for n in jnp.__all__ if n not in ("int1", "uint1")]  # if ml_dtypes has them

    def named() -> list[str]:
        theirs = {n: getattr(jax.numpy, n) for n in listed}
        return [n for n, f in theirs.items() if callable(f) and f.__module__ == own]

    names = answer(named)
    assert len(names) > 300
    assert [n for n in names if getattr(jnp, n).__module__ != own] == []
