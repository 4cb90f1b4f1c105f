"""Templates are filled with values and files, and documents are written where they are wanted."""

import webbrowser

import pytest

from jitney.inspection import documents
from jitney.inspection.documents import Document, filled


class Page(Document):
    usual_file = "usual.html"

    def html(self):
        return "<p>é</p>"


def test_values_and_files_are_put_into_holes(monkeypatch, tmp_path):
    (tmp_path / "page.html").write_text("<style>{{own.css}}</style>{{body}}{{ body }}{{body}}")
    (tmp_path / "own.css").write_text("a { b }")
    monkeypatch.setattr(documents.resources, "files", lambda _: tmp_path)
    assert filled("page.html", body="{{x}}") == "<style>a { b }</style>{{x}}{{ body }}{{x}}"
    with pytest.raises(KeyError, match="body"):
        filled("page.html", other="")
    with pytest.raises(FileNotFoundError):
        filled("no.html")


def test_templates_of_the_package_are_complete():
    text = filled("profile.html", summary="SUM", steps="STEPS", memory="MEM", source="SRC")
    assert "{{" not in text and all(
        part in text for part in ("SUM", "STEPS", "MEM", "SRC", "<style>")
    )


def test_documents_are_saved_and_opened(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.chdir(tmp_path)
    assert Page().save(str(tmp_path / "a.html")).read_text(encoding="utf-8") == "<p>é</p>"
    assert Page().open().name == "usual.html" and Page().open("b.html").exists()
    assert opened == [(tmp_path / name).as_uri() for name in ("usual.html", "b.html")]
    with pytest.raises(NotImplementedError):
        Document().save("c.html")
