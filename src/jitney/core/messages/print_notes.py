"""A note about `print(x)` in a traced function, where it shows a type instead of values.

    model.py:12: x printed while loss is traced; for values, jax.debug.print("x = {x}", x=x)

The note is written to standard error, and only if that is a terminal, so programs whose output is
captured print the same as with JAX. It is written once for each line of a program.
"""

from __future__ import annotations

import ast
import inspect
import sys

from jitney.core.settings import config
from jitney.core.source import source_info, user_code

_told: set[tuple[str, int]] = set()


def of_print() -> None:
    """Prints the note if the text of a tracer is requested by a call of `print`."""
    if not config.print_notes.value or not _is_terminal():
        return
    here = inspect.currentframe()
    method = None if here is None else here.f_back
    caller = None if method is None else method.f_back
    if caller is None or source_info.is_internal(caller.f_code):
        return
    code = user_code.at(caller, caller.f_lasti)
    call = code.expression
    place = caller.f_code.co_filename, code.line
    if not isinstance(call, ast.Call) or code.text(call.func) != "print" or place in _told:
        return
    _told.add(place)
    print(f"{code.place}: {_note(code, call)}", file=sys.stderr)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # standard error is None or closed
        return False


def _note(code: user_code.UserCode, call: ast.Call) -> str:
    names = [arg.id for arg in call.args if isinstance(arg, ast.Name)]
    shown = ", ".join(f"{name} = {{{name}}}" for name in names) or "x = {x}"
    values = ", ".join(f"{name}={name}" for name in names) or "x=x"
    return (
        f"{', '.join(names) or 'an array'} printed while {code.function or 'a function'} is traced; "
        f'for values, jax.debug.print("{shown}", {values})'
    )
