"""`lax.scan`: loops over the rows of arrays with a carry.

The function is traced once for a row. Carries and rows that it returns unchanged are moved out of
the loop, which becomes one equation of the primitive `scan` (`scan_primitive`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.jaxpr import ClosedJaxpr, Var
from jitney.core.pytree import pytrees
from jitney.core.settings import config
from jitney.core.source import source_info
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types.avals import get_aval
from jitney.core.types.refs import IS_REF
from jitney.primitives import flat_trees, rules
from jitney.primitives.array.concatenation import stack
from jitney.primitives.control.high import row_type
from jitney.primitives.control.scan_orders import reordered
from jitney.primitives.control.scan_primitive import scan_p
from jitney.primitives.control.tracing import (
    check_carry,
    check_refs,
    strengthened,
    trace_function,
    with_types,
)
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.sharding_rules import check_rows_replicated

if TYPE_CHECKING:
    from jitney.core.typing import PyTree
    from jitney.primitives.control.tracing import Source, Traced

Carry = TypeVar("Carry")
X = TypeVar("X")
Y = TypeVar("Y")


@api_boundary
def scan(
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]:
    """Repeats `carry, y = f(carry, x)` for each row x of `xs`; returns the final carry and all y.

    Args:
      f: a function (carry, x) -> (carry, y), which preserves the structure and types of the carry.
      init: the initial carry, a pytree of arrays.
      xs: a pytree of arrays with equal leading sizes, or None, in which case x is None.
      length: the number of iterations. It is required if `xs` is None; otherwise it must equal the
        leading size.
      reverse: whether to iterate from the last row to the first one. The y of row k is still row k
        of the result.
      unroll: the number of iterations in one pass of the compiled loop; True unrolls the loop
        completely.
      _split_transpose: ignored; accepted for compatibility.

    Returns: a pair (final carry, all y stacked along a new leading axis).

    Raises:
      TypeError: if `f` does not return a pair, or if it changes the type of the carry.
      ValueError: if leading sizes differ, or if both `xs` and `length` are None.

    Example:
      >>> total, products = lax.scan(lambda total, x: (total + x, total * x), 0, jnp.arange(1, 5))
      >>> int(total), products.tolist()
      (10, [0, 2, 9, 24])
    """
    if not callable(f):
        raise TypeError(f"lax.scan: `f` must be a function, but is {f!r}")
    return scan_from(None, f, init, xs, length, reverse, unroll)


def scan_from(
    source: Source | None,
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X | None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Carry, Y]:
    """Runs `scan` with an `f` derived from the user's function `source`, which is traced once."""
    x_leaves, x_tree = pytrees.tree_flatten(xs)
    length = _length(xs, x_leaves, length)
    factor = _unroll_factor(unroll, length)
    if config.disable_jit_enabled():
        return _scan_eagerly(f, init, x_leaves, x_tree, length, reverse)
    leaves, tree = pytrees.tree_flatten(init)
    avals = [get_aval(x) for x in leaves]
    row_avals = [row_type(get_aval(x)) for x in x_leaves]
    whole = pytrees.tree_structure((init, xs))
    traced = trace_function(f, whole, [*avals, *row_avals], "scan", source)
    if any(map(IS_REF, (*avals, *row_avals))):
        check_refs(f, traced, [*leaves, *x_leaves])
    carry_tree = _carry_tree(f, traced)
    n = carry_tree.num_leaves
    carry_avals = traced.out_avals[:n]
    if carry_tree == tree:
        stronger = strengthened(avals, carry_avals)
        if stronger is not None:
            avals = stronger
            leaves = with_types(leaves, avals)
            traced = trace_function(f, whole, [*avals, *row_avals], "scan", source)
            carry_avals = traced.out_avals[:n]
    check_carry("lax.scan", f, source, tree, carry_tree, avals, carry_avals)
    rows = [as_value(x) for x in x_leaves]
    consts = traced.consts
    body, moved, same = _without_copies(traced.closed, len(consts), n)
    copied = leaves
    are_copies = True in moved or same.count(None) != len(same)
    if are_copies:
        leaves = [x for x, m in zip(copied, moved, strict=True) if not m]
        consts = [*[x for x, m in zip(copied, moved, strict=True) if m], *consts]
    ft_in, ft_out = flat_trees.groups(len(consts), len(leaves), len(rows), same)
    outs = scan_p.bind(
        *consts,
        *leaves,
        *rows,
        jaxpr=body,
        length=length,
        ft_in=ft_in,
        ft_out=ft_out,
        reverse=bool(reverse),
        unroll=factor,
    )
    if are_copies:
        remaining = iter(outs)
        outs = [as_value(x) if m else next(remaining) for x, m in zip(copied, moved, strict=True)]
        outs += [next(remaining) if k is None else rows[k] for k in same]
    return pytrees.tree_unflatten(traced.out_tree, outs)


_IS_HIGH = operator.attrgetter("aval.is_high")


