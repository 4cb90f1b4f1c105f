"""Jitted functions called from many threads at once, and what errors in them look like."""

from __future__ import annotations

import gc
import re
import threading
import traceback
import types
import weakref

import numpy as np
import pytest
from tests.helpers.threads import in_threads

import jitney as jax
import jitney.numpy as jnp
from jitney.runtime.execution import executable


def test_one_function_many_types():
    f = jax.jit(lambda x, y: {"out": jnp.sin(x) * y + x.sum(), "y": y})

    def work(i):
        for k in range(40):
            n = (i + k) % 6 + 1
            x = np.arange(n, dtype=np.float32) + i
            out = f(jnp.asarray(x), float(k))
            np.testing.assert_allclose(out["out"], np.sin(x) * k + x.sum(), rtol=1e-5, atol=1e-4)
            assert float(out["y"]) == k

    in_threads(8, work)


def test_each_thread_compiles_its_own():
    def work(i):
        for k in range(6):
            f = jax.jit(lambda x, k=k: jnp.cos(x) * (i + 1) + k)
            x = np.linspace(0, 1, 7, dtype=np.float32)
            for _ in range(3):
                np.testing.assert_allclose(f(x), np.cos(x) * (i + 1) + k, rtol=1e-5)

    in_threads(8, work)


def test_nested_and_static():
    inner = jax.jit(lambda x, n: x**n, static_argnums=1)
    outer = jax.jit(lambda x: inner(x, 2) + inner(x, 3))

    def work(i):
        for k in range(30):
            x = float(i + k)
            assert float(outer(x)) == pytest.approx(x**2 + x**3, rel=1e-5)
            assert float(inner(x, i % 4)) == pytest.approx(x ** (i % 4), rel=1e-5)

    in_threads(8, work)


def test_settings_belong_to_threads():
    f = jax.jit(lambda x: x * 2)

    def work(i):
        for _ in range(30):
            with jax.enable_x64(i % 2 == 1):
                out = f(1.5)
                assert out.dtype == (np.float64 if i % 2 else np.float32)
                assert jax.make_jaxpr(lambda x: x + 1)(1.0).out_avals[0].dtype == out.dtype

    in_threads(8, work)


def test_traces_belong_to_threads():
    """While one thread traces, the others compute."""
    inside, leave = threading.Event(), threading.Event()

    def slow(x):
        inside.set()
        leave.wait(10)
        return x + 1

    thread = threading.Thread(target=lambda: jax.jit(slow)(1.0))
    thread.start()
    assert inside.wait(10)
    assert float(jnp.ones(3).sum()) == 3
    assert float(jax.jit(lambda x: x * 3)(2.0)) == 6
    leave.set()
    thread.join()


def test_caches_cleared_meanwhile():
    f = jax.jit(lambda x: x * 2 + 1)

    def work(i):
        for k in range(30):
            if i == 0 and k % 5 == 0:
                jax.clear_caches()
            assert float(f(float(k))) == 2 * k + 1
            np.testing.assert_array_equal(f(jnp.arange(i + 1.0)), 2 * np.arange(i + 1.0) + 1)

    in_threads(8, work)


def test_executables_are_found_once_they_can_be_called(monkeypatch):
    """Another thread calls the function while its executable for a committed operand is made."""
    f = jax.jit(lambda x: x * 2 + 1)
    two, three = (jax.device_put(np.float32(x), jax.devices()[0]) for x in (2, 3))
    assert float(f(np.float32(1))) == 3
    make, results = executable.Program, []

    def make_slowly(*args):
        if not results:
            results.append(None)
            thread = threading.Thread(target=lambda: results.append(float(f(two))))
            thread.start()
            thread.join()
        return make(*args)

    monkeypatch.setattr(executable, "Program", make_slowly)
    assert float(f(three)) == 7
    assert results == [None, 5]


def test_large_programs_at_once():
    f = jax.jit(lambda x: (jnp.sin(x) @ x).sum())
    x = np.random.default_rng(0).normal(size=(200, 200)).astype(np.float32)
    want = float(f(x))

    def work(i):
        for _ in range(4):
            assert float(f(x)) == pytest.approx(want, rel=1e-4)

    in_threads(4, work)


# --- errors -------------------------------------------------------------------------------------


def user_function(x):
    raise KeyError("mine")


def frames_of(call):
    """Files of the frames that an error shows."""
    try:
        call()
    except Exception as error:
        return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    raise AssertionError("no error")


