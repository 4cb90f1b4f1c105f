"""Environment variables that set options, and those that are misspelt."""

import os
import subprocess
import sys

import pytest

from jitney.core.settings import environment


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in [x for x in os.environ if x.startswith(environment.PREFIXES)]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("JAX_ENABLE_X46", "JAX_ENABLE_X64"),
        ("JITNEY_ENABLE_X_64", "JITNEY_ENABLE_X64"),
        ("JAX_LOG_COMPILE", "JAX_LOG_COMPILES"),
        ("JITNEY_NUM_THREAD", "JITNEY_NUM_THREADS"),
    ],
)
def test_misspelt(name, nearest, monkeypatch):
    monkeypatch.setenv(name, "1")
    assert environment.misspelled() == {name: nearest}
    assert environment.settings() == {}


@pytest.mark.parametrize(
    "name",
    [
        "JAX_ENABLE_X64",
        "JITNEY_DEBUG_NANS",
        "JITNEY_NUM_THREADS",
        "JAX_PLATFORMS",
        "JITNEY_PERFORMANCE_WARNINGS",
    ],
)
def test_settings(name, monkeypatch):
    monkeypatch.setenv(name, "1")
    assert environment.misspelled() == {}
    assert environment.settings() == {name: "1"}


def test_other_programs_may_have_variables_of_their_own(monkeypatch):
    monkeypatch.setenv("JAX_TEST_COLLECTION_OF_SOMEONE", "1")
    assert environment.misspelled() == environment.settings() == {}


def test_import_warns_once_at_the_users_line():
    code = "import jitney\nimport jitney.numpy\nprint(jitney.numpy.ones(1))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "JAX_ENABLE_X46": "1"},
    )  # fmt: skip
    assert done.stdout == "[1.]\n"
    assert done.stderr.count("JAX_ENABLE_X46 has no effect; did you mean JAX_ENABLE_X64?") == 1
    assert done.stderr.startswith("<string>:1: UserWarning")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("JAX_ENABLE_X64", "maybe", "'maybe' is not a boolean; use 1, true,"),
        ("JITNEY_DEFAULT_MATMUL_PRECISION", "exact", "exact"),
        ("JITNEY_NUM_THREADS", "0", "expected a positive number of threads, got '0'"),
    ],
)
def test_import_refuses_impossible_values(name, value, said):
    done = subprocess.run(
        [sys.executable, "-c", "import jitney"], capture_output=True, text=True, check=False,
        env={**os.environ, name: value},
    )  # fmt: skip
    assert done.returncode == 1
    *frames, message = done.stderr.splitlines()
    assert message.startswith(f"ValueError: the environment variable {name}: ") and said in message
    assert sum(["File" in line for line in frames]) <= 3
