"""Error messages in a uniform format.

    x @ w: axis 1 of the left operand has 785 elements, but axis 0 of the right operand has 784; ...
      left   float32[32,785]   argument x of layer (model.py:11)
      right  float32[784,128]  argument w of layer (model.py:11)
    Instead: ...

The first line contains the operation as the user wrote it and the violated requirement. The
operands follow, one per line, with their types and the variables that hold them, and then a
suggested replacement. This code runs only when an error is raised.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Protocol

from jitney.core.source import user_code
from jitney.core.source.user_code import UserCode

# The beginning of a result of `located`.
_LOCATED = re.compile(r"`[^`]+` \(")


class Type(Protocol):
    """The interface of operand types that messages use; avals have it."""

    def str_short(self) -> str: ...


Operand = tuple[str, Type]
"""The label of an operand in messages, and its type."""

# Irregular plurals: endings of the singular and of the plural.
_PLURALS = (("axis", "axes"), ("child", "children"), ("index", "indices"), ("try", "tries"))

# Python syntax for operations, besides calls.
_SYMBOLS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.AugAssign)


def refusal(
    name: str, must: str, operands: Sequence[Operand] = (), instead: str = "", anchor: str = ""
) -> str:  # fmt: skip
    """Returns the message for invalid operands.

    Args:
      name: the public name of the operation, which is shown if the source of the call is not
        available, or if another function calls the operation.
      must: the violated requirement.
      operands: the operands.
      instead: the suggested replacement.
      anchor: the section of `docs/errors.md` about the error.
    """
    code = user_code.current()
    lines = [f"{subject(name, code)}: {must}", *_rows(operands, code)]
    if instead:
        lines.append(f"Instead: {instead}")
    return "\n".join(lines) + (see(anchor) if anchor else "")


def see(anchor: str) -> str:
    """Returns the last line of a message: a reference to a section of `docs/errors.md`."""
    return f"\nSee `jitney explain {anchor}`"


def subject(name: str, code: UserCode | None = None) -> str:
    """Returns the operation as the user wrote it, with `name` unless it is evident.

    Args:
      name: the name of the operation.
      code: the user's code; by default that of the current call.
    """
    code = code or user_code.current()
    text = _expression(code)
    if code is None or not text:
        return name
    node = code.expression
    if isinstance(node, ast.Call):
        last = name.rpartition(".")[2]
        function: ast.expr | None = node.func
        shows_it = False
        while function is not None and not shows_it:  # as in `grad(f)(x)`
            shows_it = code.text(function).rpartition(".")[2] == last
            function = function.func if isinstance(function, ast.Call) else None
    else:
        shows_it = isinstance(node, _SYMBOLS)
    return text if shows_it else f"{text}, in {name}"


def _expression(code: UserCode | None) -> str:
    """Returns the user's expression; of a long call, only the function."""
    if code is None:
        return ""
    text, node = code.text(), code.expression
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store):
        # When Python unpacks a value, it records the location of the targets only.
        parent = code.path[1] if len(code.path) > 1 else None
        text = code.text(parent) if isinstance(parent, ast.Assign) else text
    if isinstance(node, ast.Call) and not is_short(text):
        return f"{shortened(code.text(node.func))}(...)"
    return shortened(text)


def at_expression(message: str, code: UserCode | None = None) -> str:
    """Returns `message`, which does not name an operation, prefixed with the user's expression."""
    code = code or user_code.current()
    is_statement = code is not None and isinstance(code.expression, ast.stmt)
    text = "" if is_statement else _expression(code)
    return f"{text}: {message}" if text else message


def begins_with_expression(line: str, code: UserCode) -> bool:
    """Returns whether the first line of a message begins with the user's expression."""
    text = _expression(code)
    return bool(text and line.startswith(text)) or bool(_LOCATED.match(line))


def statement(code: UserCode | None) -> str:
    """Returns the user's current statement; empty if it is not known."""
    path = () if code is None else code.path
    stmt = next((node for node in path if isinstance(node, ast.stmt)), None)
    return "" if code is None or stmt is None else code.text(stmt)


def located(text: str, fallback: str, code: UserCode | None) -> str:
    """Returns an expression and its location: "`if x > lim` (relu, model.py:25)".

    Args:
      text: the user's code, if it is not the expression being evaluated.
      fallback: a description of the operation, if the source is not available.
      code: the expression being evaluated.
    """
    if code is None:
        return f"`{fallback}`"
    shown = shortened(text or code.text()) or fallback
    return f"`{shown}` ({', '.join(filter(None, (code.function, code.place)))})"


def is_short(text: str) -> bool:
    """Returns whether a text is short enough to be shown unchanged."""
    return shortened(text) == text


def counted(n: object, noun: str) -> str:
    """Returns a number with a noun, in the plural if needed: "1 element", "2 elements".

    Args:
      n: a number, or a symbolic size.
      noun: the noun in the singular.
    """
    if str(n) == "1":
        return f"1 {noun}"
    for ending, plural in _PLURALS:
        if noun.endswith(ending):
            return f"{n} {noun.removesuffix(ending)}{plural}"
    return f"{n} {noun}s"


def axes_of_rank(rank: int) -> str:
    """Returns the axes of an array of a given rank: "no axes", "only axis 0", "the axes 0 to 2"."""
    if rank < 2:
        return "only axis 0" if rank else "no axes"
    return f"the axes 0 to {rank - 1}"


def there_are(n: object, noun: str = "") -> str:
    """Returns "there is 1", "there are 2 elements" and the like."""
    verb = "is" if str(n) == "1" else "are"
    return f"there {verb} {counted(n, noun) if noun else n}"


def shortened(text: str, width: int = 60) -> str:
    """Returns `text`, truncated to `width` characters including " ..."."""
    return text if len(text) <= width else f"{text[: width - 4]} ..."


# --- operands -------------------------------------------------------------------------------------


def _rows(operands: Sequence[Operand], code: UserCode | None) -> list[str]:
    """Returns a line for each operand, with its label, its type and the variable that holds it."""
    sides = _sides(code)
    left = max((len(label) for label, _ in operands), default=0)
    types = [aval.str_short() for _, aval in operands]
    width = max(map(len, types), default=0)
    rows: list[str] = []
    for (label, aval), text in zip(operands, types, strict=True):
        holder = sides[label] if label in sides else variable_of(aval, code)
        described = code.described(holder) if code is not None and holder else ""
        rows.append(f"  {label:{left}}  {text:{width}}  {described}".rstrip())
    return rows


def _sides(code: UserCode | None) -> dict[str, str]:
    """Returns the variables on the two sides of a binary operator."""
    node = None if code is None else code.expression
    if not isinstance(node, ast.BinOp):
        return {}
    both = {"left": node.left, "right": node.right}
    return {side: n.id for side, n in both.items() if isinstance(n, ast.Name)}


def variable_of(aval: Type, code: UserCode | None) -> str:
    """Returns the only variable in the expression with a value of this type; else ""."""
    if code is None:
        return ""
    names = {name for name, value in code.variables() if _has_type(value, aval)}
    return names.pop() if len(names) == 1 else ""


def _has_type(value: object, aval: Type) -> bool:
    try:
        return all(getattr(value, name) == getattr(aval, name) for name in ("shape", "dtype"))
    except Exception:  # the attributes of arbitrary objects may raise
        return False
