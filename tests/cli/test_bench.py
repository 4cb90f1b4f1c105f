"""`jitney bench`: times of a function by several contestants, in a table and in files."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jitney.cli import bench, bench_worker, usage

PROGRAM = """
import jax
import jax.numpy as jnp
from jax.numpy import sin
from functools import partial

def helper(x):
    return jnp.exp(-x * x)

def f(x, y, scale=2.0):
    return jnp.sum(helper(x) * scale + sin(y))

@jax.jit
def jitted(x):
    return helper(x) + 1

@partial(jax.jit, static_argnames="n")
def powers(x, *, n=3):
    return x**n

def normalized(x):
    return jax.nn.softmax(x)

def random(x):
    return jnp.sum(x) * (2.0 if "numpy" in jnp.__name__.split(".")[0] else 1.0)

if __name__ == "__main__":
    raise SystemExit(3)
"""
MATRICES = """
import jax.numpy as jnp

def make_arguments(size):
    return jnp.ones((size, 3)), 2

def product(x, n):
    return x.T @ x * n
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    monkeypatch.setattr(bench, "ROUNDS", 3)


def test_a_table_and_all_times(program, tmp_path, capsys) -> None:
    file = tmp_path / "times.json"
    words = [program, "--function", "f", "--sizes=1e2,300", "--json", str(file)]
    assert bench.main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["size", "jitney", "numpy"]
    assert [line.split()[0] for line in lines[3:5]] == ["100", "300"]
    assert all(line.count("±") == 2 for line in lines[3:5])
    assert lines[6] == "First calls, which trace and compile:"
    found = json.loads(file.read_text())
    assert found["failures"] == {} and found["differing"] == []
    assert found["versions"]["numpy"] == np.__version__
    assert [(t["contestant"], t["size"]) for t in found["times"]] == [
        ("jitney", 100), ("numpy", 100), ("jitney", 300), ("numpy", 300),
    ]  # fmt: skip
    for times in found["times"]:
        low, high = times["quartiles"]
        assert 0 < low <= times["median"] <= high and len(times["later"]) == 3
    # A first call compiles, even if an earlier process has compiled the same.
    assert found["times"][0]["first"] > 100 * found["times"][0]["median"]


@pytest.mark.parametrize("name", ["jitted", "powers"])
def test_functions_that_are_jitted(name, program, capsys) -> None:
    assert bench.main([program, "--function", name, "--sizes", "100"]) == 0
    assert capsys.readouterr().out.count("±") == 2


def test_functions_of_other_arguments_get_a_cure(tmp_path, capsys) -> None:
    path = tmp_path / "rows.py"
    path.write_text("def rows(c):\n    return c.mean(axis=1)\n")
    assert bench.main([str(path), "--function", "rows", "--sizes", "100"]) == 1
    error = capsys.readouterr().err
    assert "axis 1 is out of bounds" in error and "define a function make_arguments(size)" in error


def test_what_numpy_does_not_have(program, capsys) -> None:
    assert bench.main([program, "--function", "normalized", "--sizes", "100"]) == 0
    out = capsys.readouterr().out
    assert out.count("±") == 1
    assert (
        "numpy: numpy cannot run the functions that it imports from jax, other than jax.numpy"
        in out
    )


def test_other_results_are_said(program, capsys) -> None:
    assert bench.main([program, "--function", "random", "--sizes", "100"]) == 0
    assert "numpy: the results differ from jitney's" in capsys.readouterr().out


def test_arguments_of_the_program(tmp_path, capsys) -> None:
    path = tmp_path / "matrices.py"
    path.write_text(MATRICES)
    assert bench.main([str(path), "--function", "product", "--sizes", "20"]) == 0
    out = capsys.readouterr().out
    assert out.count("±") == 2 and "results" not in out


@pytest.mark.parametrize("module", ["jax", "numba"])
def test_others(module, program, capsys) -> None:
    words = [program, "--function", "f", "--sizes", "100", "--against", module]
    assert bench.main(words) == 0
    out = capsys.readouterr().out
    if importlib.util.find_spec(module) is None:
        assert f"{module}: not installed" in out
    else:
        assert out.count("±") == 2 and "results" not in out


