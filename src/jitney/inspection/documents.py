"""HTML files, made from the templates of this folder with inlined style sheets and scripts."""

from __future__ import annotations

import os
import re
import webbrowser
from importlib import resources
from pathlib import Path

_HOLE = re.compile(r"\{\{([\w.]+)\}\}")


def filled(template: str, **values: str) -> str:
    """Returns the text of a template with its placeholders replaced.

    Args:
      template: the name of its file. `{{name}}` is replaced by a value, and `{{file.css}}` by the
        contents of a file of this folder.
      values: the values by name.
    """
    folder = resources.files(__package__ or "jitney.inspection")

    def value(hole: re.Match[str]) -> str:
        name = hole[1]
        return folder.joinpath(name).read_text(encoding="utf-8") if "." in name else values[name]

    return _HOLE.sub(value, folder.joinpath(template).read_text(encoding="utf-8"))


class Document:
    """A base class of objects that can be shown as a self-contained page.

    Subclasses define `usual_file`, the default file name.
    """

    __slots__ = ()

    usual_file = "page.html"

    def html(self) -> str:
        """Returns the page."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page to a file; returns its path."""
        file = Path(path)
        file.write_text(self.html(), encoding="utf-8")
        return file

    def open(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes the page to a file (by default `usual_file`) and opens it in the browser."""
        file = self.save(self.usual_file if path is None else path)
        webbrowser.open(file.resolve().as_uri())
        return file
