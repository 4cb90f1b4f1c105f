"""`jitney explain CODE` prints the section that messages name."""

import re
from pathlib import Path

import pytest

import jitney
from jitney.cli import command, error_codes

SOURCE = Path(jitney.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
CODES = error_codes.sections()


@pytest.mark.parametrize("code", CODES)
def test_sections(code, capsys):
    assert command.main(["explain", code]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{code}\n")
    assert re.search(r"^- ", shown, re.M) or code == "failed-program"  # a cure


def test_the_page_is_that_of_the_documents():
    assert (SOURCE / "cli" / "errors.md").read_text() == (DOCS / "errors.md").read_text()


def test_unknown_code(capsys):
    assert command.main(["explain", "bool-of-trace"]) == 2
    assert "did you mean bool-of-tracer?" in capsys.readouterr().err


def test_words_that_are_neither_codes_nor_files(capsys):
    assert command.main(["explain", "nosuch"]) == 2
    told = capsys.readouterr().err
    assert "nosuch is neither a file nor an error code; error codes: " in told
    assert all(code in told for code in CODES)


def test_codes_of_messages_are_explained():
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        found.update(re.findall(r"messages\.see\(['\"]([\w-]+)['\"]\)", text))
        found.update(re.findall(r"^    code = \"([\w-]+)\"", text, re.M))
    found |= {"unlike-shapes", "unlike-sizes"}  # passed on by `messages.refusal`
    assert len(found) > 12
    assert found <= {*CODES}
