"""Links to folders of the repository, which the site does not contain, become plain text."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def remove_links(app: Any, document: nodes.document, page: str) -> None:
    """Replaces each link of `document` to a folder beside `docs` with its text."""
    for link in list(document.findall(nodes.reference)):
        if link.get("refid", "").startswith("../"):
            link.replace_self(link.children)


def setup(app: Any) -> dict[str, bool]:
    """Registers the extension."""
    app.connect("doctree-resolved", remove_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
