"""The public names of a module, read from its source."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator


@functools.cache
def declared(file: str) -> frozenset[str]:
    """Returns the public names that the module in `file` defines or re-exports."""
    with open(file, encoding="utf-8") as opened:
        body = ast.parse(opened.read()).body
    return frozenset(n for part in body for n in _bound(part) if not n.startswith("_"))


def _bound(part: ast.stmt) -> Iterator[str]:
    """Yields the names that a statement binds for users of its module."""
    match part:
        case ast.ImportFrom(names=names) | ast.Import(names=names):
            yield from (each.name for each in names if each.asname == each.name)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            nodes = (node for target in targets for node in ast.walk(target))
            yield from (node.id for node in nodes if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass
