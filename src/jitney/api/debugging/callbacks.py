"""Python functions that are called from compiled programs.

`pure_callback`, `io_callback`, `debug.callback`, `debug.print` and `debug.log`.
"""

from __future__ import annotations

import logging
import string
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.source import source_info
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, is_valid_operand, shaped_array
from jitney.core.types.effects import debug_effect, ordered_debug_effect
from jitney.primitives.host.callback import (
    VMAP_METHODS,
    FlatCallback,
    debug_callback_p,
    debug_print_p,
    io_callback_p,
    pure_callback_p,
    with_static,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jitney.core.program.shape_dtype import ShapeDtypeStruct
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import ArrayLike, Params, PyTree, Value

# --- callbacks that return values -----------------------------------------------------------------


def _result_aval(spec: ShapeDtypeStruct) -> ShapedArray:
    dtype = spec.dtype
    if not dtypes.is_extended(dtype) and dtypes.canonicalize_dtype(dtype) != np.dtype(dtype):
        raise ValueError(
            f"result_shape_dtypes: the dtype {np.dtype(dtype).name} requires `jax_enable_x64`, as all "
            f"64-bit dtypes do; use {dtypes.canonicalize_dtype(dtype).name}"
        )
    return shaped_array(tuple(spec.shape), dtype)


def _bind(
    name: str,
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    args: Sequence[PyTree],
    kwargs: dict[str, PyTree],
) -> tuple[list[Value], Params, pytrees.PyTreeDef]:
    """Returns the flat operands, the common parameters and the result structure of a callback."""
    leaves, in_tree = pytrees.tree_flatten((args, kwargs))
    for position, x in enumerate(leaves):
        if not is_valid_operand(x):
            raise TypeError(
                f"{name}: operands must be arrays or scalars, but the one at position {position} "
                f"is of type {type(x)}; bind such values with functools.partial"
            )
    specs, out_tree = pytrees.tree_flatten(result_shape_dtypes)
    params = {
        "callback": FlatCallback(callback, in_tree),
        "result_avals": tuple(_result_aval(s) for s in specs),
        "sharding": None,
    }
    return leaves, params, out_tree


@api_boundary
def pure_callback(
    callback: Callable[..., PyTree],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: Sharding | None = None,
    vmap_method: str | None = None,
    **kwargs: PyTree,
) -> PyTree:
    """Calls `callback`, a Python function without side effects, from compiled code.

    The number of calls is unspecified: the function is not called if its result is unused, and may
    be called more than once.

    Args:
      callback: a function that takes arrays, and returns arrays with the structure, shapes and
        dtypes of `result_shape_dtypes`.
      result_shape_dtypes: a pytree of objects with `shape` and `dtype`.
      *args: pytrees of arrays.
      sharding: accepted for compatibility; it has no effect.
      vmap_method: the behavior under `vmap`. With "sequential", `callback` is called once for each
        index. With "expand_dims" and "broadcast_all" it is called once, on operands with an extra
        leading axis; for unmapped operands, this axis has size 1 or is broadcast, respectively.
        "legacy_vectorized" passes unmapped operands unchanged. With None, `vmap` raises an error.
      **kwargs: pytrees of arrays.

    Returns: a pytree of arrays with the structure of `result_shape_dtypes`.

    Raises:
      JaxRuntimeError: if the callback raises, or its result does not match `result_shape_dtypes`.
      ValueError: if `vmap_method` is unknown.

    Example:
      >>> import numpy as np
      >>> reverse = lambda x: np.asarray(x)[::-1]
      >>> x = jnp.arange(3)
      >>> jax.jit(lambda x: jax.pure_callback(reverse, x, x) + 1)(x)
      Array([3, 2, 1], dtype=int32)
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        allowed = [*VMAP_METHODS, None]
        raise ValueError(
            f"pure_callback: `vmap_method` must be one of {allowed}, but is {vmap_method!r}"
        )
    leaves, params, tree = _bind("pure_callback", callback, result_shape_dtypes, args, kwargs)
    outs = pure_callback_p.bind(*leaves, **params, vmap_method=vmap_method)
    return pytrees.tree_unflatten(tree, outs)


@api_boundary
def io_callback(
    callback: Callable[..., PyTree],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: Sharding | None = None,
    ordered: bool = False,
    **kwargs: PyTree,
) -> PyTree:
    """Calls `callback`, a Python function with side effects, from compiled code.

    The function is called exactly once each time the program reaches the call.

    Args:
      callback: a function that takes arrays, and returns arrays with the structure, shapes and
        dtypes of `result_shape_dtypes`.
      result_shape_dtypes: a pytree of objects with `shape` and `dtype`, or None.
      *args: pytrees of arrays.
      sharding: accepted for compatibility; it has no effect.
      ordered: whether calls are made in program order; `vmap` raises an error for ordered
        callbacks.
      **kwargs: pytrees of arrays.

    Returns: a pytree of arrays with the structure of `result_shape_dtypes`.

    Raises:
      JaxRuntimeError: if the callback raises, or its result does not match `result_shape_dtypes`.
    """
    leaves, params, tree = _bind("io_callback", callback, result_shape_dtypes, args, kwargs)
    outs = io_callback_p.bind(*leaves, **params, ordered=ordered)
    return pytrees.tree_unflatten(tree, outs)


# --- callbacks for debugging ----------------------------------------------------------------------


def _operands(
    args: Sequence[PyTree], kwargs: dict[str, PyTree]
) -> tuple[list[Value], tuple[tuple[int, object], ...], pytrees.PyTreeDef]:
    """Splits arguments into (array leaves, other leaves with their positions, structure)."""
    leaves, tree = pytrees.tree_flatten((args, kwargs))
    static = tuple((i, x) for i, x in enumerate(leaves) if not is_valid_operand(x))
    return [x for x in leaves if is_valid_operand(x)], static, tree


def _refuse_arguments(name: str, args: Sequence[PyTree], kwargs: dict[str, PyTree]) -> None:
    if args or kwargs:
        raise TypeError(
            f"{name}: a call without a callback takes only options, but got {args=} {kwargs=}; pass "
            "the operands to the function that this call returns"
        )


@api_boundary
def debug_callback(
    callback: Callable[..., None] | None = None,
    *args: PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: PyTree,
) -> Callable[..., None] | None:
    """Calls callback(*args, **kwargs) for its side effects each time the program reaches this call.

    Transformations keep the call: under `grad`, `callback` receives the primal values; under
    `vmap`, it is called once for each index.

    Args:
      callback: a function whose result is ignored. Leaves that are arrays are passed as arrays, and
        all other leaves unchanged. If `callback` is omitted, a function is returned that takes the
        callback and its arguments.
      *args: pytrees.
      ordered: whether calls are made in program order.
      partitioned: whether `callback` is called by each device on its shards, instead of once on the
        global arrays.
      **kwargs: pytrees.
    """

    def _debug_callback(callback: Callable[..., None], *args: PyTree, **kwargs: PyTree) -> None:
        if not callable(callback):
            raise TypeError(
                "jax.debug.callback: `callback` must be a function, but is of type "
                f"{type(callback)}; "
                "jax.debug.print takes a format string"
            )
        operands, static, tree = _operands(args, kwargs)

        def _flat_callback(*values: ArrayLike) -> None:
            args, kwargs = pytrees.tree_unflatten(tree, with_static(values, static))
            callback(*args, **kwargs)

        effect = ordered_debug_effect if ordered else debug_effect
        debug_callback_p.bind(
            *operands, callback=_flat_callback, effect=effect, partitioned=partitioned
        )

    if callback is not None:
        return _debug_callback(callback, *args, **kwargs)
    _refuse_arguments("debug_callback", args, kwargs)
    return _debug_callback


class _FormatChecker(string.Formatter):
    """A formatter that only checks whether a format string uses all arguments."""

    def format_field(self, value: object, format_spec: str) -> str:
        return ""

    def check_unused_args(
        self, used_args: Iterable[int | str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(
                "jax.debug.print: each argument must be used in the format string, but "
                f"{unused} are not; write {{}} for each value"
            )
        names = [k for k in kwargs if k not in used_args]
        if names:
            raise ValueError(
                "jax.debug.print: each argument must be used in the format string, but "
                f"{names} are not. An f-string inserts values during tracing: pass a plain string, "
                '"{x}" and x=x'
            )


_checker = _FormatChecker()


def _record() -> logging.LogRecord:
    """Returns a log record that refers to the line of user code being executed."""
    place = source_info.current()
    code = place.code
    filename = "unknown" if code is None else code.co_filename
    line = 0 if code is None else place.position()[0]
    return logging.LogRecord("jax._src.debugging", logging.INFO, filename, line, "", (), None)


@api_boundary
def debug_print(
    fmt: str | None = None,
    *args: PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: PyTree,
) -> Callable[..., None] | None:
    """Prints fmt.format(*args, **kwargs) each time the program reaches this call.

    Args:
      fmt: a format string. Do not use an f-string, which is formatted while the function is traced,
        and therefore shows tracers. If `fmt` is omitted, a function is returned that takes the
        format string and its arguments.
      *args: the values to print: pytrees of arrays or of any other objects.
      ordered: whether the output is in program order.
      partitioned: whether each device prints its shards, instead of the global arrays being printed
        once.
      skip_format_check: whether to allow arguments that `fmt` does not use.
      **kwargs: further values to print.

    Raises:
      IndexError, KeyError: if `fmt` refers to an argument that was not passed.
      ValueError: if `fmt` does not use an argument.
    """
    record = _record() if _use_logging else None

    def _debug_print(fmt: object, *args: PyTree, **kwargs: PyTree) -> None:
        if not isinstance(fmt, str):
            raise TypeError(
                f"jax.debug.print: expected str as the format string, got {type(fmt).__name__}"
            )
        if not skip_format_check:
            _checker.format(fmt, *args, **kwargs)
        operands, static, tree = _operands(args, kwargs)
        debug_print_p.bind(
            *operands,
            fmt=fmt,
            has_placeholders=any(
                name is not None for _, name, _, _ in string.Formatter().parse(fmt)
            ),
            in_tree=tree,
            logging_record=record,
            np_printoptions=tuple(np.get_printoptions().items()),
            ordered=ordered,
            partitioned=partitioned,
            static_args=static,
        )

    if fmt is not None:
        return _debug_print(fmt, *args, **kwargs)
    _refuse_arguments("debug_print", args, kwargs)
    return _debug_print


def debug_log(
    fmt: str | None = None,
    *args: PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = True,
    **kwargs: PyTree,
) -> Callable[..., None] | None:
    """Logs like `debug_print`, at level INFO, attributed to the calling line."""
    return debug_print(
        fmt,
        *args,
        ordered=ordered,
        partitioned=partitioned,
        skip_format_check=skip_format_check,
        _use_logging=_use_logging,
        **kwargs,
    )


for _name, _function in (("callback", debug_callback), ("print", debug_print), ("log", debug_log)):
    _function.__module__ = "jax.debug"
pure_callback.__module__ = "jax"
io_callback.__module__ = "jax.experimental"
