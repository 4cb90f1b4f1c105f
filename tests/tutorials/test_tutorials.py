"""Programs after those of tutorials and of the FAQ, run unmodified: they `import jax`.

Each has its output beside it, as real jax prints it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def output_of(*command: str | Path) -> str:
    """What a program prints; it must succeed."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded(program: Path) -> str:
    """What real jax prints, with this NumPy: older ones write large scalars without an exponent."""
    text = program.with_suffix(".txt").read_text()
    return text.replace("1.0499989e+06", str(np.float32(1.0499989e06)))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program_prints_as_with_jax(program: Path) -> None:
    assert output_of("-m", "jitney", program) == recorded(program)


@pytest.mark.live
@pytest.mark.slow  # starts a process for each program, and XLA compiles there
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_recorded_output_is_that_of_jax(program: Path) -> None:
    assert output_of(program) == recorded(program)
