"""Messages of errors, in one form.

    x @ w: axis 1 of the left operand has 785 elements, axis 0 of the right one 784; ...
      left   float32[32,785]   argument x of layer (model.py:11)
      right  float32[784,128]  argument w of layer (model.py:11)
    Instead: ...

First the operation as the user wrote it and what must hold, then the operands, one a line, with their
types and the variables that hold them, then what to write in place of it. Nothing here runs unless an
error is raised.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Protocol

from jitney.core import user_code
from jitney.core.user_code import UserCode

# What `located` makes of an expression.
_LOCATED = re.compile(r"`[^`]+` \(")


class Type(Protocol):
    """What messages show of an operand: an aval."""

    def str_short(self) -> str: ...


Operand = tuple[str, Type]
"""What an operand is called, and its type."""

# Endings of nouns, and those of their plurals where these are more than an s.
_PLURALS = (("axis", "axes"), ("index", "indices"), ("try", "tries"))

# What stands for an operation in Python, beside a call of its name.
_SYMBOLS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.AugAssign)


def refusal(
    name: str, must: str, operands: Sequence[Operand] = (), instead: str = "", anchor: str = ""
) -> str:  # fmt: skip
    """Returns the message for operands that do not fit.

    Args:
      name: of the operation, as the public interface has it, for calls of which there is no source and
        for calls of other functions that come to it.
      must: what must hold and does not.
      operands: what came.
      instead: what to write in place of it.
      anchor: the section of `docs/errors.md` on it.
    """
    code = user_code.current()
    lines = [f"{subject(name, code)}: {must}", *_rows(operands, code)]
    if instead:
        lines.append(f"Instead: {instead}")
    return "\n".join(lines) + (see(anchor) if anchor else "")


def see(anchor: str) -> str:
    """Returns the last line of a message: where a section of `docs/errors.md` says more."""
    return f"\nSee `jitney explain {anchor}`"


def subject(name: str, code: UserCode | None = None) -> str:
    """Returns the operation as the user wrote it; with `name` if it does not show there.

    Args:
      name: of the operation.
      code: where the user asks for it; found if it is not given.
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
        while function is not None and not shows_it:  # `grad(f)(x)` shows what it is
            shows_it = code.text(function).rpartition(".")[2] == last
            function = function.func if isinstance(function, ast.Call) else None
    else:
        shows_it = isinstance(node, _SYMBOLS)
    return text if shows_it else f"{text}, in {name}"


def _expression(code: UserCode | None) -> str:
    """Returns what the user wrote; of a call that is long, its function."""
    if code is None:
        return ""
    text, node = code.text(), code.expression
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store):
        # Python unpacks a value, where it notes the targets alone.
        parent = code.path[1] if len(code.path) > 1 else None
        text = code.text(parent) if isinstance(parent, ast.Assign) else text
    if isinstance(node, ast.Call) and not is_short(text):
        return f"{shortened(code.text(node.func))}(...)"
    return shortened(text)


def at_expression(message: str, code: UserCode | None = None) -> str:
    """`message`, which names no operation, behind the expression that the user wrote."""
    code = code or user_code.current()
    is_statement = code is not None and isinstance(code.expression, ast.stmt)
    text = "" if is_statement else _expression(code)
    return f"{text}: {message}" if text else message


def begins_with_expression(line: str, code: UserCode) -> bool:
    """Returns whether the first line of a message shows what the user wrote."""
    text = _expression(code)
    return bool(text and line.startswith(text)) or bool(_LOCATED.match(line))


def statement(code: UserCode | None) -> str:
    """Returns the assignment or other statement where the program stands; empty if it is not known."""
    path = () if code is None else code.path
    stmt = next((node for node in path if isinstance(node, ast.stmt)), None)
    return "" if code is None or stmt is None else code.text(stmt)


def located(text: str, fallback: str, code: UserCode | None) -> str:
    """ "`if x > lim` (relu, model.py:25)": what the user wrote, and where.

    Args:
      text: if it is not the expression where the program stands.
      fallback: what is asked for, if there is no source.
      code: where the program stands.
    """
    if code is None:
        return f"`{fallback}`"
    shown = shortened(text or code.text()) or fallback
    return f"`{shown}` ({', '.join(filter(None, (code.function, code.place)))})"


def is_short(text: str) -> bool:
    """Returns whether a text is shown as it is."""
    return shortened(text) == text


def counted(n: object, noun: str) -> str:
    """ "1 element", "2 elements": a number, and a noun of so many things.

    Args:
      n: a number, or a symbolic size.
      noun: in the singular.
    """
    if str(n) == "1":
        return f"1 {noun}"
    for ending, plural in _PLURALS:
        if noun.endswith(ending):
            return f"{n} {noun.removesuffix(ending)}{plural}"
    return f"{n} {noun}s"


def there_are(n: object, noun: str = "") -> str:
    """ "there is 1", "there are 2 elements": how many there are."""
    verb = "is" if str(n) == "1" else "are"
    return f"there {verb} {counted(n, noun) if noun else n}"


def shortened(text: str, width: int = 60) -> str:
    """Returns the beginning of a text that is longer than `width`, and " ..."."""
    return text if len(text) <= width else f"{text[: width - 4]} ..."


# --- operands -------------------------------------------------------------------------------------


def _rows(operands: Sequence[Operand], code: UserCode | None) -> list[str]:
    """Returns a line for each operand: what it is called, its type, the variable that holds it."""
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
    """Returns the variables on both sides of a binary operator."""
    node = None if code is None else code.expression
    if not isinstance(node, ast.BinOp):
        return {}
    both = {"left": node.left, "right": node.right}
    return {side: n.id for side, n in both.items() if isinstance(n, ast.Name)}


def variable_of(aval: Type, code: UserCode | None) -> str:
    """The variable in the expression that holds a value of a type; empty if none or several do."""
    if code is None:
        return ""
    names = {name for name, value in code.variables() if _has_type(value, aval)}
    return names.pop() if len(names) == 1 else ""


def _has_type(value: object, aval: Type) -> bool:
    try:
        return all(getattr(value, name) == getattr(aval, name) for name in ("shape", "dtype"))
    except Exception:  # any object may come, whose attributes may fail
        return False
