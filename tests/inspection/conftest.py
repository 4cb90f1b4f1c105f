"""The command in a process of its own: a program's `import jax` is jitney from then on in a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def jitney_command() -> Callable[..., tuple[int, str, str]]:
    """A function of the command's words: (exit code, standard output, standard error)."""

    def run(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "jitney", *words], capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    return run
