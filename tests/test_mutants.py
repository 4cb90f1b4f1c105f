"""The places that `tools/mutants.py` puts faults into, and what it makes of the tests' answers."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def mutants():
    """The module, one for all tests here: it keeps the places that it has found in each folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import mutants

    yield mutants
    sys.modules.pop("mutants")


def test_a_fault_is_a_program_and_another_one(mutants):
    drawn = mutants.drawn(100, seed=1)
    assert len(drawn) == 100
    for mutant in drawn:
        text = (ROOT / mutant.path).read_text()
        fault = mutant.applied(text)
        assert fault != text
        assert len(fault.splitlines()) == len(text.splitlines())
        if mutant.path.endswith(".py"):
            assert ast.dump(ast.parse(fault)) != ast.dump(ast.parse(text))


def test_tests_of_native_code_are_there(mutants):
    """Each is run once without a fault, and pytest does not take a path that is not there."""
    paths = [path for tests in mutants.NATIVE_TESTS.values() for path in tests.split()]
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_the_seed_decides(mutants):
    assert mutants.drawn(50, seed=2) == mutants.drawn(50, seed=2) != mutants.drawn(50, seed=3)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("y = a < b", {"y = a <= b"}),
        ("y = a - 1", {"y = a + 1", "y = a - 2"}),
        ("y = -a if not b else True", {"y = a if not b else True", "y = -a if b else True",
                                       "y = -a if not b else False"}),
        ("y = (a) and (b)", {"y = (a) or (b)"}),
        ("if a: f(max(b))", {"if False: f(max(b))", "if a: f(min(b))"}),
        ("match a:\n  case 'b': c\n  case _: d", {"match a:\n  case 'b' if False: c\n  case _: d"}),
        ("def f(a: Literal[1] = 2): 'doc'", {"def f(a: Literal[1] = 3): 'doc'"}),
        ("raise ValueError(f'{a + 1}')", set()),
        ("limit = threshold(1024, small=8)", set()),
        ("for a in zip(b, c, strict=True): d", set()),
    ],
)  # fmt: skip
def test_faults(mutants, text, faults):
    places = mutants._Places(Path("file.py"), text)
    places.visit(ast.parse(text))
    assert {mutant.applied(text) for mutant in places.found} == faults


PROGRAM = """\
TABLE = (
    1,
    2,
)


@decorate(
    3,
)
def f(x, y=(
    4
)):
    g(
        x,
        5,
    )
    if (
        x
        and y
    ):
        return 6
    match x:
        case 7:
            return (
                8
            )
    return y


class A:
    table = {
        1: 2,
    }
"""


@pytest.mark.parametrize(
    ("line", "lines", "is_imported"),
    [
        (3, range(1, 5), True), (8, range(7, 13), True), (11, range(7, 13), True),
        (15, range(13, 17), False), (19, range(17, 21), False), (21, range(21, 22), False),
        (22, range(22, 23), False), (23, range(23, 24), False), (25, range(24, 27), False),
        (27, range(27, 28), False), (32, range(31, 34), True),
    ],
)  # fmt: skip
def test_the_statement_of_a_line(mutants, line, lines, is_imported):
    assert mutants._statement_at(ast.parse(PROGRAM), line) == (lines, is_imported)


def test_tests_that_run_a_fault(mutants, monkeypatch, tmp_path):
    """A line within a statement is run by what runs its first line; a constant, by callers first."""
    coverage = pytest.importorskip("coverage")
    path = "src/jitney/numpy/file.py"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(PROGRAM)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "DATA", tmp_path / "coverage")
    monkeypatch.setattr(mutants, "TIMES", tmp_path / "seconds.json")
    imported, called = {1, 7, 30, 31}, {13, 17, 22, 27}
    runs = {
        "tests/test_first.py": imported,
        "tests/test_calls.py": imported | called,
        "tests/test_slow.py": imported | called,
        "tests/numpy/test_beside.py": imported,
        "tests/numpy/test_file.py": imported,
        "tests/test_other.py": set(),
    }
    data = coverage.CoverageData(str(tmp_path / "coverage"))
    for test, lines in runs.items():
        data.set_context(test)
        data.add_lines({str(tmp_path / path): lines})
    data.write()
    (tmp_path / "seconds.json").write_text(
        json.dumps({test: 9.0 if "slow" in test else 1.0 for test in runs})
    )

    def covering(line):
        return mutants._covering(mutants.Mutant(path, line, 0, 0, ""))

    callers = ["tests/test_calls.py", "tests/test_slow.py"]
    assert covering(15) == covering(19) == callers
    assert covering(25) == []
    first, *others = covering(3)
    assert first == "tests/numpy/test_file.py" and others[:2] == callers
    assert set(others[2:]) == {"tests/test_first.py", "tests/numpy/test_beside.py"}


