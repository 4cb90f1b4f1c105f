"""Suggested replacements for expressions that cannot be evaluated, in the user's own terms.

Each function inspects the syntax of the user's code (`user_code`) and returns a general suggestion
if the syntax is not informative. The functions run when an error message is composed.
"""

from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from jitney.core.source import user_code
from jitney.core.source.user_code import UserCode

# --- truth values ---------------------------------------------------------------------------------


class Truth(NamedTuple):
    """An expression whose truth value Python needs.

    Attributes:
      asked: the user's code, such as "if x > lim"; empty if it is not known.
      instead: the suggested replacement.
    """

    asked: str
    instead: str


_TRACED_DEFAULT = (
    "jnp.where(condition, x, y) to choose between values, jax.lax.cond to choose between "
    "computations, and jax.lax.while_loop for loops"
)
_MASK_DEFAULT = "x.any() or x.all()"


def of_truth(code: UserCode | None, *, traced: bool) -> Truth:
    """Returns the expression whose truth value is needed, and its replacement for arrays.

    Args:
      code: the user's code.
      traced: whether the array is traced; otherwise it has several elements.
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
            condition, instead = f"if {code.text(test)}", _choice(code, test)
        case ast.IfExp(test=test) if _contains(test, code):
            condition, instead = f"if {code.text(test)}", _choice(code, test)
        case ast.While(test=test) if _contains(test, code):
            condition = f"while {code.text(test)}"
            instead = "jax.lax.while_loop(lambda state: condition, lambda state: next_state, state)"
        case ast.Assert(test=test):
            condition = f"assert {code.text(test)}"
            instead = (
                f"jax.experimental.checkify.check({code.text(test)}, message), or call a function "
                "that asserts with jax.debug.callback"
            )
        case _:
            condition = written
            instead = _of_call(code) or _of_filter(code) or by_mask or default
    return Truth(condition, instead)


def _contains(outer: ast.AST, code: UserCode) -> bool:
    return any(node is outer for node in code.path)


def _choice(code: UserCode, test: ast.AST) -> str:
    mask = _elementwise(code)
    condition = mask[1] if mask and mask[0] is test else code.text(test)
    return (
        f"jnp.where({condition}, ..., ...) to choose between values; jax.lax.cond to choose between "
        "computations"
    )


def _elementwise(code: UserCode) -> tuple[ast.expr, str] | None:
    """Returns the outermost `and`, `or`, `not` or chained comparison, and its elementwise form."""
    outermost: ast.expr | None = None
    for node in code.path:
        if isinstance(node, ast.BoolOp) or _is_not(node) or _is_chain(node):
            assert isinstance(node, ast.expr)
            outermost = node
        elif isinstance(node, ast.stmt):
            break
    return None if outermost is None else (outermost, _mask(code, outermost))


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
    return f"keep the length and mask the elements, jnp.where({code.text()}, ..., 0)"


def _reduced(code: UserCode) -> str:
    operand_node = code.expression
    match operand_node:
        case ast.Call(func=ast.Name(id="bool"), args=[ast.expr() as operand]):
            operand_node = operand
        case _:
            pass
    text = "" if operand_node is None else code.text(operand_node)
    if not text or isinstance(operand_node, ast.stmt):
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


def of_store(code: UserCode | None) -> str:
    """Returns the functional update that replaces `a[index] = x` for a NumPy array `a`.

    Returns an empty string for other expressions.
    """
    match None if code is None else code.expression:
        case ast.Subscript(ctx=ast.Store()):
            assert code is not None
            return of_assignment(code, "jnp.asarray({})")
        case _:
            return ""


def of_assignment(code: UserCode | None, array_form: str = "{}") -> str:
    """Returns the functional update that replaces `x[index] = value` or `x[index] += value`.

    Args:
      code: the user's code.
      array_form: a format string for the updated array; "{}" stands for the user's expression.
    """
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
    return f"{array} = {array_form.format(array)}.at[{index}].{call}"


# --- numbers ------------------------------------------------------------------------------------

_NUMBERS = ("int", "float", "complex")


def converted(node: ast.AST | None) -> ast.expr | None:
    """Returns the `x` of `int(x)`, `float(x)`, `complex(x)` or `x.item()`; None for other nodes."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[x], keywords=[]) if name in _NUMBERS:
            return None if isinstance(x, ast.Constant) else x
        case ast.Call(func=ast.Attribute(value=x, attr="item"), args=[], keywords=[]):
            return x
        case _:
            return None


