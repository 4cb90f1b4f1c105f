"""Imports of jax are redirected, each module existing once, and internal ones hidden."""

import pickle
import sys
from types import ModuleType

import pytest

import jitney
from jitney import install, version
from jitney.install import JaxFinder, install_as_jax


@pytest.mark.parametrize(
    ("name", "own"),
    [("jax.numpy", "jitney.numpy"), ("jax.scipy.special", "jitney.scipy.special")],
)
def test_modules_are_those_of_this_package(name, own):
    spec = JaxFinder().find_spec(name)
    assert spec.name == name and spec.loader.create_module(spec) is sys.modules[own]
    has_parts = hasattr(sys.modules[own], "__path__")
    assert (spec.submodule_search_locations is not None) == has_parts


def test_names_of_other_packages_are_left_to_other_finders():
    finder = JaxFinder()
    assert finder.find_spec("jaxtyping") is None and finder.find_spec("numpy.jax") is None


@pytest.mark.parametrize("name", ["jax.compiler", "jax.runtime.array", "jax.no_such_module"])
def test_internal_and_absent_modules_are_not_found(name):
    with pytest.raises(ModuleNotFoundError) as caught:
        JaxFinder().find_spec(name)
    assert caught.value.name == name


def test_jax_is_a_module_of_its_own_with_the_public_names():
    package = ModuleType("jitney")
    package.__all__ = ["public"]
    package.public = package.other = "first"
    jax = install._as_jax(package)
    assert jax.__version__ == version.__version__ and jax.public == jax.other == "first"
    package.public = package.other = "second"
    assert jax.public == "first" and jax.other == "second"
    package.compiler = "internal"
    assert "public" in dir(jax) and "compiler" not in dir(jax)
    for name in "compiler", "no_such_name":
        with pytest.raises(AttributeError, match=name):
            getattr(jax, name)


def test_entries_of_the_path_are_plain_text_outside_of_spawned_processes():
    entry = install._Entry("/some/folder")
    again = pickle.loads(pickle.dumps(entry))
    assert again == entry == "/some/folder" and type(again) is str


def test_another_jax_is_not_replaced(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.meta_path[:] = [x for x in sys.meta_path if not isinstance(x, JaxFinder)]
    other = ModuleType("jax")
    other.__file__ = "/other/jax.py"
    monkeypatch.setitem(sys.modules, "jax", other)
    with pytest.raises(RuntimeError, match=r"has already been imported, from /other/jax\.py"):
        install_as_jax()
    assert not install.is_installed()
    monkeypatch.delitem(sys.modules, "jax")
    install_as_jax()
    assert install.is_installed() and all(isinstance(p, install._Entry) for p in sys.path)
    before = list(sys.meta_path)
    install_as_jax()
    assert sys.meta_path == before and jitney.numpy.__name__ == "jitney.numpy"