def test_no_such_function(program, capsys) -> None:
    assert bench.main([program, "--function", "g"]) == 1
    assert "program.py has no function g" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--function", "f"], "one program is needed"),
        (["absent.py", "--function", "f"], "absent.py is not a file"),
        ([__file__], "--function is needed"),
        ([__file__, "--function"], "--function needs a value"),
        ([__file__, "--function="], "--function needs a value"),
        ([__file__, "--functoin", "f"], "unknown option --functoin; did you mean --function?"),
        ([__file__, "--function", "f", "--against", "torch"], "takes numpy, jax and numba"),
        ([__file__, "--function", "f", "--sizes", "1.5"], "takes positive integers such as"),
        ([__file__, "--function", "f", "--sizes", "many"], "takes positive integers such as"),
        ([__file__, "--function", "f", "--plot", "x.gif"], "must end in .svg or .png"),
    ],
)
def test_wrong_words(words, said, capsys) -> None:
    assert bench.main(words) == 2
    err = capsys.readouterr().err
    assert "\njitney bench: " in err and said in err and err.startswith("usage: ")


def test_help(capsys) -> None:
    assert bench.main(["--help"]) == 0
    assert capsys.readouterr().out == bench.USAGE


def test_plots_need_matplotlib(program, tmp_path, monkeypatch, capsys) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n: None if n == "matplotlib" else find(n)
    )
    assert bench.main([program, "--function", "f", "--plot", str(tmp_path / "x.svg")]) == 2
    assert "needs matplotlib, which is not installed" in capsys.readouterr().err


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_plots(kind, program, tmp_path) -> None:
    file = tmp_path / f"times.{kind}"
    assert bench.main([program, "--function", "f", "--sizes", "9,99", "--plot", str(file)]) == 0
    assert file.read_bytes()[:5] == {"svg": b"<?xml", "png": b"\x89PNG\r"}[kind]


# --- what is timed --------------------------------------------------------------------------------


def test_arguments_are_equal_and_of_the_contestant() -> None:
    def f(x, y, *rest, z, scale=2.0):
        return x

    args, kwargs = bench_worker.arguments(f, {}, 5, "numpy")
    again, _ = bench_worker.arguments(f, {}, 5, "numpy")
    assert [type(x) for x in (*args, kwargs["z"])] == [np.ndarray] * 3
    assert [x.dtype for x in args] == [np.float32] * 2 and args[0].shape == (5,)
    assert not np.array_equal(args[0], args[1])
    np.testing.assert_array_equal(args, again)
    assert [*kwargs] == ["z"]


def test_contestants_take_turns(monkeypatch) -> None:
    asked = []

    class Worker:
        def __init__(self, name: str) -> None:
            self.contestant = name

        def ask(self, **request):
            asked.append(self.contestant)
            if "size" in request:
                return {"first": 1.0, "calls": 2, "summary": [1.0]}
            return {"error": "gone"} if self.contestant == "c" else {"seconds": 0.5}

    found = bench.Results()
    workers: list[Any] = [Worker("a"), Worker("b"), Worker("c")]
    bench._measure_size(workers, 10, found)
    assert "".join(asked) == "abc" + "abc" + "ba" + "ab"
    assert [(t.contestant, t.median, t.noise) for t in found.times] == [
        ("a", 0.5, 0.0), ("b", 0.5, 0.0),
    ]  # fmt: skip
    assert found.failures == {"c": "gone"}


def test_a_process_that_ends(tmp_path) -> None:
    path = tmp_path / "ends.py"
    path.write_text("import os\ndef f(x):\n    os._exit(1)\n")
    done = subprocess.run(
        [sys.executable, "-m", "jitney", "bench", str(path), "--function", "f"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "jitney bench: its process has ended\n"


# --- options --------------------------------------------------------------------------------------

USAGE = """\
usage: jitney example [option ...]

  --all            does all
  --size NUMBER    so large
"""


def test_options_are_those_of_the_usage() -> None:
    assert usage.names(USAGE) == ["--all", "--size"]
    values, rest = usage.options(USAGE, ["a", "--size=3", "--all", "-", "b"])
    assert values == {"size": "3", "all": ""} and rest == ["a", "-", "b"]
    assert usage.options(USAGE, ["--size", "3"]) == ({"size": "3"}, [])
    for words in (["--al"], ["--size"], ["--all=1"]):
        with pytest.raises(ValueError, match=words[0].partition("=")[0]):
            usage.options(USAGE, words)
