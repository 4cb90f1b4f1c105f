"""Programs of libraries, each of which writes named arrays: run as processes, and compared."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parents[2] / "src"
# Relative to the largest element. float32 keeps seven digits; iterations lose some.
TOLERANCE = 1e-5


def results(text, options, environment):
    """What a program with this text writes, by name."""
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder, "program.py"), Path(folder, "results.npz")
        program.write_text(text)
        found = subprocess.run(
            [sys.executable, *options, str(program), str(file)],
            env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        )  # fmt: skip
        assert found.returncode == 0, found.stdout
        with np.load(file) as arrays:
            return dict(arrays)


def on_this_package(text: str) -> dict[str, np.ndarray]:
    """What a program with this text writes where its `import jax` is this package."""
    return results(text, ["-m", "jitney"], {"PYTHONPATH": str(SOURCE)})


def confirms(recorded: Any, live: Any, looser: Mapping[str, float]) -> bool:
    """Whether JAX computes what is recorded: programs amplify the rounding of another processor."""
    try:
        assert isinstance(live, dict), "it fails on JAX"
        compare(recorded, live, looser)
    except AssertionError:
        return False
    return True


def compare(
    expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], looser: Mapping[str, float]
) -> None:
    """Checks that arrays are alike, up to `TOLERANCE` or what `looser` says of a name."""
    assert sorted(found) == sorted(expected)
    for name, theirs in expected.items():
        ours = found[name]
        assert ours.dtype == theirs.dtype, name
        assert ours.shape == theirs.shape, name
        if theirs.dtype.kind in "fc":
            tolerance = looser.get(name, TOLERANCE) * np.max(np.abs(theirs), initial=0.0)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
