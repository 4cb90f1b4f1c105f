"""Modules of primitives are imported when a primitive of theirs is first needed."""

import importlib

import pytest

from jitney.core.tracing.primitive import registry
from jitney.primitives import load_all


@pytest.mark.parametrize("name", load_all._HOMES)
def test_homes_declare_their_primitives(name):
    load_all.load_primitive(name)
    home = importlib.import_module(f"jitney.primitives.{load_all._HOMES[name]}")
    assert getattr(home, f"{name}_p") is registry[name]


def test_everything_is_loaded_once():
    load_all.load()
    before = dict(registry)
    load_all.load()
    assert dict(registry) == before
    assert {"add", "psum", "cholesky", "random_gamma", "custom_vjp_call"} <= before.keys()
