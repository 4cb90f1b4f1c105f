"""The compiler is loaded once, by a thread that the first operation starts if it may be needed."""

import sys

import pytest

from jitney.runtime.cache import disk_cache
from jitney.runtime.compilation import lazy_compiler


@pytest.fixture
def unstarted(monkeypatch):
    monkeypatch.setattr(lazy_compiler, "started", False)
    monkeypatch.setattr(lazy_compiler, "_thread", None)


def test_one_thread_loads_it(unstarted, monkeypatch):
    monkeypatch.setattr(disk_cache, "has_entries", lambda: False)
    lazy_compiler.start()
    thread = lazy_compiler._thread
    lazy_compiler.start()
    assert lazy_compiler.started and lazy_compiler._thread is thread
    assert thread.name == "jitney-preload" and thread.daemon
    thread.join(10)
    assert not thread.is_alive()


def test_programs_on_disk_may_make_it_unnecessary(unstarted, monkeypatch):
    monkeypatch.setattr(disk_cache, "has_entries", lambda: True)
    lazy_compiler.start()
    assert lazy_compiler.started and lazy_compiler._thread is None


def test_the_pipeline_is_one_module():
    pipeline = lazy_compiler.compiler()
    assert pipeline is lazy_compiler.compiler() is sys.modules["jitney.compiler.pipeline"]
