"""Tests that processes share: every outcome is reported, however it comes about."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.conftest import pytest_runtest_protocol, pytest_xdist_make_scheduler
"""
MANY = """
import pytest
@pytest.mark.parametrize("i", range(60))
def test_passes(i): pass
def test_is_skipped(): pytest.skip("why")
"""
OUTCOMES = """
import os, pytest, time
@pytest.fixture
def broken(): raise ValueError("in its setup")
@pytest.fixture
def left():
    yield
    raise ValueError("in its teardown")
@pytest.fixture
def slow(): time.sleep(0.02)
def test_fails(): assert 1 + 1 == 3
def test_has_no_fixture(broken): pass
def test_cannot_clean_up(left): pass
def test_is_prepared_slowly(slow): pass
@pytest.mark.xfail(strict=True)
def test_is_known_to_fail(): assert 0
"""
CRASH = """
import os
def test_before(): pass
def test_crashes(): os._exit(1)
def test_after(): pass
"""


@pytest.mark.parametrize("crashes", [False, True])
def test_outcomes_are_reported(crashes, tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_crash.py").write_text(CRASH if crashes else "def test_nothing(): pass\n")
    for k in range(4):
        (tmp_path / f"test_many_{k}.py").write_text(MANY)
    (tmp_path / "test_outcomes.py").write_text(OUTCOMES)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        "--dist",
        "loadfile",
    ]
    done = subprocess.run(
        [*command, "--durations=0", "-rA", str(tmp_path)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    summary = done.stdout.splitlines()[-1]
    failed, passed = (2, 244) if crashes else (1, 243)
    for count in (f"{failed} failed", f"{passed} passed", "4 skipped", "1 xfailed", "2 errors"):
        assert count in summary, done.stdout[-3000:]
    assert "in its setup" in done.stdout and "in its teardown" in done.stdout
    assert "setup    test_outcomes.py::test_is_prepared_slowly" in done.stdout
    assert ("crashed while running 'test_crash.py::test_crashes'" in done.stdout) == crashes
