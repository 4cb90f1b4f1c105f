"""How much of the package is typed: parameters and results that are plain `Any`, ignored diagnostics.

    python tools/annotations.py           a row for each folder; fails where a limit is exceeded
    python tools/annotations.py --list F  the parameters in files below src/jitney/F

Counted are all parameters of all functions (methods and inner functions too; `self`, `cls` and what
starts with an underscore do not count) that are annotated `Any` or not at all; functions whose result
is so; names that stand for `Any` alone; and, in the whole tree, comments that tell pyright to ignore
something. Each of these has a reason: another comment after it, or one on the line above. So has each
mark of a slow test.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "jitney"

# Folder -> the largest share of `Any`, in percent. Lowered as folders are typed, never raised.
LIMITS = {
    "api": 4,
    "cli": 0,
    "compiler": 1,
    "core": 4,
    "example_libraries": 1,
    "experimental": 5,
    "extend": 1,
    "interpreters": 1,
    "lax": 1,
    "nn": 1,
    "numpy": 1,
    "primitives": 1,
    "private": 12,  # signatures that are JAX's
    "random": 1,
    "runtime": 3,
    "scipy": 1,
    "transforms": 1,
    "": 1,
}
# Folder -> the largest share of functions that return plain `Any`, in percent. Likewise.
RESULT_LIMITS = {
    "api": 3,
    "cli": 0,
    "compiler": 1,
    "core": 3,
    "example_libraries": 11,
    "experimental": 3,
    "extend": 0,
    "interpreters": 4,
    "lax": 6,
    "nn": 0,
    "numpy": 1,
    "primitives": 1,
    "private": 0,
    "random": 6,
    "runtime": 2,
    "scipy": 1,
    "transforms": 1,
    "": 2,
}
MAX_ALIASES = 19
MAX_IGNORES = 35
_CHECKED = ("src", "typings", "tests", "tools", "benchmarks")
_IGNORE = re.compile(r"#\s*(?:type|pyright):\s*ignore(?:\[[^]]*\])?(?P<after>.*)")
_SLOW = re.compile(r"\bpytest\.mark\.slow\b(?P<after>.*)")
_PRAGMA = r"(?:noqa|fmt|ruff|type|pyright)\b"
_REASON = re.compile(rf"#\s*(?!{_PRAGMA})\w")


def parameters(tree: ast.AST) -> Iterator[tuple[ast.arg, bool]]:
    """Every parameter that counts, and whether it is plain `Any`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        for arg in every:
            if arg is None or arg.arg in ("self", "cls") or arg.arg.startswith("_"):
                continue
            yield arg, arg.annotation is None or _is_any(arg.annotation)


def results(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Every function, and whether its return type is plain `Any` or not told."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, node.returns is None or _is_any(node.returns)


def aliases(tree: ast.Module) -> Iterator[str]:
    """The names of a module, or of a class in it, that stand for `Any`."""
    bodies = [tree.body, *[node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]]
    for node in [node for body in bodies for node in body]:
        if isinstance(node, ast.Assign) and _is_any(node.value):
            yield from [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None and _is_any(node.value):
            yield ast.unparse(node.target)


def _is_any(note: ast.expr) -> bool:
    return isinstance(note, ast.Name) and note.id == "Any"


def folder_of(path: Path) -> str:
    """The first folder below the package; "" for modules beside it."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


def ignores(text: str) -> Iterator[tuple[int, bool]]:
    """The line of every ignored diagnostic in a source text, and whether there is a reason for it."""
    return _with_reasons(_IGNORE, text)


def slow_marks(text: str) -> Iterator[tuple[int, bool]]:
    """The line of every mark of a slow test in a source text, and whether there is a reason for it."""
    return _with_reasons(_SLOW, text)


def _with_reasons(wanted: re.Pattern[str], text: str) -> Iterator[tuple[int, bool]]:
    above = ""
    for number, line in enumerate(text.splitlines(), start=1):
        found = wanted.search(line)
        if found is not None:
            yield number, bool(_REASON.search(found["after"]) or _REASON.match(above.lstrip()))
        above = line


def check_ignores() -> tuple[int, list[str]]:
    """How many diagnostics are ignored in the tree, and the places where no reason is given."""
    count, bare = 0, list[str]()
    for folder in _CHECKED:
        for path in sorted([*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.pyi")]):
            for number, has_reason in ignores(path.read_text()):
                count += 1
                if not has_reason:
                    bare.append(f"{path.relative_to(ROOT)}:{number}")
    return count, bare


def check_slow_marks() -> list[str]:
    """The places of tests that are marked as slow without a reason."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number, has_reason in slow_marks(path.read_text())
        if not has_reason
    ]


class Share(NamedTuple):
    """How many of some annotations are plain `Any`."""

    plain: int = 0
    total: int = 0

    def plus(self, is_plain: bool) -> Share:
        """With one more, which is plain or is not."""
        return Share(self.plain + is_plain, self.total + 1)

    def exceeds(self, limit: int) -> bool:
        """Whether it is more than `limit` percent."""
        return 100 * self.plain > limit * self.total

    def __str__(self) -> str:
        percent = 100 * self.plain / self.total if self.total else 0
        return f"{self.plain:5} of {self.total:5}  {percent:5.1f} %"


def main(words: list[str]) -> int:
    """Prints the table, or the parameters below a folder; returns the exit status."""
    told: dict[str, Share] = {}
    returned: dict[str, Share] = {}
    named: list[str] = []
    listed = SOURCE / words[1] if words[:1] == ["--list"] else None
    for path in sorted(SOURCE.rglob("*.py")):
        folder, tree = folder_of(path), ast.parse(path.read_text())
        where = path.relative_to(SOURCE)
        is_listed = listed is not None and path.is_relative_to(listed)
        for arg, is_plain in parameters(tree):
            told[folder] = told.get(folder, Share()).plus(is_plain)
            if is_plain and is_listed:
                print(f"{where}:{arg.lineno}: {arg.arg}")
        for function, is_plain in results(tree):
            returned[folder] = returned.get(folder, Share()).plus(is_plain)
            if is_plain and is_listed:
                print(f"{where}:{function.lineno}: what {function.name} returns")
        named += [f"{where}: {name}" for name in aliases(tree)]
    return 0 if listed is not None else _report(told, returned, named)


def _report(told: dict[str, Share], returned: dict[str, Share], named: list[str]) -> int:
    """Prints the table; returns 1 if a limit is exceeded, else 0."""
    status = 0
    for folder in sorted(returned):
        marks = ""
        for what, shares, limits in (
            ("parameters", told, LIMITS), ("results", returned, RESULT_LIMITS)
        ):  # fmt: skip
            limit = limits.get(folder, 0)
            if shares.get(folder, Share()).exceeds(limit):
                marks += f"  {what} above the limit of {limit} %"
        status |= bool(marks)
        row = f"{told.get(folder, Share())}   {returned[folder]}"
        print(f"{folder or '(modules)':18} {row}{marks}")
    count, bare = check_ignores()
    for number, limit, what in (
        (len(named), MAX_ALIASES, "names for Any"), (count, MAX_IGNORES, "ignores")
    ):  # fmt: skip
        mark = "" if number <= limit else f", above the limit of {limit}"
        status |= bool(mark)
        print(f"{number} {what}{mark}")
    for place in bare:
        print(f"{place}: ignored without a reason")
    slow = check_slow_marks()
    for place in slow:
        print(f"{place}: marked as slow without a reason")
    return status | bool(bare) | bool(slow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
