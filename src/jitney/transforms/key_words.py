"""Unpacking of PRNG keys into words, to compile programs on keys of generators other than Threefry.

Keys of Threefry-2x32 are 64-bit integers and need no unpacking. Keys of other generators have any
number of words. In the programs that users see, keys are elements of arrays. Before such a program
is compiled or run, an array of keys [*shape] is replaced by the array of their words, uint32
[*shape, n].

Most operations on keys only move them. On arrays of words, such an operation is the same operation
batched over the additional axis. Operations that read keys have a rule for the words of their
operands, in the slot `key_words`. Programs that are parameters of operations are converted.
"""

# The data of arrays (`_data`) is private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jitney.compiler import lower
from jitney.core.program.evaluate import evaluate_by
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import Primitive, declare_slot, evaluators
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval, shaped_array
from jitney.runtime.arrays.array import ArrayImpl, array_from_numpy, words_of_keys
from jitney.runtime.execution.eager import owned
from jitney.transforms.algebra import algebra
from jitney.transforms.batch import BATCH, BATCH_WITH_AXIS, AxisData, batch_flat, move_to

if TYPE_CHECKING:
    from jitney.core.typing import Value

# (types of the operands, *operands with keys as words, **params) -> result, or list of results
KEY_WORDS = declare_slot("key_words")

_U32 = np.dtype(np.uint32)


def n_words(aval: AbstractValue) -> int:
    """Returns the number of words into which keys of a type are unpacked; 0 for other types."""
    return dtypes.words_of_key(aval.dtype) if isinstance(aval, ShapedArray) else 0


def in_words(aval: AbstractValue) -> AbstractValue:
    """Returns the type of the words of keys of type `aval`; other types are returned unchanged."""
    n = n_words(aval)
    return shaped_array((*aval.shape, n), _U32) if n else aval


def words_of(keys: ArrayImpl) -> ArrayImpl:
    """Returns the words of an array of keys, sharing its memory."""
    words = words_of_keys(keys._data(), keys.aval).reshape(*keys.shape, n_words(keys.aval))
    return array_from_numpy(words, shaped_array(words.shape, words.dtype))


def keys_of(words: ArrayImpl, aval: ShapedArray) -> ArrayImpl:
    """Returns the array of keys of type `aval` with the words `words`."""
    data = np.ascontiguousarray(words._data())
    keys = data.reshape(-1).view(dtypes.physical_dtype(aval.dtype))
    return array_from_numpy(keys.reshape(aval.shape), aval)


def _shape(x: Value) -> tuple[int, ...]:
    return get_aval(x).shape


# --- operations -----------------------------------------------------------------------------------


def apply(
    primitive: Primitive,
    avals: Sequence[AbstractValue],
    values: Sequence[Any],
    params: Mapping[str, Any],
) -> list[Any]:
    """Returns the results of an operation, in which keys are replaced by words.

    Args:
      primitive: the operation.
      avals: the types of its operands.
      values: the operands, in which keys are replaced by words.
      params: its parameters.
    """
    rule = KEY_WORDS.rule_of(primitive)
    if rule is not None:
        out = rule(avals, *values, **params)
    elif any(True for _ in jaxprs_in_params(params)):
        out = primitive.bind(*values, **primitive.get_bind_params(_programs_in_words(params)))
    else:
        out = _batched(primitive, avals, values, params)
    return list(out) if primitive.multiple_results else [out]


def _batched(
    primitive: Primitive,
    avals: Sequence[AbstractValue],
    values: Sequence[Any],
    params: Mapping[str, Any],
) -> Any:
    """Returns the results of an operation that moves keys, computed on their words by batching."""
    axis = AxisData(None, max(map(n_words, avals), default=0))
    dims = [len(a.shape) if n_words(a) else None for a in avals]
    with_axis, rule = BATCH_WITH_AXIS.rule_of(primitive), BATCH.rule_of(primitive)
    if with_axis is not None:
        out, dim = with_axis(axis, values, dims, **params)
    elif rule is not None:
        out, dim = rule(values, dims, **params)
    else:
        raise NotImplementedError(f"primitive '{primitive}' has no rule for keys of several words")

    def last(x: Value, d: int | None) -> Value:
        return x if d is None else algebra.move_axis(x, d, len(_shape(x)) - 1)

    if not primitive.multiple_results:
        return last(out, dim)
    all_dims = [dim] * len(out) if dim is None or isinstance(dim, int) else dim
    return [last(x, d) for x, d in zip(out, all_dims, strict=True)]


