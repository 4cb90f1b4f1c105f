"""The places that `tools/mutants.py` puts faults into."""

import ast
import json
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
    """A path that is not there fails, which would pass for a fault that is noticed."""
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
