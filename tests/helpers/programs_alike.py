"""Programs that print what they find out with jitney and with real JAX, in processes of their own.

So they may have several devices. The lines have to be the same; those of real JAX are recorded.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import oracle

LIMIT = 300  # seconds; programs take some, more on a busy machine


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
    try:
        out, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        raise AssertionError(f"no end after {LIMIT} s; it printed {out!r}, {errors!r}") from None
    assert process.returncode == 0, errors
    return out.splitlines()


def _question(program: Path, *arguments: str, **variables: str) -> tuple[Callable[[], Any], str]:
    name = program.relative_to(oracle.TESTS).as_posix()
    return (
        lambda: printed(started(oracle.TESTS / name, *arguments, **variables)),
        program.read_text(),
    )


def printed_by_jax(program: Path, *arguments: str, **variables: str) -> list[str]:
    """The lines that a program of `tests` prints with real JAX, which it imports."""
    return oracle.answer(*_question(program, *arguments, **variables))


class _Lines:
    """The lines that a program prints with either package; it runs once in a process of tests."""

    def __init__(self, program: Path, imports_jax: bool, variables: dict[str, str]) -> None:
        self.program, self.imports_jax, self.variables = program, imports_jax, variables

    def _arguments(self, package: str) -> list[str]:
        return [] if self.imports_jax else [package]

    @functools.cached_property
    def ours(self) -> list[str]:
        arguments = self._arguments("jitney")
        return printed(
            started(self.program, *arguments, launcher=self.imports_jax, **self.variables)
        )

    @functools.cached_property
    def theirs(self) -> list[str]:
        return printed_by_jax(self.program, *self._arguments("jax"), **self.variables)

    def recorded(self, module: Path) -> list[str]:
        """Those of real JAX as the records of a test module have them; none, if they do not."""
        if oracle.oracle.recording:
            return []
        before = oracle.oracle.current
        oracle.oracle.enter(module)
        question = _question(self.program, *self._arguments("jax"), **self.variables)
        try:
            return oracle.oracle.recorded(*question)
        except oracle.NoRecord:
            return []
        finally:
            oracle.oracle.current = before


def lines_alike(
    module: str, program: str, *, imports_jax: bool = False, **variables: str
) -> Callable[..., None]:
    """Returns a test for each line that a program prints: it is the same with both packages.

        test_sums = lines_alike(__file__, "sums_on_meshes.py")

    Args:
      module: the file of the test module.
      program: a file beside it. It imports the package that its argument names.
      imports_jax: it says `import jax` instead, and is to be launched.
      variables: of the environment.
    """
    lines = _Lines(Path(module).parent / program, imports_jax, variables)
    recorded = lines.recorded(Path(module))
    names = [
        f"{number} {re.sub('[^a-zA-Z0-9 ,.]+', ' ', line)[:40]}"
        for number, line in enumerate(recorded)
    ]

    @pytest.mark.parametrize(
        "line", range(len(recorded)) if recorded else [None], ids=names or ["all"]
    )
    def test(line: int | None) -> None:
        assert lines.theirs, f"{program} prints nothing"
        assert len(lines.ours) == len(lines.theirs)
        if line is None:
            assert lines.ours == lines.theirs
        else:
            assert lines.ours[line] == lines.theirs[line]

    return test
