"""The documents: their examples run and print what is shown, their links lead somewhere.

The ```python blocks of a document run in order, in one process; a ```text block that follows one is
what it prints. A line `...` stands for any lines. After a change, look at the difference that

    python tests/test_docs.py --update

makes: it writes what is printed now into the documents, where no `...` stands.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks import picture

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
ERRORS = ROOT / "docs" / "errors.md"  # its examples are wrong on purpose
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")

RUNNER = """
import contextlib, io, json, linecache, sys
names, printed = {"__name__": "__main__"}, []
for i, code in enumerate(json.load(sys.stdin)):
    out, file = io.StringIO(), f"<block {i}>"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    with contextlib.redirect_stdout(out):
        exec(compile(code, file, "exec", dont_inherit=True), names)
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""


@dataclass(frozen=True)
class Example:
    """A block of Python, and the block of text after it, if there is one (`span`: where)."""

    code: str
    shown: str | None
    span: tuple[int, int]


def examples(text: str) -> list[Example]:
    """The examples of a document."""
    blocks = list(FENCE.finditer(text))
    found: list[Example] = []
    for i, block in enumerate(blocks):
        if block[1] != "python":
            continue
        after = blocks[i + 1] if i + 1 < len(blocks) else None
        follows = after is not None and not text[block.end() : after.start()].strip()
        if after is not None and after[1] == "text" and follows:
            found.append(Example(block[2], after[2], after.span(2)))
        else:
            found.append(Example(block[2], None, (0, 0)))
    return found


def run(codes: list[str]) -> list[str]:
    """What each of `codes` prints, run in one new process."""
    source = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        env={**os.environ, **source},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def matches(shown: str, printed: str) -> bool:
    """Whether a document shows what is printed."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(shown, printed, flags)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [d for d in DOCUMENTS if d != ERRORS], ids=_name)
def test_examples_print_what_is_shown(path: Path) -> None:
    found = examples(path.read_text())
    if not found:
        return
    for example, printed in zip(found, run([e.code for e in found]), strict=True):
        if example.shown is not None:
            assert matches(example.shown, printed), f"{example.code}\n{printed}"


def test_examples_of_errors_raise_them() -> None:
    sections = re.split(r"^## ", ERRORS.read_text(), flags=re.M)[1:]
    # Each begins with the class.
    wrong = [(re.findall(r"`(\w+)`", s)[0], e.code) for s in sections for e in examples(s)]
    assert wrong
    setup = "import jitney as jax, jitney.numpy as jnp, numpy as np\n"
    calls = [
        f"{setup}try:\n    exec({code!r}, {{'jax': jax, 'jnp': jnp, 'np': np}})\n"
        "except Exception as error:\n    print(type(error).__name__)\n"
        for _, code in wrong
    ]
    raised = [line.strip() for line in run(calls)]
    assert raised == [name for name, _ in wrong]


def anchors(text: str) -> set[str]:
    """What links can name in a document: its headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text())
    for found in LINK.finditer(text):
        target, _, anchor = (found[1] or found[2]).partition("#")
        if target.startswith(("http://", "https://")):
            continue
        to = path if not target else (path.parent / target).resolve()
        assert to.exists(), f"{_name(path)} links to {target}"
        if anchor:
            assert anchor in anchors(to.read_text()), f"{_name(path)} links to #{anchor}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_files_that_are_named_exist(path: Path) -> None:
    """Paths in backquotes, from the root or from the package's folder."""
    text = FENCE.sub("", path.read_text())
    for name in re.findall(r"`([\w./]+/[\w.]+\.(?:py|pyx|h|md|toml))`", text):
        places = [ROOT / name, ROOT / "src" / "jitney" / name, ROOT / "docs" / name]
        assert any(p.exists() for p in places), f"{_name(path)} names {name}"


def test_the_picture_of_the_readme_is_measured() -> None:
    """It is drawn from what `benchmarks.speed` wrote, and pages that show it say the same in words."""
    found = json.loads(picture.SOURCE.read_text())
    assert picture.PICTURE.read_text() == picture.svg(found)
    text = (ROOT / "README.md").read_text()
    assert f"![{picture.summary(found)}](docs/images/speed.svg)" in text
    assert len(text.splitlines()) <= 80
    for page in DOCUMENTS:
        for words in re.findall(r"!\[([^\]]*)\]\([\w/]*speed\.svg\)", page.read_text()):
            assert words == picture.summary(found), _name(page)


# What a paragraph begins with that was a block of commands.
COMMAND = re.compile(r"(?:make [a-z]|pip install|python3? (?:-m|\w+/)|git [a-z]|\.ci/)")


def joined(text: str) -> list[str]:
    """The paragraphs of a document that are commands, or hold comments of commands."""
    blocks = re.compile(r"^```.*?^```$|^ {4}[^\n]*$", re.M | re.S)
    prose = blocks.sub("", text)
    paragraphs = re.split(r"\n\s*\n", re.sub(r"`[^`]*`", "`code`", prose))
    return [x for x in map(str.strip, paragraphs) if COMMAND.match(x) or re.search(r"[^\n] # ", x)]


@pytest.mark.parametrize("path", [*DOCUMENTS, *TUTORIALS], ids=_name)
def test_commands_stand_in_blocks_of_code(path: Path) -> None:
    """One in each line: in a paragraph they become one command, of which the first alone runs."""
    assert not joined(path.read_text())


@pytest.mark.parametrize(
    ("text", "is_joined"),
    [
        ("make tour # programs make test # tests", True),
        ("Text:\n\nmake tour\nmake test\n", True),
        ("Run `a`:\nmake it # quick", True),
        ("Text:\n\n    make tour  # programs\n    make test\n", False),
        ("```{code-cell}\nmake tour # programs\n```\n", False),
        ("## A heading\n\nThese functions\nmake arrays; `x # y` is code.", False),
    ],
)
def test_joined_commands_are_found(text: str, is_joined: bool) -> None:
    assert bool(joined(text)) == is_joined


def test_the_architecture_page_is_a_map() -> None:
    """Of 200 lines: what a part needs beyond a paragraph has a page of its own."""
    assert (ROOT / "docs" / "architecture.md").read_text().count("\n") <= 200


def update() -> None:
    """Writes what the examples print into the documents."""
    for path in DOCUMENTS:
        text = path.read_text()
        found = examples(text)
        if path == ERRORS or not found:
            continue
        printed = run([e.code for e in found])
        for example, out in reversed(list(zip(found, printed, strict=True))):
            if example.shown is not None and not re.search(r"^\s*\.\.\.", example.shown, re.M):
                text = text[: example.span[0]] + out + text[example.span[1] :]
        path.write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update()
