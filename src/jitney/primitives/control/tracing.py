"""Tracing of functions for control flow, in which closed-over values become operands.

The module also checks the types of carries and branches; its error messages show both types, and
name the leaf in which they differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jitney.core.messages import messages
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Var
from jitney.core.program.memo import memoize_by_identity
from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import equality_errors_pytreedef
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.function_traces import traced_once
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.recording.ref_checks import check_passed_once
from jitney.core.sharding_in_types import explicit, varying
from jitney.core.source import source_info
from jitney.core.tracing.hi_types import HAS_QDD, with_state
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, abstract_token, get_aval
from jitney.core.util.record import record
from jitney.primitives.elementwise.convert import convert

if TYPE_CHECKING:
    from jitney.core.pytree.registry import KeyPath
    from jitney.primitives.rule_types import Value


@record
class Traced:
    """A function of flat values, traced to a program without constants.

    Attributes:
      closed: the program; its operands are the values in `consts`, then the arguments.
      consts: the values over which the function closes.
      out_tree: structure of the result.
      out: the result, in which types replace values.
    """

    closed: ClosedJaxpr
    consts: list[Any]
    out_tree: pytrees.PyTreeDef
    out: Any

    @property
    def out_avals(self) -> list[AbstractValue]:
        return self.closed.out_avals


def function_name(fun: Callable[..., Any]) -> str:
    """Returns the name of `fun` for messages."""
    return getattr(fun, "__name__", None) or type(fun).__name__


Source = tuple[Callable[..., Any], Hashable]
"""The user's function from which a traced function is derived, and a key for the derivation."""


def trace_function(
    fun: Callable[..., Any],
    in_tree: pytrees.PyTreeDef,
    avals: Sequence[AbstractValue],
    name: str,
    source: Source | None = None,
) -> Traced:
    """Traces `fun` for arguments of structure `in_tree` whose leaves have the types `avals`.

    For the same argument types, functions that are equal or have the same `source` are traced once.
    """
    user_fun, how = source or (fun, None)
    if any(map(HAS_QDD, avals)):
        return _trace_function(fun, in_tree, avals, name)
    return traced_once(
        user_fun,
        (name, how, in_tree, tuple(avals)),
        lambda: _trace_function(fun, in_tree, avals, name),
        _constants,
    )


def _constants(traced: Traced) -> list[Value]:
    return traced.consts


def _trace_function(
    fun: Callable[..., Any], in_tree: pytrees.PyTreeDef, avals: Sequence[AbstractValue], name: str
) -> Traced:
    info = DebugInfo(name, source_info.fun_sourceinfo(fun))

    def refusal(x: object, path: str) -> str:
        return (
            f"{name}: {function_name(fun)} must return a pytree of arrays and scalars, but has "
            f"returned a value of type {type(x)}"
        )

    flat = FlatFunction(fun, in_tree, refusal)
    jaxpr, out_avals, consts = trace_to_jaxpr(flat, avals, info)
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))
    closed = ClosedJaxpr(
        jaxpr.replace(
            constvars=[],
            invars=[*jaxpr.constvars, *jaxpr.invars],
            debug_info=jaxpr.debug_info._replace(arg_names=(None,) * len(consts) + names),
        ),
        [],
    )
    return Traced(closed, consts, flat.out_tree, flat.unflatten(out_avals))


def check_refs(fun: Callable[..., Any], traced: Traced, args: Sequence[Any]) -> None:
    """Raises ValueError if a reference is passed twice, or both passed and closed over."""
    info = traced.closed.jaxpr.debug_info
    n = len(traced.consts)

    def names() -> list[str]:
        arg_names = info.safe_arg_names(len(traced.closed.in_avals))[n:]
        try:
            own = [*inspect.signature(fun).parameters]
        except (TypeError, ValueError):
            own = []
        own = own if len(own) == len(args) else [""] * len(args)
        return [
            a or b or f"argument {k}" for k, (a, b) in enumerate(zip(arg_names, own, strict=True))
        ]

    check_passed_once(args, traced.consts, names, info)


def with_common_consts(traced: Sequence[Traced]) -> tuple[list[ClosedJaxpr], list[Value]]:
    """Returns programs that take the union of all closed-over values, and this union."""
    consts: list[Any] = []
    position: dict[int, int] = {}
    for t in traced:
        for c in t.consts:
            if id(c) not in position:
                position[id(c)] = len(consts)
                consts.append(c)
    avals = tuple([with_state(get_aval(c), c) for c in consts])
    programs = [
        _with_operands(t.closed, avals, tuple([position[id(c)] for c in t.consts])) for t in traced
    ]
    return programs, consts


