"""`psend` and `precv`: the two halves of a permutation along named axes, connected by a token.

A `precv` receives from the first preceding `psend` with the same axes and permutation that has no
partner yet. The token orders the operations and has no data. Both operations are batched by the
trace of the axis, which keeps sent values until they are received (`_waiting`).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.shape_dtype import abstractify
from jitney.core.pytree import pytrees
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding_in_types import varying
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import AbstractValue, ShapedArray, abstract_token
from jitney.core.types.effects import Effect, control_flow_allowed_effects, lowerable_effects
from jitney.primitives import rules
from jitney.primitives.array.tokens import create_token
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.parallel.collectives import checked_names, has_name, names_of, varying_along
from jitney.primitives.parallel.permute import checked_pairs, ppermute_p

if TYPE_CHECKING:
    from jitney.core.recording.compat import Token
    from jitney.core.tracing.trace import TraceTag
    from jitney.core.types.effects import Effects
    from jitney.core.typing import ArrayLike, AxisName, PyTree
    from jitney.primitives.rule_types import BatchDim, Dims, Value
    from jitney.transforms.batch import BatchTrace

Perm = tuple[tuple[int, int], ...]


class SingleSideCollectiveEffect(Effect):
    """The effect of half an exchange, which keeps it from dead code elimination."""

    def __repr__(self) -> str:
        return "SingleSideCollectiveEffect()"

    __str__ = __repr__


_effect = SingleSideCollectiveEffect()
lowerable_effects.add_type(SingleSideCollectiveEffect)
control_flow_allowed_effects.add_type(SingleSideCollectiveEffect)

psend_p = declare("psend")
precv_p = declare("precv")
for _prim in (psend_p, precv_p):
    _prim.effectful = True
    _prim.absent(
        "eager", "lower", why="batched over the axis, it is a permutation of the array's rows"
    )
    _prim.absent("jvp", "transpose", why="JAX has none; `ppermute` has derivatives")

# Batching trace -> (axes, permutation) -> values that were sent and not received yet.
_waiting: weakref.WeakKeyDictionary[TraceTag, dict[Any, list[tuple[Any, int | None]]]]
_waiting = weakref.WeakKeyDictionary()


@psend_p.abstract
def _psend_abstract(
    x: AbstractValue, *, axis_name: tuple[AxisName, ...], perm: Perm
) -> tuple[AbstractValue, Effects]:
    return abstract_token, {_effect}


psend_p.varying(varying.as_declared)


@precv_p.abstract
def _precv_abstract(
    token: AbstractValue, *, out_shape: ShapedArray, axis_name: tuple[AxisName, ...], perm: Perm
) -> tuple[AbstractValue, Effects]:
    if token is not abstract_token:
        raise TypeError(f"precv: expected a token, from psend or create_token, but got {token}")
    axes = ManualAxisType(varying=checked_names(axis_name))
    return out_shape.update(manual_axis_type=axes) if axes else out_shape, {_effect}


# Its type depends on whether the axes in scope are checked, so it is not cached.
precv_p.is_memoized = False


@psend_p.batch_with_trace
def _psend_batch_with_trace(
    trace: BatchTrace, args: Sequence[Value], dims: Dims, *, axis_name: tuple[AxisName, ...],
    perm: Perm,
) -> tuple[Value | Token, BatchDim]:  # fmt: skip
    axis_data = trace.axis_data
    if not has_name(axis_data, axis_name):  # the received value has the batch axis in front
        whole = rules.to_front(args[0], dims[0], axis_data.size)
        return psend_p.bind(whole, axis_name=axis_name, perm=perm), None
    permuted = ppermute_p.rules["batch_with_axis"](
        axis_data, args, dims, axis_name=axis_name, perm=perm
    )
    _waiting.setdefault(trace.tag, {}).setdefault((axis_name, perm), []).append(permuted)
    return create_token(), None


@precv_p.batch_with_trace
def _precv_batch_with_trace(
    trace: BatchTrace, args: Sequence[Value], dims: Dims, *, out_shape: ShapedArray,
    axis_name: tuple[AxisName, ...], perm: Perm,
) -> tuple[Value, BatchDim]:  # fmt: skip
    axis_data = trace.axis_data
    if not has_name(axis_data, axis_name):
        wide = out_shape.update(shape=(axis_data.size, *out_shape.shape))
        return precv_p.bind(args[0], out_shape=wide, axis_name=axis_name, perm=perm), 0
    sent = _waiting.get(trace.tag, {}).get((axis_name, perm))
    if not sent:
        raise ValueError(
            f"precv along {axis_name} by the permutation {perm}: there is no matching psend. A "
            "psend with the same axes and the same permutation must precede it in the same "
            "function or loop body"
        )
    value, d = sent.pop(0)
    shape = list(rules.shape_of(value))
    if d is not None:
        del shape[d]
    if tuple(shape) != out_shape.shape or rules.aval_of(value).dtype != out_shape.dtype:
        raise ValueError(
            f"precv along {axis_name} by the permutation {perm} must receive "
            f"{out_shape.str_short()}, but the value that was sent is "
            f"{rules.aval_of(value).dtype}{shape}"
        )
    return value, d


def psend(x: ArrayLike, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Token:
    """Sends `x` to other instances: the first half of `ppermute`.

    Args:
      x: the array to send.
      axis_name: the name of the axis, or a tuple of names.
      perm: pairs (source, destination) of indices; all sources, and all destinations, are distinct.

    Returns: a token for `precv`, or for `optimization_barrier` to order exchanges.

    Raises:
      NameError: if a name is not in scope.
      ValueError: if a source or a destination occurs twice or is out of range.
      NotImplementedError: if it is differentiated; `ppermute` supports derivatives.

    Example:
      >>> mesh = jax.make_mesh((1,), ("i",))
      >>> def body(x):
      ...   token = lax.psend(x, "i", [(0, 0)])
      ...   return lax.precv(token, x, "i", [(0, 0)])
      >>> jax.shard_map(body, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))(jnp.arange(2))
      Array([0, 1], dtype=int32)
    """
    names = names_of(axis_name, "psend")
    value = varying_along(as_value(x), names)
    return psend_p.bind(value, axis_name=names, perm=checked_pairs(perm, names, "psend"))


def precv(
    token: Any, out_shape: PyTree, axis_name: AxisName, perm: Sequence[tuple[int, int]]
) -> PyTree:
    """Receives a value that another instance sent by `psend`: the second half of `ppermute`.

    Args:
      token: a token from `psend` or `create_token`.
      out_shape: an object with the shape and dtype of the received value, such as a
        `ShapeDtypeStruct`, or a pytree of such objects.
      axis_name: the name of the axis, or a tuple of names.
      perm: the pairs (source, destination) that were passed to `psend`.

    Returns: the received array, or zeros on devices that receive nothing. Within `shard_map` its
      type varies along the axes; in JAX it does not.

    Raises:
      NameError: if a name is not in scope.
      ValueError: if no value of this type was sent with this permutation; if a source or a
        destination occurs twice or is out of range.
    """
    names = names_of(axis_name, "precv")
    leaves, tree = pytrees.tree_flatten(out_shape)
    kinds = [abstractify(leaf) for leaf in leaves]
    pairs = checked_pairs(perm, names, "precv")
    out = [
        precv_p.bind(
            token, out_shape=ShapedArray(kind.shape, kind.dtype), axis_name=names, perm=pairs
        )
        for kind in kinds
    ]
    return pytrees.tree_unflatten(tree, out)
