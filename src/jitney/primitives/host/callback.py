"""Callbacks: `pure_callback`, `io_callback`, `debug_callback`, `debug_print`.

A callback is a host call in the compiled program, to which the program passes the data of the
operands; the user's function receives arrays. Callbacks with effects run exactly once each, in
program order, even if they are unordered: program order is one of the permitted orders. Pure
callbacks run whenever their results are needed.

While the function runs, the evaluating trace is current, and no lock is held. The function may
therefore call jitted functions, including the one that called it.
"""

from __future__ import annotations

import functools
import logging
import os
import traceback
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.diagnostics import tracebacks
from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.core.messages import messages
from jitney.core.program import text
from jitney.core.program.jaxpr import JaxprEqn
from jitney.core.program.key_reuse import uses_keys
from jitney.core.pytree import pytrees
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.tracing.trace import set_current_trace, state
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.types.effects import (
    Effect,
    debug_effect,
    io_effect,
    ordered_debug_effect,
    ordered_io_effect,
)
from jitney.primitives import calculus, rules
from jitney.primitives.control.scan import scan
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.arrays.array import ArrayImpl, array_from_numpy
from jitney.transforms.batch import AxisData

if TYPE_CHECKING:
    from typing import NoReturn

    from jitney.compiler.hlo.ir import HostCall
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

T = TypeVar("T")

# The logger names are those of JAX, by which users filter messages.
_log = logging.getLogger("jax._src.callback")
_debug_log = logging.getLogger("jax._src.debugging")

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all",
                "legacy_vectorized")  # fmt: skip


class FlatCallback:
    """A user's function, wrapped to take flat operands and to return flat results."""

    def __init__(self, callback_func: Callable[..., Any], in_tree: pytrees.PyTreeDef) -> None:
        self.callback_func = callback_func
        self.in_tree = in_tree

    def __call__(self, *leaves: Value) -> list[object]:
        args, kwargs = pytrees.tree_unflatten(self.in_tree, leaves)
        return pytrees.tree_leaves(self.callback_func(*args, **kwargs))

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.callback_func!r}, in_tree={self.in_tree})"


# --- calling ------------------------------------------------------------------------------------


def _call(function: Callable[..., T], values: Sequence[np.ndarray], avals: Sequence[Any]) -> T:
    """Calls `function` in eager mode with strongly typed arrays, which are copies of `values`."""
    arrays = [
        array_from_numpy(np.array(x, order="C"), a.strip_weak_type())
        for x, a in zip(values, avals, strict=True)
    ]
    with set_current_trace(state.eval_trace):
        return function(*arrays)


def _logged_call(
    name: str,
    function: Callable[..., T],
    values: Sequence[np.ndarray],
    avals: Sequence[Any],
) -> T:
    """Calls `function` like `_call`, and logs exceptions as errors of the operation `name`."""
    try:
        return _call(function, values, avals)
    except Exception as error:
        tracebacks.drop_own_frames(error)
        _log_failure(name, error)
        raise


def _log_failure(name: str, error: Exception) -> None:
    """Logs the exception of a callback if the application has a log handler.

    Without a handler, Python would write the exception to stderr, although the raised error shows
    it.
    """
    is_debug = name.startswith("debug_")
    log = _debug_log if is_debug else _log
    if log.hasHandlers():
        shown = name.replace("_", ".", 1) if is_debug else name
        log.error("jax.%s failed", shown, exc_info=error)


def _failed(name: str, error: Exception, callback: Callable[..., Any]) -> JaxRuntimeError:
    """Returns the error that a program raises if a callback fails, with the user's traceback."""
    tracebacks.drop_own_frames(error)
    trace = "".join(traceback.format_exception(error)).rstrip("\n")
    if error.__traceback__ is None:  # there is no frame in user code, so name the function
        trace = f"{name} of {_described(callback)}\n{trace}"
    return JaxRuntimeError(f"INTERNAL: CpuCallback error calling callback: {trace}")