@pytest.mark.parametrize(
    "call",
    [
        lambda: jax.jit(user_function)(1.0),
        lambda: jax.jit(lambda x: jax.jit(user_function)(x))(1.0),
        lambda: jax.make_jaxpr(user_function)(1.0),
        lambda: jax.eval_shape(user_function, 1.0),
        lambda: jax.jit(user_function).lower(1.0),
        lambda: jax.jit(lambda x: x + jnp.ones(3))(jnp.ones(2)),
        lambda: jax.jit(lambda x: bool(x))(1.0),
        lambda: jax.jit(lambda x: x)("a"),
        lambda: jax.lax.scan(lambda carry, x: user_function(x), 0.0, jnp.ones(3)),
        lambda: jax.lax.map(user_function, jnp.ones(3)),
        lambda: jax.lax.associative_scan(lambda x, y: user_function(x), jnp.ones(3)),
        lambda: jax.lax.while_loop(user_function, user_function, 1.0),
        lambda: jax.lax.fori_loop(0, 3, lambda i, x: user_function(x), 1.0),
        lambda: jax.lax.cond(True, user_function, user_function, 1.0),
        lambda: jax.lax.switch(0, [user_function] * 3, 1.0),
        lambda: jax.lax.custom_root(user_function, 1.0, user_function, user_function),
    ],
)
def test_only_the_users_frames(call):
    assert set(frames_of(call)) == {__file__}


def test_all_frames_on_request():
    old = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    try:
        assert any("jitney" in name for name in frames_of(lambda: jax.jit(user_function)(1.0)))
    finally:
        jax.config.update("jax_traceback_filtering", old)


def test_a_note_tells_that_frames_are_missing():
    old = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "quiet_remove_frames")
    try:
        with pytest.raises(KeyError) as caught:
            jax.jit(lambda x: jax.vmap(user_function)(x))(jnp.ones(3))
    finally:
        jax.config.update("jax_traceback_filtering", old)
    assert len(caught.value.__notes__) == 1
    assert "JAX_TRACEBACK_FILTERING=off" in caught.value.__notes__[0]


def test_causes_stay():
    def f(x):
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error

    with pytest.raises(ValueError, match="outer") as caught:
        jax.jit(f)(1.0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_trace_ends_with_an_error():
    for _ in range(2):
        with pytest.raises(KeyError):
            jax.jit(user_function)(1.0)
        assert not isinstance(jnp.ones(2) + 1, jax.core.Tracer)


def test_leaks_are_told_where():
    saved = []
    jax.jit(lambda x: saved.append(x * 2))(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError, match=re.escape(__file__)):
        saved[0] + 1
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jnp.sin(saved[0])
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.jit(lambda x: x)(saved[0])


def test_checking_leaks():
    saved = []
    with jax.checking_leaks(), pytest.raises(Exception, match="Leaked"):
        jax.jit(lambda x: saved.append(x) or x)(1.0)
    with jax.checking_leaks():
        assert float(jax.jit(lambda x: x + 1)(1.0)) == 2


@pytest.mark.parametrize(
    "traced",
    [
        lambda f: jax.vmap(f)(jnp.arange(3)),
        lambda f: jax.jit(f)(1.0),
        lambda f: jax.lax.map(f, jnp.arange(3.0)),
    ],
    ids=["vmap", "jit", "map"],
)
def test_leaks_are_followed_to_who_keeps_them(traced):
    kept = types.SimpleNamespace(table={})

    def f(x):
        def inner():
            return x

        kept.table["key"] = [inner]
        return x

    chain = r"""<\w+Tracer \d+> is referred to by <function (\d+)> \(inner\) closed-over variable x
<function \1> is referred to by <list (\d+)>\[0\]
<list \2> is referred to by <dict (\d+)>\['key'\]
<dict \3> is referred to by <"""
    with jax.checking_leaks(), pytest.raises(Exception, match=chain):
        traced(f)


def test_values_that_vmap_lets_go_of_are_no_leaks():
    with jax.checking_leaks():
        out = jax.vmap(lambda x: jax.vmap(jnp.sin)(x) + x.sum())(jnp.ones((2, 3)))
    assert out.shape == (2, 3)


# --- memory -------------------------------------------------------------------------------------


def test_functions_are_freed():
    """Neither caches nor fast paths keep a jitted function, its closure, or its results alive."""
    big = jnp.ones(1000)
    reference = weakref.ref(big)
    f = jax.jit(lambda x, y=big: x + y)
    f(1.0), f(1.0)
    gone = weakref.ref(f)
    del f, big
    gc.collect()
    assert gone() is None
    assert reference() is None


def test_arguments_are_freed():
    f = jax.jit(lambda x: x + 1)
    x = jnp.ones(1000)
    reference = weakref.ref(x)
    f(x), f(x), f({"a": x}["a"])
    del x
    gc.collect()
    assert reference() is None
