"""Sentences of this package that stand in JAX's source, too: messages and docstrings are to be our own.

    python tools/borrowed.py              how many there are in each folder; fails if any
    python tools/borrowed.py --list F     the sentences in files below src/jitney/F
    python tools/borrowed.py --against P  as above, with the folder P in place of JAX as it is installed

Facts, names and numbers may be the same; sentences may not. A string shares a sentence if WORDS or more
of its words in a row are those of a string of the other package. A name is one word, however long. What
stands in backticks, numbers, expressions, and what an f-string puts in all end a row. Long lines of
examples are compared whole. Where JAX is not installed there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "jitney"
WORDS = 7
LONG_EXAMPLE = 40  # characters; shorter lines, as `x = jnp.arange(4.0)`, are what anyone writes

# Sentences that published documents show readers, who look for them: words -> the document.
ALLOWED = {
    "Abstract tracer value encountered where concrete value is expected": (
        "JAX Frequently Asked Questions, a section of that name"
    ),
    "The error occurred while tracing the function": (
        "JIT compilation, by Marie-Hélène Burle, the output of `cond_func`"
    ),
    "This concrete value was not available in Python because it depends on the value of the argument": (
        "JIT compilation, by Marie-Hélène Burle, the output of `cond_func`"
    ),
    "Shapes must be 1D sequences of concrete values of integer type, got": (
        "JIT compilation, by Marie-Hélène Burle, the output of a shape that is traced"
    ),
}

_GAP = ""
_BETWEEN = re.compile(r"[\s/-]+")
_WORD = re.compile(r"[\"'(\[]*([A-Za-z_][\w.]*(?:'[a-z]+)?)(?:\(\))?[\"')\]]*[.,:;?!]*[\"')\]]*")
_CODE = re.compile(r"`[^`]*`|^ *(?:>>>|\.\.\.) .*$", re.MULTILINE)
_EXAMPLE = re.compile(r"^ *(?:>>>|\.\.\.) *(\S.*?) *$", re.MULTILINE)


class String(NamedTuple):
    """A string in a file.

    Attributes:
      line: where it begins.
      text: what it says; a NUL stands for each value of an f-string.
    """

    line: int
    text: str


def strings(source: str) -> Iterator[String]:
    """All strings in a source text; adjacent ones are one, and so are the parts of an f-string."""
    tree = ast.parse(source)
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            said = [
                x.value if isinstance(x, ast.Constant) and isinstance(x.value, str) else "\0"
                for x in node.values
            ]
            yield String(node.lineno, "".join(said))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield String(node.lineno, node.value)


def words(text: str) -> list[str]:
    """The words of a text in lower case; an empty one for each piece of code or number."""
    found: list[str] = []
    for token in filter(None, _BETWEEN.split(_CODE.sub(" \0 ", text))):
        word = _WORD.fullmatch(token)
        found.append(word[1].lower().rstrip(".") if word else _GAP)
    return found


def rows(text: str, size: int = WORDS) -> Iterator[tuple[str, ...]]:
    """Each `size` words in a row without code between them; and each long line of an example."""
    said = words(text)
    for start in range(len(said) - size + 1):
        row = tuple(said[start : start + size])
        if _GAP not in row:
            yield row
    for line in _EXAMPLE.findall(text):
        if len(line) >= LONG_EXAMPLE:
            yield (line,)


def allowed_rows() -> set[tuple[str, ...]]:
    """The rows of the sentences that are allowed."""
    return {row for sentence in ALLOWED for row in rows(sentence)}


def rows_of(folder: Path) -> set[tuple[str, ...]]:
    """All rows of the strings in the files of a package."""
    found: set[tuple[str, ...]] = set()
    for path in folder.rglob("*.py"):
        try:
            source = path.read_text()
            for string in strings(source):
                found.update(rows(string.text))
        except (SyntaxError, UnicodeDecodeError):  # data of the other package's tests
            continue
    return found


def shared(source: str, theirs: set[tuple[str, ...]]) -> Iterator[tuple[int, str]]:
    """(line, the first row) of each string in a source text that shares a row with `theirs`."""
    for string in strings(source):
        row = next((row for row in rows(string.text) if row in theirs), None)
        if row is not None:
            yield string.line, " ".join(row)


def installed_jax() -> Path | None:
    """The folder of JAX in this environment, which is not imported; None if there is none."""
    found = importlib.util.find_spec("jax")
    return None if found is None or found.origin is None else Path(found.origin).parent


def main(given: list[str]) -> int:
    """Prints the table, or the sentences below a folder; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", dest="listed", help="a folder or file below src/jitney")
    parser.add_argument("--against", type=Path, help="the folder of the other package")
    options = parser.parse_args(given)
    other = options.against or installed_jax()
    if other is None:
        print("JAX is not installed: nothing to compare sentences with")
        return 0
    theirs = rows_of(other) - allowed_rows()
    listed = None if options.listed is None else SOURCE / options.listed
    counts: dict[str, int] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        folder = parts[0] if len(parts) > 1 else ""
        for line, row in shared(path.read_text(), theirs):
            counts[folder] = counts.get(folder, 0) + 1
            if listed is not None and path.is_relative_to(listed):
                print(f"{path.relative_to(SOURCE)}:{line}: {row}")
    if listed is not None:
        return 0
    for folder, count in sorted(counts.items()):
        print(f"{folder or '(modules)':18} {count:4}")
    print(f"{sum(counts.values())} strings share {WORDS} words or more in a row with {other}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