def _described(callback: Callable[..., Any]) -> str:
    """Returns the name of a user's function and its source location: "host (model.py:11)"."""
    function: Any = callback.callback_func if isinstance(callback, FlatCallback) else callback
    while isinstance(function, functools.partial):
        function = function.func
    name: str = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return name
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def _checked(results: Sequence[Any], avals: Sequence[ShapedArray]) -> list[np.ndarray]:
    """Checks the results of a callback against `avals`; returns their data."""
    if len(results) != len(avals):
        raise RuntimeError(
            "according to its result_shape_dtypes, a callback must return "
            f"{messages.counted(len(avals), 'array')}, but it returned {len(results)}"
        )
    values: list[np.ndarray] = []
    for i, (x, aval) in enumerate(zip(results, avals, strict=True)):
        x = getattr(x, "_value", x) if dtypes.is_extended(aval.dtype) else np.asarray(x)
        wanted = dtypes.physical_dtype(aval.dtype)
        got = dtypes.canonicalize_dtype(x.dtype)
        if x.shape != aval.shape or got != wanted:
            which = "the result" if len(avals) == 1 else f"result {i}"
            part = "dtype" if x.shape == aval.shape else "shape"
            needed, actual = (wanted, got) if part == "dtype" else (aval.shape, x.shape)
            raise RuntimeError(
                f"{which} of a callback must be of {part} {needed}, by its result_shape_dtypes, "
                f"but is of {part} {actual}"
            )
        values.append(np.array(x, wanted, order="C"))
    return values


def _values_of(
    name: str,
    callback: Callable[..., Any],
    values: Sequence[np.ndarray],
    avals: Sequence[AbstractValue],
    result_avals: Sequence[ShapedArray],
) -> list[np.ndarray]:
    """Calls a callback on the data of its operands; returns the data of its results.

    Raises:
      JaxRuntimeError: with the traceback of the exception that the callback raised.
    """
    try:
        results = _logged_call(name, callback, values, avals)
        return _checked(results, result_avals)
    except Exception as error:
        raise _failed(name, error, callback) from None  # the message contains the original error


def call_of(
    b: Builder,
    name: str,
    callback: Callable[..., Any],
    avals: Sequence[AbstractValue],
    nodes: Sequence[Node],
    result_avals: Sequence[ShapedArray],
    ordered: bool,
) -> list[Node]:
    """Adds a host call of a callback to the program that `b` builds; returns its results.

    Args:
      b: builder of the program.
      name: name of the call in the program's text.
      callback: function of arrays that returns a sequence of arrays.
      avals: types of the operands.
      nodes: the operands.
      result_avals: types of the results.
      ordered: whether the callback is called exactly once, in program order.
    """

    def host(*values: np.ndarray) -> list[np.ndarray]:
        return _values_of(name, callback, values, avals, result_avals)

    types = [lowering.tensor_type(a) for a in result_avals]
    return b.host_call(name, host, nodes, types, ordered=ordered)


def _data(args: Sequence[Any]) -> tuple[list[np.ndarray], list[ShapedArray]]:
    """Returns (data, types) of operands that are not traced."""
    arrays: list[Any] = [as_value(x) for x in args]  # outside of traces, so all operands have data
    return [x._data() for x in arrays], [x.aval for x in arrays]


# --- pure_callback and io_callback ----------------------------------------------------------------

pure_callback_p = declare("pure_callback", multiple_results=True)
io_callback_p = declare("io_callback", multiple_results=True)
io_callback_p.effectful = True


@pure_callback_p.abstract
def _pure_callback_abstract(
    *avals: AbstractValue, result_avals: tuple[ShapedArray, ...], **_: Any
) -> list[ShapedArray]:
    return list(result_avals)


@io_callback_p.abstract
def _io_callback_abstract(
    *avals: AbstractValue, result_avals: tuple[ShapedArray, ...], ordered: bool, **_: Any
) -> tuple[list[ShapedArray], Effects]:
    effect: Effect = ordered_io_effect if ordered else io_effect
    return list(result_avals), frozenset({effect})


