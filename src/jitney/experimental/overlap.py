"""`jax.experimental.overlap`: functions whose operations are executed in the order of the program.

The compiler may fuse or reorder operations that do not depend on each other. In a function with a
program order, they are executed in the order in which they are recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jitney.api.jit.signature import (
    canonicalize_argnames,
    check_argnames,
    infer_argnums_and_argnames,
    signature_of,
)
from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.source import source_info
from jitney.core.types.avals import get_aval
from jitney.core.typing import PyTree
from jitney.core.util.lazy import listing
from jitney.core.util.wraps import wraps
from jitney.primitives.call.program_order import program_order_p
from jitney.primitives.elementwise.convert import as_value

__all__ = ["program_order"]

__dir__ = listing(__name__)


def program_order(
    f: Callable[..., PyTree] | None = None,
    *,
    enforce: bool,
    strict_in_out: bool | tuple[bool, bool] = False,
    exclude_argnames: str | Sequence[str] | None = None,
) -> Any:
    """Returns `f` such that its operations are executed in the order of the program.

    In jaxprs, calls are single equations. Results do not change.

    Args:
      f: a function of pytrees of arrays. If it is omitted, a decorator is returned.
      enforce: whether to keep the order. If False, the compiler may reorder the operations of `f`,
        even if an enclosing function keeps the order of its own operations.
      strict_in_out: whether the first operation waits for all arguments, and whether all results
        become available together; one value for both, or a pair.
      exclude_argnames: names of arguments that a call does not wait for, if `enforce` is False and
        an enclosing function keeps the order.

    Raises:
      ValueError: if `exclude_argnames` is given with enforce=True, or `strict_in_out` with
        enforce=False; if `strict_in_out` is a sequence of other than two elements; or, when the
        function is called, if a name is not a keyword argument.
      TypeError: if `strict_in_out` is neither a bool nor a tuple or list.

    Example:
      >>> from jax.experimental.overlap import program_order
      >>> f = program_order(lambda x, y: (jnp.sin(x), jnp.exp(y)), enforce=True)
      >>> jax.jit(f)(0.0, 0.0)
      (Array(0., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    """
    if f is None:
        return functools.partial(
            program_order, enforce=enforce, strict_in_out=strict_in_out,
            exclude_argnames=exclude_argnames,
        )  # fmt: skip
    function = f
    strict_in, strict_out = _strictness(strict_in_out, enforce)
    if exclude_argnames is not None and enforce:
        raise ValueError(
            "program_order: `exclude_argnames` can be given only if enforce=False, since operations "
            "in an enforced order wait for all their operands"
        )
    excluded = canonicalize_argnames(exclude_argnames, "exclude_argnames")

    @wraps(f)
    def call(*args: PyTree, **kwargs: PyTree) -> Any:
        mask = _mask(function, excluded, args, kwargs)
        leaves, tree = pytrees.tree_flatten((args, kwargs))
        operands = [as_value(leaf) for leaf in leaves]
        flat = FlatFunction(function, tree, has_kwargs=True)
        info = DebugInfo("jit", source_info.fun_sourceinfo(function))
        jaxpr, _, consts = trace_to_jaxpr(flat, [get_aval(x) for x in operands], info)
        outs = program_order_p.bind(
            *consts,
            *operands,
            call_jaxpr=closed_of(constants_as_operands(jaxpr)),
            enforce=bool(enforce),
            exclude_mask=(False,) * len(consts) + mask,
            strict_in=strict_in,
            strict_out=strict_out,
        )
        return pytrees.tree_unflatten(flat.out_tree, outs)

    return call


def _strictness(strict_in_out: Any, enforce: bool) -> tuple[bool, bool]:
    """Returns whether all operands are awaited first, and whether results appear together."""
    pair = (strict_in_out, strict_in_out) if isinstance(strict_in_out, bool) else strict_in_out
    if not isinstance(pair, tuple | list):
        raise TypeError(
            "program_order: `strict_in_out` must be a bool or a pair of bools, but got "
            f"{strict_in_out!r}"
        )
    if len(pair) != 2:
        raise ValueError(
            "program_order: `strict_in_out` must be a bool, or a pair of bools for arguments and "
            f"results, but got {strict_in_out!r}"
        )
    strict_in, strict_out = bool(pair[0]), bool(pair[1])
    if not enforce and (strict_in or strict_out):
        raise ValueError(
            "program_order: `strict_in_out` can be set only if enforce=True, but got "
            f"{strict_in_out!r} with enforce=False"
        )
    return strict_in, strict_out


def _mask(
    function: Callable[..., PyTree],
    names: tuple[str, ...],
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
) -> tuple[bool, ...]:
    """Returns, for each leaf of the arguments, whether its argument is named in `names`."""
    numbers: tuple[int, ...] = ()
    if names:
        signature = signature_of(function)
        check_argnames(signature, function, names, "exclude_argnames")
        numbers, names = infer_argnums_and_argnames(signature, None, names)
    marks = (
        tuple([pytrees.tree_map(lambda _, m=k in numbers: m, x) for k, x in enumerate(args)]),
        {name: pytrees.tree_map(lambda _, m=name in names: m, x) for name, x in kwargs.items()},
    )
    return tuple(pytrees.tree_leaves(marks))
