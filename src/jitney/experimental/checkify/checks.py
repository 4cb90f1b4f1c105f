"""`check`: the operation that asserts a condition in a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.pytree import pytrees
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import get_aval, is_valid_operand
from jitney.experimental.checkify.error import (
    NO_ERROR,
    Check,
    Error,
    ErrorEffect,
    FailedCheckError,
    next_code,
)
from jitney.primitives import rules
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.select import select_n
from jitney.primitives.elementwise.unary import bitwise_not

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effect
    from jitney.core.typing import ArrayLike, PyTree
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Primals, Tangents, Value
    from jitney.transforms.zero import Tangent

# operands: code and payloads of an error; structure: tree structure of the Error
check_p = declare("check", multiple_results=True)
check_p.effectful = True


@check_p.abstract
def _check_abstract(
    *_: AbstractValue, structure: pytrees.PyTreeDef, debug: bool
) -> tuple[list[AbstractValue], frozenset[Effect]]:
    return [], frozenset() if debug else frozenset(kinds_of(structure))


def kinds_of(structure: pytrees.PyTreeDef) -> tuple[ErrorEffect, ...]:
    """Returns the kinds of errors of an `Error` with the given tree structure."""
    return tuple(structure.unflatten([None] * structure.num_leaves).payload)


@check_p.def_impl
def _check_def_impl(*operands: Value, structure: pytrees.PyTreeDef, debug: bool) -> list[Value]:
    if not debug:
        structure.unflatten(operands).throw()
    return []


@check_p.lower
def _check_lower(_b: Builder, *_: Node, structure: pytrees.PyTreeDef, debug: bool) -> list[Node]:
    if not debug:
        raise ValueError(
            "Cannot abstractly evaluate a checkify.check, because compiled programs cannot raise "
            "exceptions. Apply checkify.checkify to the function, and jit the result"
        )
    return []


@check_p.jvp
def _check_jvp(
    primals: Primals, _tangents: Tangents, **params: Any
) -> tuple[list[Value], list[Tangent]]:
    check_p.bind(*primals, **params)
    return [], []


@check_p.batch
def _check_batch(
    args: Sequence[Value], dims: Dims, *, structure: pytrees.PyTreeDef, debug: bool
) -> tuple[list[Value], list[BatchDim]]:
    size = next(get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    leaves = [rules.to_front(x, d, size) for x, d in zip(args, dims, strict=True)]
    error = one_error(structure.unflatten(leaves), last=True)
    check_p.bind(*pytrees.tree_leaves(error), structure=structure, debug=debug)
    return [], []


check_p.absent("eager", why="it raises an error or has no effect: its implementation is for arrays")
check_p.absent("transpose", why="it has no results, so it receives no cotangents")


def one_error(error: Error, last: bool = False) -> Error:
    """Selects the first (or the last) error along the leading axis that has occurred."""
    from jitney import lax

    failed = lax.ne(error.code, np.int32(NO_ERROR))
    if last:
        place = lax.sub(np.int32(len(failed) - 1), lax.argmax(lax.rev(failed, (0,)), 0, np.int32))
    else:
        place = lax.argmax(failed, 0, np.int32)

    def pick(x: Any) -> Value:
        return lax.dynamic_index_in_dim(x, place, 0, keepdims=False)

    return pytrees.tree_map(pick, error)


def make_error(kind: ErrorEffect, check: Check, failed: Value, payload: Sequence[Value]) -> Error:
    """Returns the error of a single check; it has occurred if the scalar `failed` is True."""
    code = next_code()
    return Error(
        select_n(failed, as_value(np.int32(NO_ERROR)), as_value(np.int32(code))),
        {kind: payload},
        {code: check},
    )


def check(
    pred: ArrayLike, msg: str, *fmt_args: PyTree, debug: bool = False, **fmt_kwargs: PyTree
) -> None:
    """Asserts that `pred` is True.

    In eager mode a failed check raises an error. A jitted function that contains checks must be
    transformed by `checkify.checkify`, which returns failed checks as part of the result.

    Args:
      pred: a boolean scalar.
      msg: error message, a format string such as `"{} is not {x}"`.
      *fmt_args: arrays, or pytrees of them, for the positional fields of `msg`.
      debug: whether to ignore the check unless `checkify` is applied.
      **fmt_kwargs: arrays, or pytrees of them, for the named fields of `msg`.

    Raises:
      TypeError: if `pred` is not a boolean scalar, or if a format argument contains no arrays.
      IndexError, KeyError: if `msg` has a field without an argument.
      JaxRuntimeError: in eager mode, if the check fails.

    Example:
      >>> from jax.experimental import checkify
      >>> checkify.check(jnp.array(True), "it is not")
    """
    _check("check", pred, msg, debug, fmt_args, fmt_kwargs)


def debug_check(pred: ArrayLike, msg: str, *fmt_args: PyTree, **fmt_kwargs: PyTree) -> None:
    """Asserts that `pred` is True, like `check`, but only if `checkify` is applied.

    Args:
      pred: a boolean scalar.
      msg: as for `check`.
      *fmt_args: as for `check`.
      **fmt_kwargs: as for `check`.

    Raises:
      TypeError: as for `check`.

    Example:
      >>> from jax.experimental import checkify
      >>> checkify.debug_check(jnp.array(False), "not checked")
    """
    _check("debug_check", pred, msg, True, fmt_args, fmt_kwargs)


def _check(
    name: str, pred: Any, msg: str, debug: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    aval = get_aval(pred) if is_valid_operand(pred) else None
    if aval is None or aval.shape != () or aval.dtype != np.bool_:
        raise TypeError(
            f"checkify.{name} takes a scalar pred as argument, which must be boolean, but got {pred}"
        )
    payload, tree = pytrees.tree_flatten((args, kwargs))
    for x in payload:
        if not hasattr(x, "shape"):
            raise TypeError(
                f"Formatting arguments of checkify.{name} must be arrays, or pytrees of them, but "
                f"one is {x!r} of type {type(x).__name__}; include constants in the message itself"
            )
    msg.format(*args, **kwargs)
    avals = [get_aval(x) for x in payload]
    kind = ErrorEffect(FailedCheckError, tuple([ShapeDtypeStruct(a.shape, a.dtype) for a in avals]))
    failure = Check(kind, msg, tree, f" (`{name}` failed)")
    error = make_error(kind, failure, bitwise_not(as_value(pred)), list(map(as_value, payload)))
    _bind(error, debug)


def _bind(error: Error, debug: bool) -> None:
    leaves, structure = pytrees.tree_flatten(error)
    check_p.bind(*map(as_value, leaves), structure=structure, debug=debug)


def check_error(error: Error) -> None:
    """Raises the exception of an error that has occurred.

    Within a function that is transformed by `checkify`, this is a check that fails with the given
    error.

    Args:
      error: an error that a checked function returned. If it holds several errors, the first one
        that has occurred is used.

    Raises:
      TypeError: if `error` is not an `Error`.
      JaxRuntimeError: in eager mode, if a check has failed.

    Example:
      >>> from jax.experimental import checkify
      >>> error, y = checkify.checkify(jnp.sqrt)(jnp.float32(4.0))
      >>> checkify.check_error(error)
    """
    value: object = error  # may be of any type at run time
    if not isinstance(value, Error):
        raise TypeError(
            "checkify.check_error: `error` must be an Error that a checked function returned, but "
            f"got {type(error).__name__}"
        )
    while np.shape(error.code):
        error = one_error(error)
    _bind(error, False)