def _returning(prim: Primitive, ordered: bool) -> None:
    """Sets the evaluation and lowering rules of a primitive whose callback returns values."""

    @prim.def_impl
    def def_impl_rule(
        *args: Value, callback: Callable[..., Any], result_avals: Sequence[ShapedArray], **_: Any
    ) -> list[ArrayImpl]:
        values, avals = _data(args)
        outs = _values_of(prim.name, callback, values, avals, result_avals)
        return [array_from_numpy(x, a) for x, a in zip(outs, result_avals, strict=True)]

    @prim.lower_with_avals
    def lower_with_avals_rule(
        b: Builder,
        avals: Sequence[ShapedArray],
        *nodes: Node,
        callback: Callable[..., Any],
        result_avals: Sequence[ShapedArray],
        **_: Any,
    ) -> list[Node]:
        return call_of(b, prim.name, callback, avals, nodes, result_avals, ordered)

    prim.absent("eager", why="its `impl` calls the function with arrays")


_returning(pure_callback_p, ordered=False)
_returning(io_callback_p, ordered=True)


@pure_callback_p.jvp
def _pure_callback_jvp(primals: Primals, tangents: Tangents, **_: Any) -> NoReturn:
    raise ValueError(
        "pure_callback has no derivative, as its function is opaque: define a rule with "
        "jax.custom_jvp or jax.custom_vjp for the function that calls it"
    )


@io_callback_p.jvp
def _io_callback_jvp(primals: Primals, tangents: Tangents, **_: Any) -> NoReturn:
    raise ValueError(
        "io_callback has no derivative, as its function is opaque: define a rule with "
        "jax.custom_jvp or jax.custom_vjp for the function that calls it"
    )


@pure_callback_p.transpose
def _pure_callback_transpose(cts: Sequence[Cotangent], *args: Operand, **_: Any) -> NoReturn:
    raise ValueError(
        "Pure callbacks do not support transpose, as it is unknown whether they are linear."
    )


@io_callback_p.transpose
def _io_callback_transpose(cts: Sequence[Cotangent], *args: Operand, **_: Any) -> NoReturn:
    raise ValueError("io_callback has no transpose: it is not linear in any of its operands")


def _with_rows(avals: Sequence[ShapedArray], size: int) -> tuple[ShapedArray, ...]:
    return tuple(a.update(shape=(size, *a.shape)) for a in avals)


