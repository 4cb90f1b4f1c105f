"""The folder of the compilation cache is an option, which takes any path."""

import pathlib

import pytest

import jitney
from jitney.core.settings import config
from jitney.experimental.compilation_cache.compilation_cache import reset_cache, set_cache_dir


@pytest.fixture(autouse=True)
def as_before():
    before = config.compilation_cache_dir.value
    yield
    config.compilation_cache_dir.set_global(before)


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_folders_are_text_or_paths_and_stay_set(kind):
    set_cache_dir(kind("/some/folder"))
    assert jitney.config.jax_compilation_cache_dir == "/some/folder"
    reset_cache()
    assert jitney.config.jax_compilation_cache_dir == "/some/folder"


def test_other_values_are_refused():
    with pytest.raises(TypeError):
        set_cache_dir(3)
