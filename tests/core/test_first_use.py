"""Features that are installed when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jitney.core.util.first_use import FirstUse


def test_installed_at_the_first_use_and_at_each_later_one():
    feature, calls = FirstUse(), []
    feature.installs(lambda: calls.append("a"))
    feature.installs(lambda: calls.append("b"))
    feature.note(False)
    feature.note(None)
    assert calls == []
    feature.note("disallow")
    assert calls == ["a", "b"]
    feature.note()
    assert calls == ["a", "b"] * 2


def test_installed_at_once_after_a_use():
    feature, calls = FirstUse(), []
    feature.note()
    feature.installs(lambda: calls.append("a"))
    assert calls == ["a"]


def test_an_interrupted_installation_is_made_up_for():
    feature, calls = FirstUse(), []

    def install() -> None:
        calls.append("a")
        if len(calls) == 1:
            raise KeyboardInterrupt

    feature.installs(install)
    with pytest.raises(KeyboardInterrupt):
        feature.note()
    feature.note()
    assert calls == ["a", "a"]


# What uses a feature for the first time, and what it installs: where, and the name there.
_OF_TYPES, _OF_PROGRAMS = "primitive.evaluators.installed", "lower.transforms.installed"
_OF_ARRAYS = "array_interceptors.features.installed"
USES = {
    "jnp.zeros((1,) * 65)": (_OF_TYPES, "_DeepArrays"),
    "jax.random.key(0, impl='rbg')": (_OF_TYPES, "_KeysOfWords"),
    "jax.random.key(1, impl='unsafe_rbg')": (_OF_PROGRAMS, "program_in_words"),
    "jax.config.update('jax_transfer_guard', 'log')": (_OF_ARRAYS, "GuardsOfArrays"),
    "jax.set_mesh(jax.make_mesh((1,), ('x',)))": (_OF_ARRAYS, "NewArraysOnMesh"),
}


@pytest.mark.parametrize("use", USES)
def test_features_of_types_and_arrays(use):
    where, name = USES[use]
    program = f"""
import jitney as jax, jitney.numpy as jnp
from jitney.compiler import lower
from jitney.core.tracing import primitive
from jitney.runtime.arrays import array_interceptors
def names():
    return [getattr(f, "__name__", type(f).__name__) for f in {where}]
jnp.sin(jnp.ones(3)) + 1; jax.jit(lambda x: x * 2)(2.0); jax.random.normal(jax.random.key(0))
assert {name!r} not in names(), names()
{use}
{use}
assert names().count({name!r}) == 1, names()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
