"""Suggestions to use `jax.debug.print` instead of formatting traced values as text.

f-strings, `"..." % x`, `"...".format(x)`, `format(x, spec)` and `print` are recognized in the
user's code, like the expressions in `core.messages.cures`.
"""

from __future__ import annotations

import ast
import copy
import itertools
import re

from jitney.core.messages import cures
from jitney.core.source.user_code import UserCode

_ANY_PRINT = 'jax.debug.print("x = {x}", x=x)'

_PARAMETERS_OF_PRINT = ("fmt", "ordered", "partitioned", "skip_format_check")

# A conversion of the % operator: name, flags, width, precision, kind.
_CONVERSION = re.compile(r"%(?:\((\w+)\))?([-#0 +]*)(\d*)(?:\.(\d*))?[hlL]?([diouxXeEfFgGcrsa%])")
# Conversions for which Python converts numbers to integers, which `format` rejects.
_WITHOUT_KIND = "diucrsa"


def of_format(code: UserCode | None) -> tuple[str, str]:
    """Returns (the formatting code, the call of `jax.debug.print` that replaces it).

    The code is an f-string, `text.format(...)`, or `format(x, spec)`; it is returned as an empty
    string if it is the expression being evaluated.
    """
    nodes = () if code is None else code.path
    inner = itertools.takewhile(lambda n: not isinstance(n, ast.stmt), nodes)
    # The outermost one: f-strings may be nested, and format specifications are such nodes, too.
    string = next((n for n in reversed([*inner]) if isinstance(n, ast.JoinedStr)), None)
    if code is None:
        return "", _ANY_PRINT
    if string is not None:
        values: dict[str, str] = {}
        return ast.unparse(string), _print_call(_template(string, values), values)
    match code.expression:
        case ast.Call(func=ast.Attribute(value=text, attr="format")) as call:
            args = cures.arguments(code.text, call)
            return "", f"jax.debug.print({', '.join([code.text(text), *args])})"
        case ast.Call(func=ast.Name(id="format"), args=[value, ast.Constant(value=str() as spec)]):
            values = {}
            name = _named(code.text(value), values)
            return "", _print_call(f"{name} = {{{name}:{spec}}}", values)
        case _:
            return "", _ANY_PRINT


def of_printed(code: UserCode | None) -> str:
    """Returns the call of `jax.debug.print` that replaces the text containing a value.

    Returns an empty string if the value is not formatted. The text can be an f-string,
    `"..." % x`, `"...".format(x)`, or an argument of `print`.
    """
    if code is None:
        return ""
    cure = ""
    for node in itertools.takewhile(lambda n: not isinstance(n, ast.stmt), code.path):
        values: dict[str, str] = {}
        match node:
            case ast.JoinedStr():
                cure = _print_call(_template(node, values), values)
            case ast.BinOp(op=ast.Mod()):
                cure = _of_percent(code, node) or cure
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str()) as text, attr="format")
            ):
                call_args = cures.arguments(_without_conversion, node)
                cure = f"jax.debug.print({', '.join([code.text(text), *call_args])})"
            case ast.Call(func=ast.Name(id="print"), args=args) if not any(map(_is_template, args)):
                parts = [_printed_part(each, values) for each in args]
                simple = not node.keywords and not any(isinstance(x, ast.Starred) for x in args)
                cure = _print_call(" ".join(parts), values) if simple else _ANY_PRINT
            case _:
                pass
    return cure


def _is_template(node: ast.expr) -> bool:
    """Returns whether an argument of `print` is a formatted text other than an f-string."""
    match node:
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format")):
            return True
        case _:
            return False


def _printed_part(node: ast.expr, values: dict[str, str]) -> str:
    """Returns the template for one argument of `print`."""
    match node:
        case ast.Constant(value=value):
            return _doubled(str(value))
        case ast.JoinedStr():
            return _template(node, values)
        case _:
            return "{" + _named(_without_conversion(node), values) + "}"


