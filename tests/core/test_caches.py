"""All caches are in one registry: clear_caches empties them, the documents show them."""

import importlib
import re
from pathlib import Path

import jitney
import jitney.numpy as jnp
from jitney.core.settings import caches
from jitney.primitives import load_all

ROOT = Path(__file__).resolve().parents[2]


def in_use():
    return {cache.name for cache in caches.registry if cache.entries()}


def test_clear_caches_forgets_all():
    @jitney.jit
    def f(x):
        return jnp.sin(x @ x).sum()

    x = jnp.eye(3)
    before = jitney.grad(f)(x)
    assert {"traced programs", "executables", "transformed programs", "kernels"} <= in_use()
    jitney.clear_caches()
    left = {cache.name for cache in caches.registry if cache.entries()}
    assert left <= {"dtype rules"}, left  # asked for by what clears
    assert (jitney.grad(f)(x) == before).all()


def test_a_function_is_traced_anew():
    runs = []

    @jitney.jit
    def f(x):
        runs.append(None)
        return x + 1

    f(1.0)
    f(1.0)
    assert len(runs) == 1
    jitney.clear_caches()
    f(1.0)
    assert len(runs) == 2


def test_results_do_not_change(monkeypatch):
    calls = []

    @caches.memoized("squares", "a number", 2)
    def square(x):
        calls.append(x)
        return x * x

    try:
        assert [square(x) for x in (2, 2, 3)] == [4, 4, 9] and calls == [2, 3]
        (cache,) = [c for c in caches.registry if c.name == "squares"]
        assert cache.entries() == 2 and cache.where == __name__
        cache.clear()
        assert square(2) == 4 and calls == [2, 3, 2]
    finally:
        caches.registry[:] = [c for c in caches.registry if c.name != "squares"]


def test_the_documents_show_them():
    load_all.load()
    for module in (
        "jitney.compiler.pipeline",
        "jitney.numpy.products",
        "jitney.core.recording.linear_util",
    ):
        importlib.import_module(module)
    text = (ROOT / "docs" / "caches.md").read_text()
    shown = re.findall(r"^\| ([\w ]+) \| ([^|]+) \| `[\w./]+`", text, re.M)
    ours = {(c.name, c.key) for c in caches.registry if c.where.startswith("jitney")}
    assert ours <= set(shown), ours - set(shown)
