"""The arguments of the user's call, by parameter name, with the source expression of each.

They are the arguments that the API boundary of the package received, or else those in the outermost
frame of the package. Finding them does not run user code, such as properties or `__repr__`.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from jitney.core.source import source_info
from jitney.core.source.user_code import UserCode
from jitney.core.util.record import record


@record(frozen=True, eq=False)
class Argument:
    """An argument of the user's call.

    Attributes:
      label: its name in messages.
      value: the value that was passed.
      node: the expression in the user's source; None if it is not known.
    """

    label: str
    value: Any
    node: ast.expr | None


def signature_of(function: object) -> inspect.Signature | None:
    """Returns the signature of a function; None if it is unknown or this is not a function."""
    try:
        return inspect.signature(function) if callable(function) else None
    except (ValueError, TypeError):
        return None


def bind(
    signature: inspect.Signature | None, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments | None:
    """Binds the arguments of a call to parameters; returns None if they do not fit."""
    try:
        return None if signature is None else signature.bind(*args, **kwargs)
    except TypeError:
        return None


def inner(args: tuple[Any, ...]) -> tuple[tuple[object, ...], dict[str, object]]:
    """Returns the positional and keyword arguments of a function called with self, args, kwargs."""
    match args:
        case (*_, tuple(), dict()):
            return args[-2], args[-1]
        case _:
            return (), {}


def syntax(
    code: UserCode, signature: inspect.Signature | None, function: object
) -> Mapping[str, Any]:
    """Returns the source expression of each parameter; a tuple of expressions for `*args`.

    The result is empty if the expressions are not known.
    """
    node = code.expression
    if signature is None or not isinstance(node, ast.Call):
        return {}
    if code.text(node.func).rpartition(".")[2] != getattr(function, "__name__", ""):
        return {}
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        return {}
    named = {k.arg: k.value for k in node.keywords if k.arg is not None}
    try:
        return signature.bind_partial(*node.args, **named).arguments
    except TypeError:
        return {}


def of_call(
    bound: inspect.BoundArguments, signature: inspect.Signature, nodes: Mapping[str, Any]
) -> Iterator[Argument]:
    """Yields the arguments of a call; `nodes` maps parameter names to source expressions."""
    for name, value in bound.arguments.items():
        node = nodes.get(name)
        match signature.parameters[name].kind:
            case inspect.Parameter.VAR_KEYWORD:
                for key, each in value.items():
                    yield Argument(key, each, None if node is None else node.get(key))
            case inspect.Parameter.VAR_POSITIONAL:
                for k, each in enumerate(value):
                    part = node[k] if node is not None and k < len(node) else None
                    yield Argument(f"{name}[{k}]", each, part)
            case _:
                yield Argument(name, value, node)


def of_frame(code: UserCode, own: FrameType, called: object) -> Iterator[Argument]:
    """Yields the arguments of a frame of this package, except those whose variables it rebinds."""
    info, values = own.f_code, own.f_locals
    count = info.co_argcount + info.co_kwonlyargcount
    names = info.co_varnames[:count]
    varargs = info.co_varnames[count] if info.co_flags & inspect.CO_VARARGS else ""
    node = code.expression
    if called is None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = values.get("self")
        called = getattr(owner, node.func.attr, None) if source_info.is_own(owner) else None
    signature = signature_of(called) if callable(called) else None
    if not names and varargs and info.co_flags & inspect.CO_VARKEYWORDS:  # a wrapper
        bound = bind(signature, values[varargs], values[info.co_varnames[1]])
        if signature is not None and bound is not None:
            yield from of_call(bound, signature, syntax(code, signature, called))
        return
    kept = [n for n in names if n in values and n not in _rebound(info)]
    sides = _operands_of(node)
    if isinstance(node, ast.Subscript) and info.co_name not in _OF_CONTAINERS:
        # The container is a Python object: it uses the array's hash, or its value as an index.
        if "self" in kept:
            yield Argument("index", values["self"], node.slice)
        return
    value = _unpacked(code)
    if value is not None:
        if "self" in kept:
            yield Argument("value", values["self"], value)
        return
    if sides:
        for name in kept:
            label = _side(name, "array" in sides, info.co_name.startswith("__r"))
            yield Argument(label, values[name], sides.get(label))
        return
    nodes = syntax(code, signature, called)
    if "self" in kept:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _method_owner(values["self"], node.func.value)
        kept.remove("self")
    for name in kept:
        yield Argument(name, values[name], nodes.get(name))
    if varargs:
        parts = nodes.get(varargs, ())
        for k, each in enumerate(values[varargs]):
            yield Argument(f"{varargs}[{k}]", each, parts[k] if k < len(parts) else None)


# Methods that Python calls on the indexed object; it calls all others on the index.
_OF_CONTAINERS = ("__getitem__", "__setitem__", "__delitem__")


def _unpacked(code: UserCode) -> ast.expr | None:
    """Returns the value that an assignment to several targets unpacks; None for other syntax."""
    match code.path[:2]:
        case (ast.Tuple(ctx=ast.Store()) | ast.List(ctx=ast.Store()), ast.Assign(value=value)):
            return value
        case _:
            return None


def takes_list(parameter: inspect.Parameter) -> bool:
    """Returns whether a parameter accepts a list of arrays."""
    return bool(_OF_LISTS.search(str(parameter.annotation)))


def takes_arrays(parameter: inspect.Parameter) -> bool:
    """Returns whether a parameter accepts one or several arrays."""
    return bool(_OF_ARRAYS.search(str(parameter.annotation)))


_OF_LISTS = re.compile(r"\bArrays\b|\bSequence\[")
_OF_ARRAYS = re.compile(r"Array|Any|object|PyTree|Sequence")


def _side(name: str, is_index: bool, is_reflected: bool) -> str:
    """Returns the name of an operand in messages, given the parameter of the operator's method."""
    if is_index:
        return "array" if name == "self" else name
    is_left = name in ("self", "x")
    return "left" if is_left != is_reflected else "right"


def _method_owner(owner: object, node: ast.expr) -> Iterator[Argument]:
    """Yields the array on which a method, or an update method of `x.at[index]`, is called."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        array = getattr(owner, "array", None) if source_info.is_own(owner) else None
        yield Argument("array", array, node.value.value)
    else:
        yield Argument("array", owner, node)


def _operands_of(node: ast.AST | None) -> dict[str, ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            return {"left": left, "right": right}
        case ast.Compare(left=left, comparators=[right]):
            return {"left": left, "right": right}
        case ast.UnaryOp(operand=operand):
            return {"left": operand}
        case ast.AugAssign(target=target, value=value):
            return {"left": target, "right": value}
        case ast.Subscript(value=value, slice=index):
            return {"array": value, "index": index}
        case _:
            return {}


@functools.lru_cache(maxsize=64)
def _rebound(code: CodeType) -> frozenset[str]:
    """Returns the local variables to which a function assigns."""
    variables: set[str] = set()
    for each in dis.get_instructions(code):
        if "STORE_FAST" in each.opname or each.opname == "STORE_DEREF":
            bound: Any = each.argval  # a pair if one instruction binds two variables
            variables |= {*bound} if isinstance(bound, tuple) else {bound}
    return frozenset(variables)
