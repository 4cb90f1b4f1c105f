"""What to write in place of an expression that cannot be evaluated, in the user's own terms.

Each function looks at the syntax where the user's program stands (`user_code`), and has a general
answer where that tells nothing. They run when the message of an error is made.
"""

from __future__ import annotations

import ast
import importlib
import types
from typing import Any, NamedTuple

from jitney.core.user_code import UserCode

# --- truth values ---------------------------------------------------------------------------------


class Truth(NamedTuple):
    """Where Python asks for a truth value.

    Attributes:
      asked: what the user wrote: "if x > lim"; empty if it is not known.
      instead: what to write in place of it.
    """

    asked: str
    instead: str


_TRACED_DEFAULT = (
    "choose between values by jnp.where(condition, x, y), between computations by jax.lax.cond; "
    "loop by jax.lax.while_loop"
)
_MASK_DEFAULT = "x.any() or x.all()"


def of_truth(code: UserCode | None, *, traced: bool) -> Truth:
    """What asks for a truth value, and what does its work for arrays.

    Args:
      code: where.
      traced: whether the value is not known yet; else the array has several elements.
    """
    default = _TRACED_DEFAULT if traced else _MASK_DEFAULT
    if code is None or code.expression is None:
        return Truth("", default)
    elementwise = _elementwise(code)
    written = code.text(elementwise[0]) if elementwise else code.text()
    statement = next((n for n in code.path if isinstance(n, ast.stmt | ast.IfExp)), None)
    by_mask = f"elementwise, {elementwise[1]}" if elementwise else ""
    if not traced:
        return Truth(written, by_mask or _reduced(code))
    match statement:
        case ast.If(test=test) if _contains(test, code):
            asked, instead = f"if {code.text(test)}", _choice(code, test)
        case ast.IfExp(test=test) if _contains(test, code):
            asked, instead = f"if {code.text(test)}", _choice(code, test)
        case ast.While(test=test) if _contains(test, code):
            asked = f"while {code.text(test)}"
            instead = "jax.lax.while_loop(lambda state: condition, lambda state: next_state, state)"
        case ast.Assert(test=test):
            asked = f"assert {code.text(test)}"
            instead = (
                f"jax.experimental.checkify.check({code.text(test)}, message), or a function that "
                "asserts, called by jax.debug.callback"
            )
        case _:
            asked = written
            instead = _of_call(code) or _of_filter(code) or by_mask or default
    return Truth(asked, instead)


def _contains(outer: ast.AST, code: UserCode) -> bool:
    return any(node is outer for node in code.path)


def _choice(code: UserCode, test: ast.AST) -> str:
    mask = _elementwise(code)
    condition = mask[1] if mask and mask[0] is test else code.text(test)
    return f"between values, jnp.where({condition}, ..., ...); between computations, jax.lax.cond"


def _elementwise(code: UserCode) -> tuple[ast.expr, str] | None:
    """The outermost `and`, `or`, `not` or chain of comparisons, and the same of masks."""
    found: ast.expr | None = None
    for node in code.path:
        if isinstance(node, ast.BoolOp) or _is_not(node) or _is_chain(node):
            assert isinstance(node, ast.expr)
            found = node
        elif isinstance(node, ast.stmt):
            break
    return None if found is None else (found, _mask(code, found))


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_chain(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) > 1


def _mask(code: UserCode, node: ast.expr) -> str:
    match node:
        case ast.BoolOp(op=op, values=values):
            sign = " & " if isinstance(op, ast.And) else " | "
            return sign.join(_in_parentheses(_mask(code, each)) for each in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"~{_in_parentheses(_mask(code, operand))}"
        case ast.Compare(left=left, ops=ops, comparators=others) if len(ops) > 1:
            return " & ".join(
                f"({ast.unparse(ast.Compare(a, [op], [b]))})"
                for a, op, b in zip([left, *others], ops, others, strict=False)
            )
        case _:
            return code.text(node)


def _in_parentheses(text: str) -> str:
    return text if text.isidentifier() or text.startswith("(") else f"({text})"


_BUILTINS = {"max": "jnp.maximum", "min": "jnp.minimum", "any": "jnp.any", "all": "jnp.all",
             "sorted": "jnp.sort"}  # fmt: skip


def _of_call(code: UserCode) -> str:
    match code.expression:
        case ast.Call(func=ast.Name(id=name)) if name in _BUILTINS:
            return _BUILTINS[name]
        case _:
            return ""


def _of_filter(code: UserCode) -> str:
    loop = next((n for n in code.path if isinstance(n, ast.ListComp | ast.GeneratorExp)), None)
    if loop is None or not any(code.expression in g.ifs for g in loop.generators):
        return ""
    return f"an array of the same length with a mask, jnp.where({code.text()}, ..., 0)"


def _reduced(code: UserCode) -> str:
    text = code.text()
    if not text or isinstance(code.expression, ast.stmt):
        return _MASK_DEFAULT
    array = text if text.isidentifier() else f"({text})"
    return f"{array}.any() or {array}.all()"


# --- assignment -----------------------------------------------------------------------------------

_UPDATES: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}


