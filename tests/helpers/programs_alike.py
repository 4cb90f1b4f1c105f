"""Programs that print what they find out, run with real jax and with jitney, in processes of their own.

So they may have several devices. The lines have to be the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def started(program: Path, *arguments: str, launcher: bool = False) -> subprocess.Popen[str]:
    """The process of a program; `launcher` says whether `python -m jitney` runs it."""
    return subprocess.Popen(
        [sys.executable, *(["-m", "jitney"] if launcher else []), str(program), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip


def printed(process: subprocess.Popen[str]) -> list[str]:
    """The lines that a process prints, once it is through."""
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out.splitlines()


def check_prints_alike(program: Path, *, imports_jax: bool = False) -> None:
    """Runs `program` on both packages, and compares the lines that it prints.

    Args:
      program: a file. It imports the package that its argument names.
      imports_jax: it says `import jax` instead, and is to be launched.
    """
    if imports_jax:
        both = [started(program, launcher=launcher) for launcher in (True, False)]
    else:
        both = [started(program, package) for package in ("jitney", "jax")]
    ours, theirs = map(printed, both)
    assert theirs, f"{program} prints nothing"
    wrong = [f"{a}\n  {b}" for a, b in zip(ours, theirs, strict=True) if a != b]
    assert not wrong, "\n".join(wrong)
