"""The places that `tools/mutants.py` puts faults into."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def mutants(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
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
