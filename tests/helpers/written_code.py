"""The user's code of a text, for tests of what looks at it."""

import ast
import sys

from jitney.core.source.user_code import UserCode


def written(text, at=None, **variables):
    """Returns the place of the first occurrence of `at` in a program `text`, a whole expression.

    Args:
      text: a program.
      at: the source of the expression being evaluated; by default the whole text.
      **variables: the values of the frame's variables.
    """
    tree = ast.parse(text)
    chain = _chain(tree, at or text, text)
    return UserCode(
        tuple(reversed(chain[1:])), text.splitlines(keepends=True), _frame(variables), 1
    )


def _chain(node, source, text):
    """Returns the nodes from `node` down to the innermost one with this source; None for none."""
    for child in ast.iter_child_nodes(node):
        found = _chain(child, source, text)
        if found is not None:
            is_placed = hasattr(node, "lineno") or isinstance(node, ast.Module)
            return [node, *found] if is_placed else found
    return [node] if ast.get_source_segment(text, node) == source else None


def _frame(variables):
    names = {**variables}
    exec("import sys; _frame = sys._getframe()", names)
    return names["_frame"] if variables else sys._getframe()
