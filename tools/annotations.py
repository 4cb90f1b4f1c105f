"""How much of the package is typed: shares of parameters that are plain `Any`, and ignored diagnostics.

    python tools/annotations.py           a row for each folder; fails where a limit is exceeded
    python tools/annotations.py --list F  the parameters in files below src/jitney/F

Counted are all parameters of all functions (methods and inner functions too; `self`, `cls` and what
starts with an underscore do not count) that are annotated `Any` or not at all, and, in the whole tree,
comments that tell pyright to ignore something. Each of these has a reason: another comment after it, or
one on the line above.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "jitney"

# Folder -> the largest share of `Any`, in percent. Lowered as folders are typed, never raised.
LIMITS = {
    "api": 5,
    "cli": 0,
    "compiler": 2,
    "core": 4,
    "example_libraries": 1,
    "experimental": 7,
    "extend": 1,
    "interpreters": 1,
    "lax": 1,
    "nn": 1,
    "numpy": 1,
    "primitives": 1,
    "random": 1,
    "runtime": 5,
    "scipy": 1,
    "transforms": 1,
    "": 1,
}
MAX_IGNORES = 35
_CHECKED = ("src", "typings", "tests", "tools", "benchmarks")
_IGNORE = re.compile(r"#\s*(?:type|pyright):\s*ignore(?:\[[^]]*\])?(?P<after>.*)")
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
            note = arg.annotation
            yield arg, note is None or (isinstance(note, ast.Name) and note.id == "Any")


def folder_of(path: Path) -> str:
    """The first folder below the package; "" for modules beside it."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


def ignores(text: str) -> Iterator[tuple[int, bool]]:
    """The line of every ignored diagnostic in a source text, and whether there is a reason for it."""
    above = ""
    for number, line in enumerate(text.splitlines(), start=1):
        found = _IGNORE.search(line)
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


def main(words: list[str]) -> int:
    """Prints the table, or the parameters below a folder; returns the exit status."""
    plain: dict[str, int] = {}
    total: dict[str, int] = {}
    listed = SOURCE / words[1] if words[:1] == ["--list"] else None
    for path in sorted(SOURCE.rglob("*.py")):
        folder = folder_of(path)
        for arg, is_plain in parameters(ast.parse(path.read_text())):
            total[folder] = total.get(folder, 0) + 1
            plain[folder] = plain.get(folder, 0) + is_plain
            if is_plain and listed is not None and path.is_relative_to(listed):
                print(f"{path.relative_to(SOURCE)}:{arg.lineno}: {arg.arg}")
    if listed is not None:
        return 0
    status = 0
    for folder in sorted(total):
        share = 100 * plain[folder] / total[folder]
        limit = LIMITS.get(folder, 0)
        mark = "" if share <= limit else f"  above the limit of {limit} %"
        status |= bool(mark)
        print(
            f"{folder or '(modules)':14} {plain[folder]:5} of {total[folder]:5}  {share:5.1f} %{mark}"
        )
    count, bare = check_ignores()
    mark = "" if count <= MAX_IGNORES else f"  above the limit of {MAX_IGNORES}"
    print(f"{sum(plain.values())} of {sum(total.values())} parameters; {count} ignores{mark}")
    for place in bare:
        print(f"{place}: ignored without a reason")
    return status | bool(mark) | bool(bare)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
