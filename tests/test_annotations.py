"""What the lint says of annotations: `tools/annotations.py`."""

import ast

import pytest
from tools import annotations

# Written apart: these texts are no comments that the lint should find here.
IGNORE, RULE = "# type: " + "ignore", "[index]"
SLOW = "pytest." + "mark.slow"


@pytest.mark.parametrize(
    "text, has_reason",
    [
        (f"x = y[0]  {IGNORE}{RULE}", False),
        (f"x = y[0]  {IGNORE}", False),
        (f"x = y[0]  {IGNORE}{RULE}  # a reason", True),
        (f"x = y[0]  # noqa: E501  {IGNORE.replace('type', 'pyright')}  # a reason", True),
        (f"x = y[0]  {IGNORE}{RULE}  # noqa: E501", False),
        (f"    # A reason.\n    x = y[0]  {IGNORE}{RULE}", True),
        (f"# fmt: skip\nx = y[0]  {IGNORE}{RULE}", False),
        (f"# A reason.\ny = []\nx = y[0]  {IGNORE}{RULE}", False),
        (f"y = []  # of something else\nx = y[0]  {IGNORE}{RULE}", False),
    ],
)
def test_reasons_of_ignores(text, has_reason):
    assert list(annotations.ignores(text)) == [(text.count("\n") + 1, has_reason)]


@pytest.mark.parametrize(
    ("text", "has_reason"),
    [
        (f"@{SLOW}", False),
        (f"@{SLOW}  # noqa: E501", False),
        (f"@{SLOW}  # compiles a long program", True),
        (f"pytestmark = [{SLOW}, OTHER]  # start processes", True),
        (f"# Compiles a long program.\n@{SLOW}", True),
        (f"pytest.param(1, marks={SLOW})", False),
    ],
)
def test_reasons_of_slow_tests(text, has_reason):
    assert list(annotations.slow_marks(text)) == [(text.count("\n") + 1, has_reason)]


def test_other_comments_are_no_ignores():
    assert list(annotations.ignores("x = 1  # noqa: E501\ny = 2  # ignores its type")) == []


def test_parameters_that_count():
    source = "def f(a, b: Any, c: int, *rest: Any, _d, self=None, **k: 'str'): ..."
    found = {arg.arg: plain for arg, plain in annotations.parameters(ast.parse(source))}
    assert found == {"a": True, "b": True, "c": False, "rest": True, "k": False}


def test_results_that_count():
    source = "def f() -> Any:\n    def g(): ...\nasync def h() -> list[Any]: ..."
    found = {node.name: plain for node, plain in annotations.results(ast.parse(source))}
    assert found == {"f": True, "g": True, "h": False}


def test_names_for_any():
    source = (
        "A = Any\nB: TypeAlias = Any  # a reason\nC = list[Any]\nD: Any\n"
        "class E:\n    F = Any\ndef g():\n    kind = Any\n"
    )
    assert list(annotations.aliases(ast.parse(source))) == ["A", "B", "F"]


def test_shares_are_compared_with_limits():
    share = annotations.Share()
    for is_plain in (True, False, False, False):
        share = share.plus(is_plain)
    assert (share.plain, share.total) == (1, 4)
    assert share.exceeds(24) and not share.exceeds(25)
    assert not annotations.Share().exceeds(0)


def test_the_tree_gives_its_reasons():
    count, bare = annotations.check_ignores()
    assert not annotations.check_slow_marks()
    assert not bare and 0 < count <= annotations.MAX_IGNORES < 60