def of_assignment(code: UserCode | None) -> str:
    """The update without a change in place of `x[index] = value` or `x[index] += value`."""
    if code is None or len(code.path) < 2:
        return "x = x.at[index].set(value)"
    target, statement = code.path[:2]
    if not isinstance(target, ast.Subscript):
        return "x = x.at[index].set(value)"
    array, index = code.text(target.value), code.text(target.slice)
    match statement:
        case ast.AugAssign(op=op, value=value) if type(op) in _UPDATES:
            call = f"{_UPDATES[type(op)]}({code.text(value)})"
        case ast.AugAssign(op=op, value=value):
            new = ast.unparse(ast.BinOp(ast.Name("v"), op, value))
            call = f"apply(lambda v: {new})"
        case ast.Assign(targets=[_], value=value):
            call = f"set({code.text(value)})"
        case _:
            call = "set(value)"
    return f"{array} = {array}.at[{index}].{call}"


# --- text -----------------------------------------------------------------------------------------


def of_format(code: UserCode | None) -> tuple[str, str]:
    """(the f-string, the call of `jax.debug.print` in place of it)."""
    nodes = () if code is None else code.path
    string = next((n for n in nodes if isinstance(n, ast.JoinedStr)), None)
    if code is None or string is None:
        return "", 'jax.debug.print("x = {x}", x=x)'
    parts: list[str] = []
    values: dict[str, str] = {}
    for part in string.values:
        if isinstance(part, ast.FormattedValue):
            text = ast.unparse(part.value)
            name = text if text.isidentifier() else f"value{len(values)}"
            values[name] = text
            parts.append("{" + name + _spec(part) + "}")
        elif isinstance(part, ast.Constant):
            parts.append(str(part.value))
    named = ", ".join(f"{name}={text}" for name, text in values.items())
    return ast.unparse(string), f'jax.debug.print("{"".join(parts)}", {named})'


def _spec(part: ast.FormattedValue) -> str:
    if not isinstance(part.format_spec, ast.JoinedStr):
        return ""
    return ":" + "".join(
        str(c.value) for c in part.format_spec.values if isinstance(c, ast.Constant)
    )


# --- slices ---------------------------------------------------------------------------------------


def of_slice(code: UserCode | None) -> str:
    """The slice of a known length in place of one with traced bounds."""
    general = "jax.lax.dynamic_slice_in_dim(x, start, length)"
    if code is None:
        return general
    match code.expression:
        case ast.Subscript(value=array, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            start = "0" if lower is None else code.text(lower)
            length = _length(code, lower, upper)
            return f"jax.lax.dynamic_slice_in_dim({code.text(array)}, {start}, {length})"
        case _:
            return general


def _length(code: UserCode, lower: ast.expr | None, upper: ast.expr | None) -> str:
    match upper:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if lower is not None:
            if ast.dump(left) == ast.dump(lower):
                return code.text(right)
        case _:
            pass
    return "length"


# --- functions of other packages ------------------------------------------------------------------

_COUNTERPARTS = {"numpy": "numpy", "math": "numpy", "scipy": "scipy"}
_SHORT = {"jax.numpy": "jnp"}


def of_foreign_call(code: UserCode | None) -> str:
    """The function of ours for a call of NumPy's, SciPy's or `math`'s; empty if there is none."""
    match None if code is None else code.expression:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            assert code is not None
            module = _value(code, owner)
        case _:
            return ""
    root, _, rest = getattr(module, "__name__", "").partition(".")
    if not isinstance(module, types.ModuleType) or root not in _COUNTERPARTS:
        return ""
    ours = ".".join(filter(None, ("jitney", _COUNTERPARTS[root], rest)))
    try:
        found = getattr(importlib.import_module(ours), name, None)
    except ImportError:
        return ""
    public = ours.replace("jitney", "jax", 1)
    return "" if found is None else f"{_SHORT.get(public, public)}.{name}"


def _value(code: UserCode, node: ast.expr) -> Any:
    """What a name, or an attribute of a module, stands for; None if it is something else."""
    match node:
        case ast.Name(id=name):
            return code.frame.f_locals.get(name, code.frame.f_globals.get(name))
        case ast.Attribute(value=owner, attr=name):
            module = _value(code, owner)
            return getattr(module, name, None) if isinstance(module, types.ModuleType) else None
        case _:
            return None
