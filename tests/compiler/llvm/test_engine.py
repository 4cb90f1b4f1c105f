"""Object files of modules: equal texts are compiled once, for one level and one processor."""

import pytest
from tests.compiler.running import code_for

import jitney
from jitney.compiler.llvm import engine
from jitney.runtime.compilation import lazy_compiler
from jitney.runtime.native import _loader

MODULE = """
define double @{name}(double %x) {{
  %y = fadd double %x, {value}
  ret double %y
}}
"""


@pytest.fixture(autouse=True, scope="module")
def loader():
    """Loading the compiler sets what puts object files into memory."""
    lazy_compiler.compiler()


def text(name, value="1.0"):
    return MODULE.format(name=name, value=value)


@pytest.mark.skipif(not _loader.can_load_code(), reason="no loader for this system")
def test_equal_texts_share_an_object_file():
    first, other = engine.emit([text("f"), text("f", "2.0")])
    (again,) = engine.emit([text("f")])
    assert again is first
    assert other != first


def test_levels_have_object_files_of_their_own():
    engine.emit([text("g")], level=2)
    before = engine._object_of_short.cache_info().misses
    engine.emit([text("g")], level=0)
    assert engine._object_of_short.cache_info().misses == before + 1


def test_targets_have_object_files_of_their_own():
    wide = engine.emit([text("t")])[0]
    with code_for("narrow"):
        before = engine._object_of_short.cache_info().misses
        engine.emit([text("t")])
        assert engine._object_of_short.cache_info().misses == before + 1
    assert engine.emit([text("t")])[0] is wide


def test_long_texts_are_not_kept():
    long = text("h") + "; " + "x" * engine._SHORT_TEXT
    first, second = engine.emit([long])[0], engine.emit([long])[0]
    assert first == second
    assert first is not second


def test_clear_caches_forgets_them():
    first = engine.emit([text("k")])[0]
    jitney.clear_caches()
    assert engine.emit([text("k")])[0] is not first


def test_an_invalid_text_raises_each_time():
    for _ in range(2):
        with pytest.raises(RuntimeError, match="expected"):
            engine.emit(["define nothing"])