@memoize_by_identity
def _with_operands(
    closed: ClosedJaxpr, avals: tuple[AbstractValue, ...], places: tuple[int, ...]
) -> ClosedJaxpr:
    """Replaces the leading operands of `closed` by operands of types `avals`.

    Former operand k, for k < len(places), becomes operand `places[k]`; the program does not read
    the other new operands.
    """
    n, jaxpr = len(places), closed.jaxpr
    if n == len(avals):
        if places == tuple(range(n)):
            return closed
        own: list[Any] = [None] * n
    else:
        own = [Var(aval) for aval in avals]
    for var, place in zip(jaxpr.invars[:n], places, strict=True):
        own[place] = var
    names = (None,) * len(own) + jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[n:]
    info = jaxpr.debug_info._replace(arg_names=names)
    return ClosedJaxpr(jaxpr.replace(invars=[*own, *jaxpr.invars[n:]], debug_info=info), [])


def strengthened(
    init_avals: Sequence[AbstractValue], out_avals: Sequence[AbstractValue]
) -> list[AbstractValue] | None:
    """Returns the types of the carry after promotion of weak types, or None if they are unchanged.

    A weakly typed carry that the body returns with the same dtype is left unchanged.
    """
    changed = False
    result: list[AbstractValue] = []
    for a, o in zip(init_avals, out_avals, strict=True):
        if not (isinstance(a, ShapedArray) and isinstance(o, ShapedArray)):  # tokens, high types
            result.append(a)
            continue
        if a.weak_type and a.shape == o.shape and a.dtype != o.dtype:
            # A Python scalar adopts the dtype that the loop returns if arithmetic would promote it,
            # too.
            dtype = dtypes.result_type(a, o)
            if dtype != a.dtype:
                a = a.update(dtype=dtype, weak_type=False)
                changed = True
        result.append(a)
    return result if changed else None


def check_carry(
    loop: str,
    body: Callable[..., Any],
    source: Source | None,
    in_tree: pytrees.PyTreeDef,
    out_tree: pytrees.PyTreeDef,
    in_avals: Sequence[AbstractValue],
    out_avals: Sequence[AbstractValue],
) -> None:
    """Raises TypeError unless a loop's `body` preserves the structure and types of the carry.

    Args:
      loop: name of the public function, such as "lax.scan".
      body: the function that was traced.
      source: the user's function from which `body` was derived, if they differ.
      in_tree, in_avals: structure and types of the carry before an iteration.
      out_tree, out_avals: structure and types of the carry after it.
    """
    user_fun, how = source or (body, "")
    is_fori_loop = how == "fori_loop"  # whose body takes the index, too
    own = getattr(user_fun, "__code__", None)
    is_wrapper = own is not None and source_info.is_internal(own)
    where = "the function" if is_wrapper else source_info.fun_sourceinfo(user_fun)
    if is_fori_loop:
        loop = "lax.fori_loop"
    argument = partial(carry_name, user_fun, int(is_fori_loop))
    if in_tree != out_tree:
        lines = _tree_differences(argument(), in_tree, out_tree, is_fori_loop)
        raise TypeError(
            f"{loop}: {where} must return the carry with the tree structure that it has as "
            f"input:\n\n{lines}\n\nInstead: return the same containers as the "
            f"input has.{messages.see('carry-type')}"
        )
    if all(map(_same, in_avals, out_avals)):
        return
    paths = [p for p, _ in pytrees.tree_flatten_with_path(_example(in_tree))[0]]
    changed = [
        (_component(argument(), path[is_fori_loop:]), i, o)
        for path, i, o in zip(paths, in_avals, out_avals, strict=True)
    ]
    wrong = [
        f"{name} is passed as {_short(i)} and returned as {_short(o)}: {_why(i, o)}."
        for name, i, o in changed
        if not _same(i, o)
    ]
    advice = _how_to_vary([(i, o, f"the initial value of {name}", "") for name, i, o in changed])
    shown = wrong[0] if len(wrong) == 1 else "\n".join(f"  * {line}" for line in wrong)
    raise TypeError(
        f"{loop}: {where} must return the carry with the types that it has as "
        f"input:\n\n{shown}{advice}\n\nInstead: {_conversion(changed)}{messages.see('carry-type')}"
    )


def _conversion(changed: Sequence[tuple[str, AbstractValue, AbstractValue]]) -> str:
    """Returns advice on how to preserve the types of the carry."""
    for _, i, o in changed:
        if isinstance(i, ShapedArray) and isinstance(o, ShapedArray) and i.dtype != o.dtype:
            name = dtypes.long_name(i.dtype)
            return (
                f"convert the carry that the function returns, .astype({name!r}), or pass an initial "
                "carry of the type that it returns."
            )
    return "pass an initial carry of the type that the function returns."


def _component(argument: str, path: KeyPath) -> str:
    where = pytrees.keystr(path)
    return f"component {argument}{where}" if where else argument


def _example(tree: pytrees.PyTreeDef) -> object:
    return pytrees.tree_unflatten(tree, list(range(tree.num_leaves)))


def _same(a: AbstractValue, b: AbstractValue) -> bool:
    if a.is_high or b.is_high or a is abstract_token or b is abstract_token:
        return a == b
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and varying.axes_of(a) == varying.axes_of(b)
        and explicit.equally_sharded(a, b)
    )


