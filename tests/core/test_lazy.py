"""Members of a namespace are loaded on first access, from where its stub says."""

import sys
import types

import pytest

from jitney.core.util import lazy

STUB = """
from jitney.core.util.fixpoint import least_fixpoint as least_fixpoint
from jitney.core.program import liveness as liveness
from jitney.core.util.fixpoint import least_fixpoint_by as least_fixpoint_by
from jitney.core.program.memo import memoize_by_identity as _private
from jitney.core.program.memo import newer as newer
by = least_fixpoint_by
"""


@pytest.fixture
def namespace(tmp_path, monkeypatch):
    module = types.ModuleType("jitney_test_namespace")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (tmp_path / "__init__.pyi").write_text(STUB)
    get, listing, names = lazy.attach(module.__name__, str(tmp_path / "__init__.py"), ["newer"])
    module.__getattr__, module.__dir__, module.__all__ = get, listing, names
    return module


def test_members_are_kept_after_the_first_access(namespace):
    assert "least_fixpoint" not in vars(namespace)
    found = namespace.least_fixpoint
    assert vars(namespace)["least_fixpoint"] is found
    assert found.__module__ == "jitney.core.util.fixpoint"
    assert namespace.by.__name__ == "least_fixpoint_by"
    assert namespace.liveness is sys.modules["jitney.core.program.liveness"]


def test_listings_have_public_names_only(namespace):
    assert sorted(namespace.__all__) == ["by", "least_fixpoint", "least_fixpoint_by", "liveness"]
    namespace.added = 1
    assert {*namespace.__all__, "added"} <= {*dir(namespace)}
    assert not {"_private", "newer"} & {*dir(namespace)}
    assert "__name__" in dir(namespace)


@pytest.mark.parametrize("name", ["absent", "newer", "__wrapped__"])
def test_other_names_are_missing(namespace, name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as raised:
        getattr(namespace, name)
    assert raised.value.name == name
    assert raised.value.obj is namespace


def test_names_that_are_found_elsewhere(monkeypatch):
    monkeypatch.setattr(lazy, "_finders", [])
    lazy.use_reexports(lambda module, name: 7 if (module, name) == ("jax.m", "there") else None)
    get = lazy.refusing("jitney.m")
    assert get("there") == 7
    with pytest.raises(AttributeError, match=r"module 'jax\.m' has no attribute 'elsewhere'"):
        get("elsewhere")


def test_modules_list_what_their_source_declares(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text("import os\nx = 1\n_y = 2\n")
    module = types.ModuleType("jitney_test_listing")
    module.__file__ = str(tmp_path / "m.py")
    module.x, module.os, module._y = 1, 2, 3
    monkeypatch.setitem(sys.modules, module.__name__, module)
    shown = lazy.listing(module.__name__)()
    assert [name for name in shown if not name.startswith("__")] == ["x"]
    module.__all__ = ["os"]
    assert [n for n in lazy.listing(module.__name__)() if not n.startswith("__")] == ["os"]
