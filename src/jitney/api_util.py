"""`jax.api_util`: helpers for implementing transformations of functions of pytrees."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.api.jit.signature import CallSpec, signature_of
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.program.shape_dtype import abstractify as shaped_abstractify
from jitney.core.pytree import pytrees
from jitney.core.recording import linear_util as lu
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.source import source_info
from jitney.core.util.lazy import listing

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import PyTree, Value

T = TypeVar("T")
R = TypeVar("R")


@lu.transformation_with_aux2
def flatten_fun(
    f: Callable[..., PyTree], store: lu.Store, in_tree: PyTreeDef, *leaves: Value
) -> list[Value]:
    """Calls `f` with flat arguments, and flattens the result.

    `in_tree` is the structure of (args, kwargs). The structure of the result is the auxiliary
    output.
    """
    return _stored(FlatFunction(f, in_tree, has_kwargs=True), store, leaves)


@lu.transformation_with_aux2
def flatten_fun_nokwargs(
    f: Callable[..., PyTree], store: lu.Store, in_tree: PyTreeDef, *leaves: Value
) -> list[Value]:
    """Implements `flatten_fun` for functions without keyword arguments."""
    return _stored(FlatFunction(f, in_tree), store, leaves)


def _stored(flat: FlatFunction, store: lu.Store, leaves: Sequence[Value]) -> list[Value]:
    outs = flat(*leaves)
    store.store(flat.out_tree)
    return outs


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[PyTree],
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    sourceinfo: str | None = None,
    signature: inspect.Signature | None = None,
) -> DebugInfo:
    """Returns debug information on a traced function: its source location and argument names.

    Args:
      traced_for: name of the transformation, for messages.
      fun: the traced function.
      args: positional arguments.
      kwargs: keyword arguments.
      static_argnums: positions of static arguments.
      static_argnames: names of static arguments.
      sourceinfo: source location; by default the location of `fun`.
      signature: signature; by default the signature of `fun`.
    """
    spec = CallSpec(
        signature or signature_of(fun), tuple(static_argnums), frozenset(static_argnames), (),
        frozenset(),
    )  # fmt: skip
    dynamic, dynamic_kwargs, static = spec.split(tuple(args), dict(kwargs))
    names = tuple(spec.argument_names(dynamic, dynamic_kwargs, static))
    return DebugInfo(traced_for, sourceinfo or source_info.fun_sourceinfo(fun), names)


def argnums_partial(
    f: lu.WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[PyTree],
    require_static_args_hashable: bool = True,
) -> tuple[lu.WrappedFun, tuple[object, ...]]:
    """Binds all arguments except those at `dyn_argnums`.

    Returns: a function of the arguments at `dyn_argnums`, and a tuple of these arguments.

    Raises:
      ValueError: if `require_static_args_hashable` is set and a bound argument is not hashable.
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    positions = tuple(sorted({i % len(args) for i in numbers}))
    fixed = tuple([x for i, x in enumerate(args) if i not in positions])
    if require_static_args_hashable:
        for x in fixed:
            try:
                hash(x)
            except TypeError:
                raise ValueError(f"non-hashable static argument of type {type(x)}: {x!r}") from None
    wrapped = _put_fixed(f, positions, len(args), fixed)
    return wrapped, tuple([args[i] for i in positions])


@lu.transformation2
def _put_fixed(
    f: Callable[..., R],
    positions: tuple[int, ...],
    n: int,
    fixed: tuple[PyTree, ...],
    *args: PyTree,
    **kwargs: PyTree,
) -> R:
    dynamic, constants = iter(args), iter(fixed)
    return f(*[next(dynamic) if i in positions else next(constants) for i in range(n)], **kwargs)


def donation_vector(
    donate_argnums: Sequence[int],
    donate_argnames: Sequence[str],
    in_tree: PyTreeDef,
    kws: bool = True,
) -> tuple[bool, ...]:
    """Returns a flag for each leaf of the arguments, which states whether the leaf is donated."""
    positional, *named = in_tree.children() if kws else [in_tree]
    flags: list[bool] = []
    for i, tree in enumerate(positional.children()):
        flags += [i in donate_argnums] * tree.num_leaves
    for keywords in named:
        for name, tree in zip(keywords.data, keywords.children(), strict=True):
            flags += [name in donate_argnames] * tree.num_leaves
    return tuple(flags)


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Converts the positions of donated arguments to positions among the non-static arguments.

    Raises:
      ValueError: if an argument is both static and donated.
    """
    static = sorted(set(static_argnums))
    out: list[int] = []
    for i in sorted(set(donate_argnums)):
        if i in static:
            raise ValueError(f"argument {i} is both static and donated")
        out.append(i - sum(s < i for s in static))
    return tuple(out)


def flatten_axes(
    name: str,
    treedef: PyTreeDef,
    axis_tree: PyTree,
    *,
    kws: bool = False,
    tupled_args: bool = False,
) -> list[object]:
    """Flattens `axis_tree`, a prefix of `treedef`, to a list with an entry for each leaf.

    Raises:
      ValueError: if `axis_tree` is not a prefix of `treedef`.
    """
    full = pytrees.tree_unflatten(treedef, [object()] * treedef.num_leaves)
    try:
        return pytrees.broadcast_prefix(axis_tree, full, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise ValueError(
            f"{name} has to be a tree prefix of the values that it applies to, {treedef}, but got "
            f"{axis_tree!r}"
        ) from error


def safe_map(f: Callable[..., R], *lists: Iterable[Any]) -> list[R]:
    """Returns `[f(*xs) for xs in zip(*lists)]`.

    Raises:
      ValueError: if the lists differ in length.
    """
    return list(map(f, *_of_one_length("safe_map", lists)))


def _of_one_length(name: str, lists: Iterable[Iterable[T]]) -> list[list[T]]:
    out = [list(xs) for xs in lists]
    for i, xs in enumerate(out[1:], 2):
        if len(xs) != len(out[0]):
            which = "shorter" if len(xs) < len(out[0]) else "longer"
            raise ValueError(f"{name}() argument {i} is {which} than argument 1")
    return out


__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "shaped_abstractify",
]

__dir__ = listing(__name__)
