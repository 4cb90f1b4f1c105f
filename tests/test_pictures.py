"""The pictures of the documents: drawn from what the package says, legible, and described in words."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks import picture, start_picture
from tools.pictures.__main__ import IMAGES, PICTURES
from tools.pictures.sheet import Sheet

ROOT = Path(__file__).parents[1]
FILES = sorted(IMAGES.glob("*.svg"))
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
# Okabe and Ito's colours, and the greys of texts and lines on white and on dark.
COLOURS = {"#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"}
GREYS = {"#1f2328", "#e6edf3", "#59636e", "#9198a1", "#818b98", "#8c959f"}


def _name(path: Path) -> str:
    return path.name


def test_each_picture_has_a_program_that_draws_it() -> None:
    measured = {module.PICTURE for module in (picture, start_picture) if module.SOURCE.exists()}
    assert {*FILES} == {*(IMAGES / f"{name}.svg" for name in PICTURES), *measured}


def test_pictures_are_what_is_drawn() -> None:
    """And no two texts overlap, as far as the widths of letters are known."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.pictures", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not start_picture.SOURCE.exists(), reason="has not been measured")
def test_the_picture_of_processes_is_measured() -> None:
    found = json.loads(start_picture.SOURCE.read_text())
    assert start_picture.PICTURE.read_text() == start_picture.draw(found).svg()


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_pictures_are_small_and_say_what_they_show(path: Path) -> None:
    text = path.read_text()
    assert len(text) < 60_000
    found = {each.tag.rpartition("}")[2]: each.text or "" for each in ElementTree.fromstring(text)}
    assert found["title"]
    assert len(found["desc"]) > len(found["title"])


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_pictures_have_the_colours_of_the_theme_and_of_the_palette(path: Path) -> None:
    text = path.read_text()
    assert "prefers-color-scheme: dark" in text
    assert {*COLOUR.findall(text)} <= COLOURS | GREYS


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_pages_show_each_picture_and_describe_it(path: Path) -> None:
    """In more than a few words, on one line: Sphinx joins lines without a space."""
    shown = [
        words
        for page in (ROOT / "docs").rglob("*.md")
        for words, target in IMAGE.findall(page.read_text())
        if (page.parent / target).resolve() == path
    ]
    assert shown
    assert all(len(words.split()) > 5 and "\n" not in words for words in shown)


def test_programs_of_pictures_are_those_of_the_pages() -> None:
    pages = "".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
    source = (ROOT / "tools" / "pictures" / "specimens.py").read_text()
    programs = ["def" + part.rstrip() for part in source.split("\n\n\ndef")[1:]]
    assert programs
    assert [program for program in programs if program not in pages] == []


def test_texts_that_cannot_be_read_are_found() -> None:
    sheet = Sheet("title", "description", height=40)
    sheet.text(10, 20, "a text")
    sheet.text(10, 36, "a line below")
    assert sheet.faults() == []
    sheet.text(30, 22, "on the first")
    sheet.text(700, 20, "beyond the right edge")
    assert sheet.faults() == [
        "'beyond the right edge' leaves the picture",
        "'a text' and 'on the first' overlap",
    ]
