"""Each feature can be deleted: its module and its lines in the list, and all else still works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jitney
from jitney.runtime.features.every_feature import FEATURES

ROOT = Path(__file__).parents[2]
PACKAGE = Path(jitney.__file__).parent
FOLDER = Path("runtime", "features")
NAMES = [feature.__name__.rpartition(".")[2] for feature in FEATURES]

# Tests of calls, transformations, control flow and random numbers that use no feature.
FILES = (
    "tests/api/test_jit_call.py", "tests/api/test_vmap.py", "tests/api/test_autodiff.py",
    "tests/runtime/test_eager.py", "tests/primitives/control", "tests/transforms",
    "tests/random/test_keys.py", "tests/numpy/test_array_methods.py", "tests/core/test_trace.py",
)  # fmt: skip
# Tests in these folders that are about a feature.
OWN = {"value_checks": ["tests/primitives/control/test_steps.py"]}


def _package_without(feature: str, place: Path) -> None:
    """Writes a copy of the package, of links, in which the feature does not exist."""
    source, copy = PACKAGE, place / PACKAGE.name
    for part in (*FOLDER.parts, None):
        copy.mkdir()
        for entry in source.iterdir():
            if entry.name not in (part, "__pycache__", f"{feature}.py", "every_feature.py"):
                (copy / entry.name).symlink_to(entry)
        if part is None:
            break
        source, copy = source / part, copy / part
    lines = (source / "every_feature.py").read_text().splitlines(keepends=True)
    kept = [line for line in lines if line.strip() != f"{feature},"]
    assert len(kept) == len(lines) - 2
    (copy / "every_feature.py").write_text("".join(kept))


def test_there_are_features():
    assert sorted(NAMES) == NAMES and len(NAMES) >= 4
    modules = {path.stem for path in (PACKAGE / FOLDER).glob("*.py")}
    assert modules == {*NAMES, "__init__", "every_feature", "no_collectives"}


@pytest.mark.parametrize("feature", NAMES)
def test_the_rest_works_without_it(feature, tmp_path):
    _package_without(feature, tmp_path)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    program = (
        "import importlib.util, jitney; print(jitney.__file__); "
        f"assert importlib.util.find_spec('jitney.runtime.features.{feature}') is None"
    )
    command = [sys.executable, "-c", program]
    where = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert where.stdout.startswith(str(tmp_path))
    tests = [str(ROOT / file) for file in FILES]
    tests += [f"--ignore={ROOT / file}" for file in OWN.get(feature, ())]
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        env=environment, capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:]
