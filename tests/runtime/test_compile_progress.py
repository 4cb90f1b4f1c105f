"""Long compilations say what they are at: on terminals and in notebooks, and nowhere else."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from types import ModuleType

import pytest

import jitney
import jitney.numpy as jnp
from jitney.core.settings import compile_progress

# Compilations are shown at once, and stages are slow.
PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job of a shell may have it ignored
import jitney, jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.llvm import engine
from jitney.core.settings import compile_progress

compile_progress.DELAY = compile_progress.INTERVAL = 0.01
slow = engine.emit
engine.emit = lambda *arguments: (time.sleep(0.3), slow(*arguments))[1]

def chain(x):
    for i in range(int(sys.argv[1])):
        x = jnp.sin(x[::-1]) + i
    return x

try:
    jitney.jit(chain)(jnp.ones(30)).block_until_ready()
except KeyboardInterrupt:
    print("interrupted")
else:
    print("done")
"""
CLEAR = "\r\x1b[K"


def on_terminal(*arguments: str, interrupt: bool = False) -> tuple[str, str]:
    """(output, what the terminal that is standard error was sent) of `PROGRAM`."""
    own, others = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=others,
        text=True,
    )
    os.close(others)
    chunks: list[bytes] = []
    while True:
        try:
            chunk = os.read(own, 4096)
        except OSError:  # it is closed
            break
        chunks.append(chunk)
        if interrupt:
            child.send_signal(signal.SIGINT)
            interrupt = False
        if not chunk:
            break
    os.close(own)
    return child.communicate(timeout=60)[0].strip(), b"".join(chunks).decode()


def test_a_line_of_a_terminal() -> None:
    output, shown = on_terminal("300")
    assert output == "done"
    lines = shown.split(CLEAR)
    assert lines[0] == lines[-1] == ""
    assert all(line.startswith("compiling chain: ") for line in lines[1:-1])
    assert any(re.search(r" operations, codegen, \d+ s", line) for line in lines)


def test_an_interrupt_removes_it() -> None:
    output, shown = on_terminal("300", interrupt=True)
    assert output == "interrupted", shown[-2000:]
    assert shown.endswith(CLEAR)


def test_short_programs_have_none() -> None:
    assert on_terminal("3") == ("done", "")


def test_other_outputs_have_none() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "300"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


class _Updated:
    def __init__(self, shown: list[str]) -> None:
        self.update = shown.append


def test_a_bar_in_notebooks(monkeypatch) -> None:
    shown: list[str] = []

    class ZMQInteractiveShell: ...

    def display(content, display_id):
        shown.append(content)
        return _Updated(shown)

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    vars(package)["get_ipython"] = ZMQInteractiveShell
    vars(module).update(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(compile_progress, "DELAY", 0.01)
    monkeypatch.setattr(compile_progress, "INTERVAL", 0.01)

    def work():
        compile_progress.enters("plan")
        time.sleep(0.1)
        done = compile_progress.counter(4)
        worker = threading.Thread(target=done, args=[3])
        worker.start()
        worker.join()
        time.sleep(0.1)
        return "result"

    assert compile_progress.watched("f", lambda: 12_345, work) == "result"
    assert shown[0].startswith("<progress></progress> compiling f: 12,345 operations, plan, 0 s")
    assert any(
        x.startswith("<progress value=0.75></progress> ") and "75 % of its kernels" in x
        for x in shown
    )
    assert shown[-1] == ""


def test_errors_end_it(monkeypatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)

    def work():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        compile_progress.watched("f", lambda: 1000, work)
    compile_progress.enters("nothing is under way")
    assert terminal.getvalue() == ""


def test_operations_are_not_counted_where_nothing_is_shown(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)

    def count():
        raise AssertionError

    assert compile_progress.watched("f", count, lambda: 1) == 1


def test_all_compilations_are_watched(monkeypatch) -> None:
    seen = []

    def watched(name, count, compile_):
        seen.append((name, count()))
        return compile_()

    monkeypatch.setattr(compile_progress, "watched", watched)
    jitney.jit(lambda x: jnp.sin(x) * 3.25 + x)(1.0)
    assert [(name, n >= 4) for name, n in seen] == [("<lambda>", True)]