def _programs_in_words(params: Mapping[str, Any]) -> dict[str, object]:
    def replaced(x: object) -> object:
        return program_in_words(x) if isinstance(x, Jaxpr) else x

    def of(x: object) -> object:
        if type(x) is tuple:
            return tuple([replaced(part) for part in cast("tuple[object, ...]", x)])
        return replaced(x)

    return {name: of(value) for name, value in params.items()}


# --- programs -------------------------------------------------------------------------------------


@memoize_by_identity
def program_in_words(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Returns `closed` with keys replaced by words, or `closed` itself if it has none."""
    if not _has_keys(closed.jaxpr):
        return closed

    def run(*args: Value) -> list[Value]:
        return evaluate_in_words(closed, args)

    avals = [in_words(aval) for aval in closed.in_avals]
    jaxpr, _, consts = trace_to_jaxpr(run, avals, closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts)


def evaluate_in_words(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Value]:
    """Returns the results of `closed`, with keys as words in operands and results."""
    consts = [
        words_of(x) if n_words(v.aval) else x
        for v, x in zip(closed.jaxpr.constvars, closed.consts, strict=True)
    ]
    return evaluate_by(_apply_to_words, closed.jaxpr, consts, args)


def _apply_to_words(eqn: JaxprEqn, values: list[Any]) -> Sequence[Value]:
    """Returns the results of an equation, with keys as words in operands and results."""
    if _concerns_keys(eqn):
        return apply(eqn.primitive, [atom.aval for atom in eqn.invars], values, eqn.params)
    out = eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(eqn.params))
    return out if eqn.primitive.multiple_results else [out]


def _concerns_keys(eqn: JaxprEqn) -> bool:
    return any(n_words(v.aval) for v in (*eqn.invars, *eqn.outvars)) or any(
        _has_keys(x) for x in jaxprs_in_params(eqn.params)
    )


@memoize_by_identity
def _has_keys(jaxpr: Jaxpr) -> bool:
    """Returns whether a program contains keys that are unpacked."""
    variables = (*jaxpr.constvars, *jaxpr.invars)
    return any(n_words(v.aval) for v in variables) or any(map(_concerns_keys, jaxpr.eqns))


# --- outside of programs --------------------------------------------------------------------------


class _KeysOfWords:
    """An evaluator that applies operations on unpacked keys to their words."""

    def concerns(self, avals: Sequence[AbstractValue]) -> bool:
        """Implements `Evaluator.concerns`."""
        return any(map(n_words, avals))

    def evaluate(
        self,
        primitive: Primitive,
        avals: Sequence[AbstractValue],
        args: Sequence[Any],
        params: dict[str, Any],
        out: Any,
    ) -> object:
        """Implements `Evaluator.evaluate`."""
        arrays = [x if type(x) is ArrayImpl else owned(x) for x in args]
        values = [words_of(x) if n_words(a) else x for a, x in zip(avals, arrays, strict=True)]
        results = apply(primitive, avals, values, params)
        out_avals: Sequence[Any] = out if primitive.multiple_results else [out]
        keys = [keys_of(x, a) if n_words(a) else x for x, a in zip(results, out_avals, strict=True)]
        return keys if primitive.multiple_results else keys[0]


_evaluator = _KeysOfWords()


def install() -> None:
    """Installs the unpacking of keys in evaluation and lowering."""
    evaluators.install(_evaluator)
    lower.transforms.install(program_in_words)


def over_axes(fun: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[..., Value]:
    """Returns `fun`, a function of a single key, batched over the axes of arrays of keys.

    Args:
      fun: the function.
      shapes: for each operand, the sizes of its leading axes that are batched. They broadcast
        against each other. An operand is not batched along axes that it lacks or whose size is one;
        generators that draw for a whole batch at once depend on this.
    """
    n_axes = max(map(len, shapes))
    if n_axes == 0:
        return fun
    own = [len(shape) == n_axes for shape in shapes]
    extents = [shape[0] for shape, has in zip(shapes, own, strict=True) if has]
    size = 1 if set(extents) == {1} else next(n for n in extents if n != 1)
    mapped = [has and shape[0] == size for shape, has in zip(shapes, own, strict=True)]
    inner = over_axes(fun, *[s[1:] if has else s for s, has in zip(shapes, own, strict=True)])

    def batched(*args: Any) -> Value:
        operands = [
            x[0] if has and not is_mapped else x
            for x, has, is_mapped in zip(args, own, mapped, strict=True)
        ]
        dims = [0 if is_mapped else None for is_mapped in mapped]
        axis = AxisData(None, size)
        (out,), (dim,) = batch_flat(lambda *xs: [inner(*xs)], axis, operands, dims)
        return move_to(out, dim, 0, size)

    return batched
