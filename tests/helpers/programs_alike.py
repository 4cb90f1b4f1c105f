"""Programs that print what they find out with jitney and with real JAX, in processes of their own.

So they may have several devices. The lines have to be the same; those of real JAX are recorded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.helpers import oracle


def started(
    program: Path, *arguments: str, launcher: bool = False, **variables: str
) -> subprocess.Popen[str]:
    """The process of a program, with `variables` of the environment.

    Args:
      launcher: whether `python -m jitney` runs it.
    """
    return subprocess.Popen(
        [sys.executable, *(["-m", "jitney"] if launcher else []), str(program), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables},
    )  # fmt: skip


def printed(process: subprocess.Popen[str]) -> list[str]:
    """The lines that a process prints, once it is through."""
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out.splitlines()


def printed_by_jax(program: Path, *arguments: str, **variables: str) -> list[str]:
    """The lines that a program of `tests` prints with real JAX, which it imports."""
    name = program.relative_to(oracle.TESTS).as_posix()
    return oracle.answer(
        lambda: printed(started(oracle.TESTS / name, *arguments, **variables)), program.read_text()
    )


def check_prints_alike(program: Path, *, imports_jax: bool = False, **variables: str) -> None:
    """Runs `program` with both packages, and compares the lines that it prints.

    Args:
      program: a file of `tests`. It imports the package that its argument names.
      imports_jax: it says `import jax` instead, and is to be launched.
      variables: of the environment.
    """
    arguments = [] if imports_jax else ["jitney"]
    theirs = printed_by_jax(program, *([] if imports_jax else ["jax"]), **variables)
    ours = printed(started(program, *arguments, launcher=imports_jax, **variables))
    assert theirs, f"{program} prints nothing"
    wrong = [f"{a}\n  {b}" for a, b in zip(ours, theirs, strict=True) if a != b]
    assert not wrong, "\n".join(wrong)