def of_number(code: UserCode | None, kind: str, wanted: str) -> str:
    """Returns a replacement for `int(x)`, `float(x)`, `complex(x)` or `x.item()` of a traced array.

    Args:
      code: the user's code.
      kind: the Python type of the array's elements.
      wanted: the Python type to convert to; empty for that of the elements.
    """
    wanted = wanted or kind
    node = None if code is None else code.expression
    array = converted(node)
    outside = (
        "If Python needs the value as a number, such as a size, compute it outside of the traced "
        "function and pass it as a static argument (static_argnums)."
    )
    if code is None or array is None:
        same = f", or `x.astype({wanted})` or `jnp.array(x, {wanted})`" if wanted else ""
        return f"use the array itself{same}, which works in arithmetic. {outside}"
    text = code.text(array)
    is_short = isinstance(array, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    owner = text if is_short else f"({text})"
    same = text if wanted == kind else f"{owner}.astype({wanted})"
    uses = "in arithmetic, and as an index" if wanted == "int" else "in arithmetic"
    return f"`{same}`, an array, which works {uses}. {outside}"


def arguments(written: Callable[[ast.expr], str], call: ast.Call, first: int = 0) -> list[str]:
    """Returns the source of a call's arguments, starting with number `first`.

    `written` returns the source of a node.
    """
    named = [
        f"**{written(k.value)}" if k.arg is None else f"{k.arg}={written(k.value)}"
        for k in call.keywords
    ]
    return [*map(written, call.args[first:]), *named]


# --- containers -----------------------------------------------------------------------------------


def of_container(code: UserCode | None, kind: type, is_left: bool) -> str:
    """Returns the operation of an array and a container, with the container converted to an array.

    Args:
      code: the user's code.
      kind: the type of the container: list, tuple, set or dict.
      is_left: whether it is the left operand.
    """
    operation: Callable[[ast.expr, ast.expr], ast.expr]
    match None if code is None else code.expression:
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.AugAssign(target=left, op=op, value=right)
        ):
            operation = partial(_binary, op)
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            operation = partial(_comparison, sign)
        case _:
            return f"convert the {kind.__name__} with jnp.asarray"
    held = left if is_left else right
    if kind is dict:
        new: ast.expr = ast.Name("leaf")
    else:
        elements = ast.List([ast.Starred(held)]) if kind is set else held
        new = ast.Call(ast.Name("jnp.asarray"), [elements], [])
    text = ast.unparse(operation(new, right) if is_left else operation(left, new))
    return f"jax.tree.map(lambda leaf: {text}, {ast.unparse(held)})" if kind is dict else text


def _binary(op: ast.operator, left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, op, right)


def _comparison(sign: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [sign], [right])


# --- lists and trees ------------------------------------------------------------------------------


def of_separate(code: UserCode, count: int) -> str:
    """Returns the call with its first `count` arguments in a list; empty if impossible."""
    call = code.expression
    if not isinstance(call, ast.Call) or len(call.args) < count:
        return ""
    if any(isinstance(each, ast.Starred) for each in call.args):
        return ""
    listed = ", ".join(map(code.text, call.args[:count]))
    remaining = arguments(code.text, call, count)
    return f"{code.text(call.func)}({', '.join([f'[{listed}]', *remaining])})"


_OF_TREES = ("map", "tree_map", "map_with_path", "tree_map_with_path")


def mapped_trees(number: int, longest: int = 30) -> tuple[str, str] | None:
    """Returns the user's expressions for two of the trees over which a function is mapped.

    These are the first tree and another one. Returns None if the call is not in the user's source,
    or if an expression is too long to show.

    Args:
      number: the index of the other tree among the trees after the first.
      longest: the maximum length of each expression in characters.
    """
    code = user_code.current()
    match None if code is None else code.expression:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[_, first, *others]):
            assert code is not None
        case _:
            return None
    if name not in _OF_TREES:
        return None
    trees = [first, *others]
    written = _positional(code, trees, 0), _positional(code, trees, number + 1)
    return written if all(0 < len(text) <= longest for text in written) else None


def _positional(code: UserCode, nodes: Sequence[ast.expr], place: int) -> str:
    """Returns the source of positional argument `place`: `trees[1]` for `*trees`; "" if unknown."""
    for k, node in enumerate(nodes[: place + 1]):
        if isinstance(node, ast.Starred):
            whole = node.value
            # In `*a, b` the number of elements before `b` cannot be seen in the source.
            is_known = len(nodes) == k + 1 and isinstance(whole, ast.Name | ast.Attribute)
            return f"{code.text(whole)}[{place - k}]" if is_known else ""
    return code.text(nodes[place]) if place < len(nodes) else ""


def of_key(code: UserCode, has_value: bool) -> str:
    """Returns a replacement for `d[i]` if the key is an array; empty for other expressions.

    Args:
      code: the user's code.
      has_value: whether the array is concrete.
    """
    match code.expression:
        case ast.Subscript(value=container, slice=index):
            held, key = code.text(container), code.text(index)
        case _:
            return ""
    if has_value:
        return f"{held}[{key}.item()]" if key.isidentifier() else f"{held}[({key}).item()]"
    return (
        f"jnp.stack([*{held}.values()])[number], or jax.lax.switch(number, functions), where "
        "number is the position among the entries; if the key is known before the call, pass it as "
        "a static argument (static_argnums)"
    )


# --- slices ---------------------------------------------------------------------------------------


def of_slice(code: UserCode | None) -> str:
    """Returns a slice of static length that replaces a slice with traced bounds."""
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
    """Returns the name of the function of this package that replaces one of NumPy, SciPy or `math`.

    Returns an empty string if there is none.
    """
    match None if code is None else code.expression:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            assert code is not None
            module = value_of(code, owner)
        case _:
            return ""
    root, _, submodule = getattr(module, "__name__", "").partition(".")
    if not isinstance(module, types.ModuleType) or root not in _COUNTERPARTS:
        return ""
    ours = ".".join(filter(None, ("jitney", _COUNTERPARTS[root], submodule)))
    try:
        counterpart = getattr(importlib.import_module(ours), name, None)
    except ImportError:
        return ""
    public = ours.replace("jitney", "jax", 1)
    return "" if counterpart is None else f"{_SHORT.get(public, public)}.{name}"


def value_of(code: UserCode, node: ast.expr) -> object:
    """Returns the value of a name, or of an attribute of a module; None for other expressions."""
    match node:
        case ast.Name(id=name):
            return code.value_of(name)
        case ast.Attribute(value=owner, attr=name):
            module = value_of(code, owner)
            return getattr(module, name, None) if isinstance(module, types.ModuleType) else None
        case _:
            return None
