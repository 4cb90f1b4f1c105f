"""Sentences of this package that stand in JAX's source, too: messages and docstrings are to be our own.

    python tools/borrowed.py              how many there are in each folder; fails if any
    python tools/borrowed.py --list F     the sentences in files below src/jitney/F; . is all
    python tools/borrowed.py --against P  as above, with the folder P in place of JAX as it is installed

Facts, names and numbers may be the same; sentences may not. Two rules say what is shared:

- Rows, in every string: WORDS or more words in a row are those of a string of the other package. A name
  is one word, however long. Values that an f-string, `%` or `format` puts in are left out, and the row
  goes on; what stands in backticks, numbers and expressions end it. Long lines of examples are compared
  whole.
- Messages, in `raise` and `warn`: the message, or a sentence of it, is one of the other package's, of
  WHOLE words or more. The values that are put in are left out, and so is a name before a colon at the
  beginning; code and numbers count as words. One word may be another one, or missing, if NEAR words or
  more are equal: often it is a name where the other package puts in a value.

Comments and Cython files are not read. Where JAX is not installed there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "jitney"
WORDS = 7
WHOLE = 3
NEAR = 5
LONGEST = 30  # words of a message that are compared; what is longer shares a row anyway
LONG_EXAMPLE = 40  # characters; shorter lines, as `x = jnp.arange(4.0)`, are what anyone writes

# Sentences that published documents show readers, who look for them, and those of Python and NumPy that
# users know: words -> where they stand.
ALLOWED = {
    "Abstract tracer value encountered where concrete value is expected": (
        "JAX Frequently Asked Questions, a section of that name"
    ),
    "The error occurred while tracing the function for": (
        "JIT compilation, by Marie-Hélène Burle, the output of `cond_func`"
    ),
    "This concrete value was not available in Python because it depends on the value of the argument": (
        "JIT compilation, by Marie-Hélène Burle, the output of `cond_func`"
    ),
    "Shapes must be 1D sequences of concrete values of integer type, got": (
        "JIT compilation, by Marie-Hélène Burle, the output of a shape that is traced"
    ),
    "module has no attribute": "Python: an attribute of a module that has none of the name",
    "unsupported operand type(s) for and": "Python: an operator between types that have none",
    "len() of unsized object": "NumPy: the length of an array of rank 0",
    "Python int too large to convert to": "Python and NumPy: an integer that a dtype cannot hold",
    "index is out of bounds for axis with size": "NumPy: an index beyond an axis",
    "invalid value encountered in": "NumPy: the warning of operations that give NaN",
}

_GAP = ""
_VALUE = "\0"
_FIELD = re.compile(r"%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[srdifgx]|\{[\w.!:\[\]]*\}")
_BETWEEN = re.compile(r"[\s/-]+")
_WORD = re.compile(r"[\"'(\[]*([A-Za-z_][\w.]*(?:'[a-z]+)?)(?:\(\))?[\"')\]]*[.,:;?!]*[\"')\]]*")
_VALUES = re.compile(r"[\"'(\[{]*\0[\0\"')\]}.,:;?!]*")
_CODE = re.compile(r"`[^`\0]*`|^ *(?:>>>|\.\.\.) .*$", re.MULTILINE)
_EXAMPLE = re.compile(r"^ *(?:>>>|\.\.\.) *(\S.*?) *$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n")
_OPERATION = re.compile(r"^[\w.`\0]+: ")
_ANY_WORD = re.compile(r"[a-z_][\w.]*(?:'[a-z]+)?|\d+")


class String(NamedTuple):
    """A string in a file.

    Attributes:
      line: where it begins.
      text: what it says; a NUL stands for each value that is put in.
    """

    line: int
    text: str


def text_of(node: ast.AST) -> str | None:
    """What a string says that is written as one, as a sum or as a format; None for all else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(value) or _VALUE for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = text_of(left), text_of(right)
            return None if texts == (None, None) else "".join(text or _VALUE for text in texts)
        case (
            ast.BinOp(left=template, op=ast.Mod())
            | ast.Call(func=ast.Attribute(value=template, attr="format"))
        ):
            text = text_of(template)
            return None if text is None else _FIELD.sub(_VALUE, text)
        case _:
            return None