@pytest.mark.parametrize(
    ("status", "fails"),
    [(0, False), (5, False), (1, True), (-11, True), (137, True), ("late", True),
     (2, None), (3, None), (4, None)],
)  # fmt: skip
def test_what_kills(mutants, monkeypatch, tmp_path, status, fails):
    """A failure, a signal or the time; not that pytest was called wrongly or failed itself."""

    def run(command, **_):
        if status == "late":
            raise subprocess.TimeoutExpired(command, 1)
        return subprocess.CompletedProcess(command, status, b"what pytest said", b"")

    monkeypatch.setattr(mutants.subprocess, "run", run)
    if fails is None:
        with pytest.raises(mutants.Unfinished, match=f"status {status}\nwhat pytest said"):
            mutants._fails(tmp_path, ["tests"], 1.0)
    else:
        assert mutants._fails(tmp_path, ["tests"], 1.0) == fails


PROJECT = {
    "src/small/numpy/file.py": "def f(a, b):\n    return a + b\n",
    "tests/test_kills.py": "from small.numpy.file import f\n\n\ndef test(): assert f(2, 3) == 5\n",
    "tests/test_passes.py": "from small.numpy.file import f\n\n\ndef test(): assert f(2, 0) == 2\n",
    "tests/test_broken.py": "import nothing_of_this_name\n",
}


@pytest.fixture
def project(mutants, monkeypatch, tmp_path):
    """A repository with a module of one fault, and tests, one of which fails anyway."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    identity = ["-c", "user.name=N", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    (tmp_path / "tests" / "test_unknown.py").write_text("")  # git does not list it
    (tmp_path / ".git" / "info" / "exclude").write_text("build\n")
    home = tmp_path / "build" / "mutants"
    for name, value in {
        "ROOT": tmp_path, "HOME": home, "TIMES": home / "seconds.json", "PACKAGE": Path("src/small"),
        "_compile": lambda _: True,
    }.items():  # fmt: skip
        monkeypatch.setattr(mutants, name, value)
    return tmp_path


def test_files_of_tests_are_those_of_copies(mutants, project):
    assert mutants._test_files() == sorted(x for x in PROJECT if x.startswith("tests"))
    mutants._make_tree(project / "build" / "tree")
    copied = {x.relative_to(project / "build" / "tree") for x in (project / "build").rglob("*.py")}
    assert copied == {*map(Path, PROJECT)}


@pytest.mark.parametrize(
    ("names", "said"),
    [("broken kills", "killed"), ("broken passes", "survived"), ("broken", "uncovered")],
)
def test_tests_that_fail_anyway_kill_nothing(mutants, project, monkeypatch, capsys, names, said):
    path = "src/small/numpy/file.py"
    (mutant,) = mutants._of_python(Path(path))
    monkeypatch.setattr(mutants, "drawn", lambda count, seed: [mutant])
    monkeypatch.setattr(
        mutants, "_covering", lambda _: [f"tests/test_{name}.py" for name in names.split()]
    )
    mutants.run(1, 7, 600, 1)
    told = capsys.readouterr().out
    assert "fails without a fault: tests/test_broken.py" in told
    assert told.splitlines()[-1].split() == ["numpy", said, "1"]


def test_results_are_of_a_commit(mutants, project, monkeypatch, capsys):
    """What one said of the code is not taken for what the next would say."""
    (mutant,) = mutants._of_python(Path("src/small/numpy/file.py"))
    monkeypatch.setattr(mutants, "drawn", lambda count, seed: [mutant])
    monkeypatch.setattr(mutants, "_covering", lambda _: ["tests/test_kills.py"])
    asked = []

    def fails(tree, tests, seconds):
        asked.append(tests)
        if len(asked) == 2:
            raise mutants.Unfinished("interrupted")
        return "-" in (tree / mutant.path).read_text()

    monkeypatch.setattr(mutants, "_fails", fails)
    mutants.run(1, 7, 600, 1)
    assert "unjudged 1" in capsys.readouterr().out
    for _ in range(2):  # not kept; then tried again, and kept
        mutants.run(1, 7, 600, 1)
        assert "killed 1" in capsys.readouterr().out
    assert len(asked) == 3  # without the fault, and twice with it
    (project / "tests" / "test_kills.py").write_text("")
    mutants.run(1, 7, 600, 1)
    assert len(asked) == 5
    files = [x.stem for x in mutants.HOME.glob("results-7-*.jsonl")]
    assert len(files) == 2
    assert max(files, key=len).startswith(min(files, key=len))