def _without_copies(
    closed: ClosedJaxpr, n_consts: int, n_carry: int
) -> tuple[ClosedJaxpr, tuple[bool, ...], tuple[int | None, ...]]:
    """Removes carries that never change, and rows that are returned unchanged, from a scan's body.

    Returns: a tuple (body, whose first constants are the removed carries; flags of the removed
      carries; for each stacked result, the index of the array that it equals, or None if it is
      computed).
    """
    jaxpr = closed.jaxpr
    if any(map(_IS_HIGH, jaxpr.invars)):
        return closed, (False,) * n_carry, (None,) * (len(jaxpr.outvars) - n_carry)
    m = n_consts + n_carry
    carry, carry_out = jaxpr.invars[n_consts:m], jaxpr.outvars[:n_carry]
    moved = tuple(map(operator.is_, carry, carry_out))
    rows = jaxpr.invars[m:]
    same = (None,) * (len(jaxpr.outvars) - n_carry)
    if not set(map(id, rows)).isdisjoint(map(id, jaxpr.outvars[n_carry:])):
        place: dict[Any, int] = {v: k for k, v in enumerate(rows)}
        same = tuple([place.get(v) if type(v) is Var else None for v in jaxpr.outvars[n_carry:]])
    if not any(moved) and same.count(None) == len(same):
        return closed, moved, same
    operands = [n_consts + k for k in range(n_carry) if moved[k]]
    operands += [*range(n_consts), *(n_consts + k for k in range(n_carry) if not moved[k])]
    operands += range(m, len(jaxpr.invars))
    results = [k for k in range(n_carry) if not moved[k]]
    results += [n_carry + k for k, source in enumerate(same) if source is None]
    return reordered(closed, operands, results), moved, same


def _unroll_factor(unroll: int | bool | np.integer | np.bool_, length: int) -> int:
    """Returns `unroll` as a number of iterations, which is at least 1; 0 and False mean 1."""
    known: Any = concrete_or_error(None, unroll, "lax.scan: `unroll` must be known.")
    count = known
    if isinstance(known, bool | np.bool_):
        return length if known else 1
    if not isinstance(known, int | np.integer):
        raise TypeError(f"scan: `unroll` must be a bool or an int, but got {known!r}")
    if known < 0:
        raise ValueError(f"scan: `unroll` must be a bool or a non-negative int, but got {known}")
    return int(count) or 1


def _carry_tree(f: Callable[..., Any], traced: Traced) -> pytrees.PyTreeDef:
    out: tuple[Any, ...] | None = traced.out
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"lax.scan: {source_info.fun_sourceinfo(f)} must return a pair (carry, y), but has "
            f"returned {out}.\nInstead: if there is nothing to collect, return carry, None"
        )
    return pytrees.treedef_children(traced.out_tree)[0]


def _length(xs: PyTree, leaves: Sequence[Any], length: int | None) -> int:
    sizes: list[int] = []
    for x in leaves:
        aval: Any = rules.aval_of(x)
        if aval.is_high:  # user-defined types do not include the number of rows
            continue
        shape = aval.shape
        if not shape:
            raise ValueError(
                f"lax.scan: the arrays of `xs` are scanned along axis 0, but {x!r} has rank 0"
            )
        sizes.append(shape[0])
        check_rows_replicated(aval)
    if length is not None:
        length = int(length)
        if any(n != length for n in sizes):
            raise ValueError(
                f"lax.scan: the leading axes of `xs` must have the size length={length}, but have the "
                f"sizes {sizes}; omit `length`, or correct it"
            )
        return length
    if not sizes:
        raise ValueError(
            "lax.scan: `xs` contains no arrays, so the number of iterations must be passed as `length`"
        )
    if len(set(sizes)) > 1:
        listed = ", ".join(map(str, dict.fromkeys(sizes)))
        rows = [
            f"  xs{pytrees.keystr(path)}  {get_aval(x).str_short()}"
            for path, x in pytrees.tree_flatten_with_path(xs)[0]
        ]
        raise ValueError(
            "\n".join(
                [
                    "lax.scan: the arrays of `xs` must have the same size along axis 0, but have "
                    f"{listed}:",
                    *rows,
                ]
            )
        )
    return sizes[0]


def _scan_eagerly(
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    leaves: Sequence[Any],
    tree: pytrees.PyTreeDef,
    length: int,
    reverse: bool,
) -> tuple[Carry, Y]:
    carry = init
    ys: list[Any] = []
    if not length:
        raise ValueError("lax.scan: with zero iterations and within disable_jit, `f` is not called, so "
                         "the types of its results are unknown")  # fmt: skip
    order = range(length - 1, -1, -1) if reverse else range(length)
    for i in order:
        carry, y = f(carry, pytrees.tree_unflatten(tree, [x[i] for x in leaves]))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, pytrees.tree_map(lambda *rows: stack(rows), *ys)