class _Unconverted(ast.NodeTransformer):
    """A transformer that removes conversions to Python scalars: `float(x)`, `x.item()`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:  # the name is that of `ast`
        number = cures.converted(node)
        return self.visit(number) if number is not None else self.generic_visit(node)


_UNCONVERTED = _Unconverted()


def _without_conversion(node: ast.expr) -> str:
    return ast.unparse(_UNCONVERTED.visit(copy.deepcopy(node)))


def of_percent(code: UserCode | None) -> str:
    """Returns the call of `jax.debug.print` that replaces `"..." % x`; empty for other code."""
    return "" if code is None else _of_percent(code, code.expression)


def _of_percent(code: UserCode, node: ast.AST | None) -> str:
    match node:
        case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod(), right=right):
            pass
        case _:
            return ""
    operands = right.elts if isinstance(right, ast.Tuple) else [right]
    keys = right.keys if isinstance(right, ast.Dict) else []
    by_key = {
        key.value: value
        for key, value in zip(
            keys, right.values if isinstance(right, ast.Dict) else [], strict=True
        )
        if isinstance(key, ast.Constant)
    }
    values: dict[str, str] = {}
    parts: list[str] = []
    end = count = 0
    for conversion in _CONVERSION.finditer(text):
        parts.append(_doubled(text[end : conversion.start()]))
        end = conversion.end()
        key, flags, width, precision, kind = conversion.groups()
        if kind == "%":
            parts.append("%")
            continue
        node = by_key.get(key) if key else operands[count] if count < len(operands) else None
        count += not key
        if node is None or isinstance(node, ast.Starred):
            return _ANY_PRINT
        spec = _spec_of_conversion(flags, width, precision, kind)
        parts.append("{" + _named(_without_conversion(node), values) + spec + "}")
    if not by_key and count != len(operands):  # such as a width passed as an argument
        return _ANY_PRINT
    return _print_call("".join([*parts, _doubled(text[end:])]), values)


def _spec_of_conversion(flags: str, width: str, precision: str | None, kind: str) -> str:
    """Returns the format specification of a % conversion, such as ":<8.3f" for "%-8.3f"."""
    spec = "<" if "-" in flags else ""
    spec += "".join(sign for sign in "+ #0" if sign in flags) + width
    if kind in _WITHOUT_KIND:
        return f":{spec}" if spec else ""
    return f":{spec}{'' if precision is None else f'.{precision}'}{kind}"


def _template(string: ast.JoinedStr, values: dict[str, str]) -> str:
    """Returns the text of an f-string with names for expressions, which are added to `values`."""
    parts: list[str] = []
    for part in string.values:
        match part:
            case ast.FormattedValue(value=ast.JoinedStr() as inner):
                parts.append(_template(inner, values))
            case ast.FormattedValue(value=value):
                parts.append("{" + _named(_without_conversion(value), values) + _spec(part) + "}")
            case ast.Constant(value=text):
                parts.append(_doubled(str(text)))
            case _:
                pass
    return "".join(parts)


def _named(text: str, values: dict[str, str]) -> str:
    """Returns the name of an expression in `values`, to which it is added."""
    is_name = text.isidentifier() and text not in _PARAMETERS_OF_PRINT
    name = text if is_name else f"value{len(values)}"
    values[name] = text
    return name


def _print_call(template: str, values: dict[str, str]) -> str:
    named = [f"{name}={text}" for name, text in values.items()]
    shown = repr(template)
    if shown[0] == "'" and '"' not in template:
        shown = f'"{shown[1:-1]}"'
    return f"jax.debug.print({', '.join([shown, *named])})"


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _spec(part: ast.FormattedValue) -> str:
    if not isinstance(part.format_spec, ast.JoinedStr):
        return ""
    return ":" + "".join(
        str(c.value) for c in part.format_spec.values if isinstance(c, ast.Constant)
    )