def _short(a: AbstractValue) -> str:
    return a.str_short()


def _why(a: AbstractValue, b: AbstractValue) -> str:
    if a.is_high or b.is_high:
        return "their types differ"
    reasons: list[str] = []
    if a.dtype != b.dtype:
        reasons.append("their dtypes differ")
    if a.shape != b.shape:
        reasons.append("their shapes differ")
    if varying.axes_of(a) != varying.axes_of(b):
        reasons.append("they vary along other manual axes of the mesh")
    if not explicit.equally_sharded(a, b):
        reasons.append("their shardings differ")
    return " and ".join(reasons)


def _how_to_vary(
    pairs: Iterable[tuple[AbstractValue, AbstractValue, str, str]],
) -> str:
    """Returns advice for values that vary along fewer mesh axes than others: a paragraph, or "".

    Args:
      pairs: (type, type, description, description) of two values whose types should be equal.
    """
    advice: list[str] = []
    for a, b, first, second in pairs:
        for has, wanted, name in ((a, b, first), (b, a, second)):
            missing = varying.axes_of(wanted) - varying.axes_of(has)
            if missing and name:
                axes = tuple(sorted(missing, key=str))
                advice.append(f"apply `jax.lax.pcast(..., {axes}, to='varying')` to {name}")
    if len(advice) < 2:
        return f"\n\nTo make them vary along the same axes, {advice[0]}." if advice else ""
    return "\n\nTo make them vary along the same axes:\n  * " + ";\n  * ".join(advice) + "."


def _tree_differences(
    argument: str, a: pytrees.PyTreeDef, b: pytrees.PyTreeDef, skipped: int
) -> str:
    """Returns a line for each difference; drops the first `skipped` entries of paths."""
    lines: list[str] = []
    for path, this, that, explanation in equality_errors_pytreedef(a, b):
        lines.append(
            f"{_component(argument, path[skipped:])} is passed as a {this} and returned as a "
            f"{that}: {explanation}."
        )
    return "\n".join(lines) or f"The structure of the input is {a}, that of the output {b}."


def check_branches(
    names: Sequence[str], functions: Sequence[Callable[..., Any]], traced: Sequence[Traced]
) -> None:
    """Raises TypeError unless all branches return the same structure and types."""
    first = traced[0]
    for name, fun, t in zip(names[1:], functions[1:], traced[1:], strict=True):
        where = "\n".join(
            f"{n} is {source_info.fun_sourceinfo(f)}"
            for n, f in ((names[0], functions[0]), (name, fun))
        )
        if t.out_tree != first.out_tree:
            lines = "\n".join(
                f"The output of {names[0]}{_at(path)} is a {this}, that of {name} is a {that}: {why}."
                for path, this, that, why in equality_errors_pytreedef(first.out_tree, t.out_tree)
            )
            raise TypeError(
                "cond: the results of all branches must have the same tree structure:\n\n"
                f"{where}\n\n{lines}\n\nReturn the same containers from {names[0]} and {name}."
            )
        paths = [p for p, _ in pytrees.tree_flatten_with_path(_example(t.out_tree))[0]]
        wrong = [
            f"The output of {names[0]}{_at(path)} is {_short(a)}, that of {name} is {_short(b)}: "
            f"{_why(a, b)}."
            for path, a, b in zip(paths, first.out_avals, t.out_avals, strict=True)
            if not _same(a, b)
        ]
        if wrong:
            raise TypeError(
                "cond: all branches must return values of the same types.\n\n"
                f"{where}\n\n"
                + "\n".join(wrong)
                + _how_to_vary(
                    [
                        (
                            a,
                            b,
                            f"the output of {names[0]}{_at(path)}",
                            f"the output of {name}{_at(path)}",
                        )
                        for path, a, b in zip(paths, first.out_avals, t.out_avals, strict=True)
                    ]
                )
                + f"\n\nConvert the result of {names[0]} or {name}."
            )


def _at(path: KeyPath) -> str:
    where = pytrees.keystr(path)
    return f" at path {where}" if where else ""


def with_types(leaves: Sequence[Value], avals: Sequence[AbstractValue]) -> list[Value]:
    """Converts the leaves of an initial carry to the types of the carry in the loop."""
    return [
        x if has_type(x, a) else convert(x, a.dtype, a.weak_type)
        for x, a in zip(leaves, avals, strict=True)
    ]


def has_type(x: Value, aval: AbstractValue) -> bool:
    """Returns whether `x` has the dtype and the weak type of `aval`; high types must be equal."""
    got: Any = get_aval(x)
    if aval.is_high:
        return got == aval
    return got.dtype == aval.dtype and got.weak_type == aval.weak_type


def carry_name(fun: Callable[..., Any], position: int = 0) -> str:
    """Returns the name of the parameter of `fun` at `position`, or "carry" if it is unknown."""
    try:
        return [*inspect.signature(fun).parameters][position]
    except (TypeError, ValueError, IndexError):
        return "carry"