def _row_by_row(
    prim: Primitive, args: Sequence[Value], dims: Dims, unroll: int, params: dict[str, Any]
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    """Batches a callback by calling it once for each index of the batch axis, one after another."""
    rows = [rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None]

    def step(_: Any, row: Sequence[Value]) -> tuple[tuple[()], Sequence[Value]]:
        values = iter(row)
        return (), prim.bind(
            *(x if d is None else next(values) for x, d in zip(args, dims, strict=True)), **params
        )

    outs = scan(step, (), rows, unroll=unroll)[1]
    return outs, [0] * len(outs)


@pure_callback_p.batch
def _pure_callback_batch(
    args: Sequence[Value],
    dims: Dims,
    *,
    vmap_method: str | None,
    result_avals: Sequence[ShapedArray],
    **params: object,
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    size = rules.batch_size(args, dims)
    kept = {"vmap_method": vmap_method, **params}
    if vmap_method in ("sequential", "sequential_unrolled"):
        unroll = size if vmap_method == "sequential_unrolled" else 1
        kept["result_avals"] = result_avals
        return _row_by_row(pure_callback_p, args, dims, unroll, kept)
    if vmap_method == "legacy_vectorized":
        moved = [
            x if d is None else rules.move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)
        ]
    elif vmap_method in ("expand_dims", "broadcast_all"):
        extent = 1 if vmap_method == "expand_dims" else size
        moved = [
            rules.to_front(x, d, extent if d is None else size)
            for x, d in zip(args, dims, strict=True)
        ]
    else:
        listed = ", ".join(map(repr, VMAP_METHODS[:-1]))
        raise NotImplementedError(
            "vmap of pure_callback: `vmap_method` specifies how to call the function, and "
            f"must be {listed} or {VMAP_METHODS[-1]!r}, but is {vmap_method=}"
        )
    outs = pure_callback_p.bind(*moved, result_avals=_with_rows(result_avals, size), **kept)
    return outs, [0] * len(outs)


@io_callback_p.batch
def _io_callback_batch(
    args: Sequence[Value], dims: Dims, *, ordered: bool, **params: object
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    if ordered:
        raise ValueError(
            "io_callback: calls with ordered=True must run one after another, but vmap batches them; "
            "pass ordered=False, or use lax.map instead of vmap"
        )
    return _row_by_row(io_callback_p, args, dims, 1, {"ordered": ordered, **params})


def _by_each_device(prim: Primitive) -> None:
    """Sets the rule for programs on several devices: the devices make the call one after another.

    The calls of each device are made in the order of its program. A pure callback with the same
    operands on all devices is called only once. As in JAX, ordered `debug_print` and
    `debug_callback` are rejected, since devices have no order.
    """

    @prim.over_devices
    def over_devices_rule(
        axis_data: AxisData, args: Sequence[Value], dims: Dims, **params: object
    ) -> tuple[Sequence[Value], Sequence[BatchDim]]:
        ordered = params.get("ordered") or params.get("effect") is ordered_debug_effect
        if ordered and prim is not io_callback_p and axis_data.size > 1:
            raise ValueError(
                f"{prim.name}: ordered=True is not supported over the {axis_data.size} devices of "
                "an axis, which have no order: omit `ordered`"
            )
        if "partitioned" in params:  # the operands are already shards
            params["partitioned"] = False
        if prim is pure_callback_p and all([d is None for d in dims]):
            outs = prim.bind(*args, **params)
            return outs, [None] * len(outs)
        rows = [
            prim.bind(
                *[x if d is None else index_axis(x, i, d) for x, d in zip(args, dims, strict=True)],
                **params,
            )
            for i in range(axis_data.size)
        ]
        outs = [
            calculus.concatenate(*[rules.to_front(x, None, 1) for x in row], dimension=0)
            for row in zip(*rows, strict=True)
        ]
        return outs, [0] * len(outs)


_by_each_device(pure_callback_p)
_by_each_device(io_callback_p)

# --- debug_callback and debug_print ---------------------------------------------------------------

debug_callback_p = declare("debug_callback", multiple_results=True)
debug_callback_p.effectful = True
debug_print_p = declare("debug_print", multiple_results=True)
debug_print_p.effectful = True


@debug_callback_p.abstract
def _debug_callback_abstract(
    *avals: AbstractValue, effect: Effect, **_: Any
) -> tuple[list[AbstractValue], Effects]:
    return [], frozenset({effect})


@debug_print_p.abstract
def _debug_print_abstract(
    *avals: AbstractValue, ordered: bool, **_: Any
) -> tuple[list[AbstractValue], Effects]:
    return [], frozenset({ordered_debug_effect if ordered else debug_effect})


def print_values(
    *values: Value,
    fmt: str,
    has_placeholders: bool,
    in_tree: pytrees.PyTreeDef,
    static_args: tuple[tuple[int, Any], ...],
    np_printoptions: Sequence[tuple[str, Any]],
    logging_record: logging.LogRecord | None,
    **_: Any,
) -> None:
    """Formats `fmt` with the values, and prints or logs the text."""
    args, kwargs = pytrees.tree_unflatten(in_tree, with_static(values, static_args))
    with np.printoptions(**dict(np_printoptions)):
        shown = (
            fmt.format(*args, **kwargs) if has_placeholders else " ".join(map(str, (fmt, *args)))
        )
    if logging_record is None:
        print(shown)
    else:
        record = logging.makeLogRecord({**vars(logging_record), "msg": shown, "args": ()})
        logging.getLogger(record.name).handle(record)


def with_static(values: Sequence[Any], static: Sequence[tuple[int, Any]]) -> list[object]:
    """Inserts the leaves that are not arrays into `values`, at their positions."""
    leaves: list[object] = list(values)
    for position, x in static:
        leaves.insert(position, x)
    return leaves


def _parts_of(args: Sequence[Value]) -> list[list[Value]]:
    """Returns, for each device, the operands of its call: its shards of arrays on several devices.

    Operands on a single device are the same in all calls.
    """
    divided = [isinstance(x, ArrayImpl) and x.sharding.num_devices > 1 for x in args]
    shards = [
        [shard.data for shard in cast("ArrayImpl", x).addressable_shards] if is_divided else []
        for x, is_divided in zip(args, divided, strict=True)
    ]
    return [
        [own[k] if own else x for own, x in zip(shards, args, strict=True)]
        for k in range(max(map(len, shards), default=0) or 1)
    ]


def _part(b: Builder, x: Node, place: Sharding, k: int) -> Node:
    """Slices the shard of `x` on device number `k` according to the sharding `place`."""
    index = place.tiling(len(x.shape)).indices(x.shape)[k]
    bounds = [part.indices(n) for part, n in zip(index, x.shape, strict=True)]
    starts, limits, strides = zip(*bounds, strict=True) if bounds else ((), (), ())
    return b.slice(x, starts, limits, strides)


def _silent(prim: Primitive, function_of: Callable[[dict[str, Any]], Callable[..., Any]]) -> None:
    """Sets the rules of a callback without results.

    `function_of`(params) returns the Python function to call.
    """

    @prim.def_impl
    def def_impl_rule(*args: Value, **params: object) -> list[Value]:
        function = function_of(params)
        for operands in _parts_of(args) if params["partitioned"] else [args]:
            _logged_call(prim.name, function, *_data(operands))
        return []

    prim.lower_with_avals(functools.partial(_lower_silent, prim, function_of))

    @prim.jvp
    def jvp_rule(
        primals: Primals, tangents: Tangents, **params: object
    ) -> tuple[Sequence[Value], Sequence[Tangent]]:
        return prim.bind(*primals, **params), []

    @prim.batch
    def batch_rule(
        args: Sequence[Value], dims: Dims, **params: object
    ) -> tuple[Sequence[Value], Sequence[BatchDim]]:
        for i in range(rules.batch_size(args, dims)):
            prim.bind(
                *(x if d is None else index_axis(x, i, d) for x, d in zip(args, dims, strict=True)),
                **params,
            )
        return [], []

    _by_each_device(prim)
    prim.absent("eager", why="its `impl` calls the function with arrays")
    prim.absent("transpose", why="it has no result")


def _lower_silent(
    prim: Primitive,
    function_of: Callable[[dict[str, Any]], Callable[..., Any]],
    b: Builder,
    avals: Sequence[ShapedArray],
    *nodes: Node,
    **params: object,
) -> list[Node]:
    """Adds a host call, or one call per device if it is partitioned and shardings are known."""
    from jitney.compiler.hlo.sharding_propagation import ANY_CALL, PartBuilder, PlacementBuilder

    function = function_of(params)

    def call(avals: Sequence[ShapedArray], nodes: Sequence[Node]) -> None:
        def host(*values: np.ndarray) -> tuple[()]:
            try:
                _logged_call(prim.name, function, values, avals)
            except Exception as error:
                raise _failed(prim.name, error, function) from None
            return ()

        b.host_call(prim.name, host, nodes, (), ordered=True)

    if not params["partitioned"] or not isinstance(b, PartBuilder):
        call(avals, nodes)
        if params["partitioned"] and isinstance(b, PlacementBuilder):
            b.calls_on_parts.append(cast("HostCall", b.ordered[-1]))
        return []
    places = b.places_of(ANY_CALL) or ()
    for k in range(places[0].num_devices if places else 1):
        parts = [_part(b, x, place, k) for x, place in zip(nodes, places, strict=True)]
        call([a.update(shape=x.shape) for a, x in zip(avals, parts, strict=True)], parts)
    return []


_silent(debug_callback_p, lambda params: params["callback"])
_silent(debug_print_p, lambda params: lambda *values: print_values(*values, **params))


def index_axis(x: Value, i: int, axis: int) -> Array:
    """Returns x[i] along `axis`."""
    shape = rules.shape_of(x)
    start, limit = [0] * len(shape), list(shape)
    start[axis], limit[axis] = i, i + 1
    row = calculus.slice(
        x, start_indices=tuple(start), limit_indices=tuple(limit), strides=(1,) * len(shape)
    )
    return calculus.squeeze(row, dimensions=(axis,))


def _print_debug_callback(
    eqn: JaxprEqn, context: text.Context, settings: text.Settings
) -> text.Doc:
    shown = [(k, str(v)) for k, v in sorted(eqn.params.items())]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["debug_callback"] = _print_debug_callback

# Inspecting a key does not consume it.
uses_keys(debug_callback_p)
uses_keys(debug_print_p)
