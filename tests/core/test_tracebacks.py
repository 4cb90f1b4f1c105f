"""Tracebacks show the user's frames only, wherever errors are shown, and as the setting says."""

import os
import subprocess
import sys
import textwrap
import traceback

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.diagnostics import tracebacks

MODES = ("off", "auto", "remove_frames", "tracebackhide", "quiet_remove_frames")
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(jax.__file__)))
PACKAGE = os.path.join(SOURCE, "jitney") + os.sep

EAGER = """\
import jitney.numpy as jnp
def layer(x, w):
    return x @ w
layer(jnp.ones((2, 3)), jnp.ones((2, 3)))
"""
JITTED = """\
import jitney as jax, jitney.numpy as jnp
@jax.jit
def layer(x, w):
    return jax.lax.map(lambda row: row @ w, x)
layer(jnp.ones((2, 3)), jnp.ones((2, 3)))
"""
IN_A_THREAD = """\
import threading
import jitney.numpy as jnp
thread = threading.Thread(target=lambda: jnp.ones((2, 3)) @ jnp.ones((2, 3)))
thread.start()
thread.join()
"""
CHAINED = """\
import jitney.numpy as jnp
try:
    jnp.ones((2, 3)) @ jnp.ones((2, 3))
except TypeError as error:
    raise ExceptionGroup("two", [error, RuntimeError()]) from error
"""


def shown(program, tmp_path, mode="auto", words=()):
    """What a program prints to stderr, and how many frames of jitney are in it."""
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, *words, str(path)], capture_output=True, text=True, timeout=120,
        env={
            **os.environ, "PYTHONPATH": SOURCE, "JAX_TRACEBACK_FILTERING": mode,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the plugin is named, installed or not
        },
    )  # fmt: skip
    text = done.stderr + done.stdout
    return text, text.count(PACKAGE)


@pytest.mark.parametrize("program", [EAGER, JITTED, IN_A_THREAD, CHAINED])
def test_own_frames_are_not_shown(program, tmp_path):
    text, frames = shown(program, tmp_path)
    assert "TypeError" in text and "program.py" in text
    assert not frames, text


@pytest.mark.parametrize("program", [EAGER, JITTED])
@pytest.mark.parametrize("mode", MODES)
def test_modes(mode, program, tmp_path):
    text, frames = shown(program, tmp_path, mode)
    # Plain Python shows frames that are marked.
    assert bool(frames) == (mode in ("off", "tracebackhide", "remove_frames"))
    assert ("JAX_TRACEBACK_FILTERING=off" in text) == (mode == "quiet_remove_frames")
    assert ("UnfilteredStackTrace" in text) == (mode == "remove_frames")
    if mode == "remove_frames":  # the user's part comes last
        assert text.count("UnfilteredStackTrace") == 1
        assert PACKAGE not in text.rpartition("Traceback (most recent call last)")[2]


@pytest.mark.parametrize("mode", MODES)
def test_pytest(mode, tmp_path):
    program = "import pytest\n" + textwrap.dedent("""\
        import jitney.numpy as jnp
        def test_layer():
            jnp.ones((2, 3)) @ jnp.ones((2, 3))
        """)
    words = ("-m", "pytest", "-p", "jitney_pytest", "-p", "no:cacheprovider", "--tb=short")
    text, frames = shown(program, tmp_path, mode, words)
    assert "TypeError" in text and "program.py:4" in text
    assert bool(frames or "jitney/numpy" in text) == (mode == "off"), text


def test_a_caught_error_can_be_shortened():
    with pytest.raises(TypeError) as caught:
        jnp.add(jnp.ones(3))
    tracebacks.shorten(caught.value)
    [entry] = traceback.extract_tb(caught.value.__traceback__)
    assert entry.filename == __file__


def test_frames_of_numpy_below_ours_are_not_shown():
    with pytest.raises(ValueError) as caught:
        jnp.asarray([[1, 2], [3]])
    tracebacks.shorten(caught.value)
    assert [entry.filename for entry in traceback.extract_tb(caught.value.__traceback__)] == [
        __file__
    ]


def test_an_error_of_a_callback_shows_the_callbacks_frame():
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(Exception) as caught:
        jax.pure_callback(fails, jax.ShapeDtypeStruct((), "float32"), 1.0).block_until_ready()
    assert "mine" in "".join(traceback.format_exception(caught.value))