def strings(tree: ast.AST) -> Iterator[String]:
    """All strings in a syntax tree; adjacent ones are one, as are the parts of sums and f-strings."""
    parts: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        text = text_of(node)
        if text is not None:
            parts.update(id(part) for part in ast.walk(node) if text_of(part) is not None)
            yield String(getattr(node, "lineno", 0), text)


def messages(tree: ast.AST) -> Iterator[String]:
    """The strings in `raise` statements, in calls of exceptions and in those of `warn`."""
    for node in ast.walk(tree):
        match node:
            case ast.Raise():
                yield from strings(node)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
                if name == "warn" or name.endswith(("Error", "Warning")):
                    yield from strings(node)
            case _:
                pass


def words(text: str) -> list[str]:
    """The words of a text in lower case, without values; an empty one for each code or number."""
    found: list[str] = []
    for token in filter(None, _BETWEEN.split(_CODE.sub(" = ", text))):
        word = _WORD.fullmatch(token)
        if word is None and _VALUES.fullmatch(token):
            continue
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


def sentences(text: str) -> set[tuple[str, ...]]:
    """The words of a message and of each sentence in it, without values that are put in."""
    pieces = (_OPERATION.sub("", piece) for piece in (text, *_SENTENCE_END.split(text)))
    found = (_ANY_WORD.findall(_FIELD.sub(_VALUE, piece).lower()) for piece in pieces)
    return {tuple(word.rstrip(".") for word in said) for said in found if len(said) >= WHOLE}


def nearly(sentence: tuple[str, ...]) -> set[tuple[str, ...]]:
    """A sentence, and it without each of its words where NEAR of them are left."""
    if not NEAR < len(sentence) <= LONGEST:
        return {sentence}
    return {sentence, *(sentence[:i] + sentence[i + 1 :] for i in range(len(sentence)))}


class Phrases(NamedTuple):
    """What strings of a package say: rows of words, and messages as a whole."""

    rows: set[tuple[str, ...]]
    messages: set[tuple[str, ...]]

    @staticmethod
    def of(texts: Iterable[str]) -> Phrases:
        """The phrases of strings."""
        found = Phrases(set(), set())
        for text in texts:
            found.rows.update(rows(text))
            for sentence in sentences(text):
                found.messages.update(nearly(sentence))
        return found

    def without(self, other: Phrases) -> Phrases:
        """Those that are not among others."""
        return Phrases(self.rows - other.rows, self.messages - other.messages)


def phrases_of(folder: Path) -> Phrases:
    """All phrases of the strings in the files of a package."""
    texts: set[str] = set()
    for path in folder.rglob("*.py"):
        try:
            texts.update(string.text for string in strings(ast.parse(path.read_text())))
        except (SyntaxError, UnicodeDecodeError):  # data of the other package's tests
            continue
    return Phrases.of(texts)


def shared(source: str, theirs: Phrases) -> Iterator[tuple[int, str]]:
    """(line, the first phrase) of each string in a source text that shares one with `theirs`."""
    tree = ast.parse(source)
    said = set(messages(tree))
    for string in strings(tree):
        found = [row for row in rows(string.text) if row in theirs.rows]
        if string in said:
            whole = sorted(sentences(string.text))
            found += [sentence for sentence in whole if nearly(sentence) & theirs.messages]
        if found:
            yield string.line, " ".join(found[0])


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
    theirs = phrases_of(other).without(Phrases.of(ALLOWED))
    listed = None if options.listed is None else SOURCE / options.listed
    counts: dict[str, int] = {}
    for path in sorted(
        [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi"), *SOURCE.parent.glob("*.py")]
    ):
        name = path.relative_to(SOURCE.parent)
        folder = name.parts[1] if len(name.parts) > 2 else ""
        for line, phrase in shared(path.read_text(), theirs):
            counts[folder] = counts.get(folder, 0) + 1
            if listed is not None and path.is_relative_to(listed):
                print(f"{name}:{line}: {phrase}")
    if listed is not None:
        return 0
    for folder, count in sorted(counts.items()):
        print(f"{folder or '(modules)':18} {count:4}")
    print(f"{sum(counts.values())} strings share rows of {WORDS} words, or messages, with {other}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
