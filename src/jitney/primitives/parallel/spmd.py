"""A single program for all devices of a process.

The devices of a process share its memory, and run the same program. Instead of N copies of it that
wait for each other at each collective, one program computes the shards of all devices: each mesh
axis becomes an axis of the arrays, and collectives become operations along these axes, as under
`vmap`. Values that do not depend on the device are computed once. Kernels loop over the shards of
all devices, and are distributed over all threads; no thread waits for another, so there are no
deadlocks.

A loop or branch whose condition differs between devices runs for all of them, as under `vmap`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.manual_axes import NOT_MANUAL
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding_in_types import varying
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.primitives import calculus, rules
from jitney.primitives.array import broadcasting, shape as shapes
from jitney.primitives.parallel import untyped
from jitney.transforms.batch import AxisData, batch_flat, move_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitney.core.typing import Array, AxisName, Value

Axes = tuple[tuple[Any, int], ...]
Specs = tuple[PartitionSpec, ...]


@memoize_by_identity
def over_devices(jaxpr: Jaxpr, axes: Axes, in_specs: Specs, out_specs: Specs) -> ClosedJaxpr:
    """Returns the program of global arrays that runs `jaxpr` on the shards of all devices.

    Args:
      jaxpr: the program of one device.
      axes: (name, size) of the mesh axes.
      in_specs: specs of the operands.
      out_specs: specs of the results.
    """
    sizes = dict(axes)
    evaluate = untyped.evaluate if untyped.has_types(jaxpr) else eval_jaxpr

    def program(*operands: Value) -> list[Value]:
        outs, stacked = on_parts(lambda *xs: evaluate(jaxpr, (), *xs), axes, in_specs, operands)
        return [
            joined(x, names, spec, sizes)
            for x, names, spec in zip(outs, stacked, out_specs, strict=True)
        ]

    avals = [_whole(v.aval, spec, sizes) for v, spec in zip(jaxpr.invars, in_specs, strict=True)]
    info = DebugInfo("shard_map", jaxpr.debug_info.func_src_info)
    traced, _, consts = trace_to_jaxpr(program, avals, info)
    return ClosedJaxpr(traced, consts)


def on_parts(
    fun: Callable[..., Sequence[Any]], axes: Axes, in_specs: Specs, operands: Sequence[Value]
) -> tuple[Sequence[Value], list[list[tuple[AxisName, int]]]]:
    """Evaluates a function of one device's shards for all devices.

    Args:
      fun: the function.
      axes: (name, size) of the mesh axes.
      in_specs: specs of the operands.
      operands: the operands, global arrays.

    Returns: (the results, each stacked over devices; for each result, the (name, size) of the mesh
      axes along which devices have different values). These mesh axes are its leading axes.
    """
    mentions = [_mentioned(spec) | spec.unreduced for spec in in_specs]
    varies: dict[Any, list[bool]] = {}

    def level(k: int, *values: Value) -> Sequence[Value]:
        if k == len(axes):
            return fun(*values)
        name, size = axes[k]
        outs, dims = batch_flat(
            lambda *xs: level(k + 1, *xs),
            AxisData(name, size, of_devices=True),
            values,
            [0 if name in mentioned else None for mentioned in mentions],
        )
        varies[name] = [d is not None for d in dims]
        return [x if d is None else move_to(x, d, 0, size) for x, d in zip(outs, dims, strict=True)]

    parts = [_cut(x, spec, axes) for x, spec in zip(operands, in_specs, strict=True)]
    outs = level(0, *parts)
    return outs, [[axis for axis in axes if varies[axis[0]][i]] for i in range(len(outs))]


def _mentioned(spec: PartitionSpec) -> frozenset[AxisName]:
    return frozenset([name for entry in spec for name in names_of(entry)])


def _whole(aval: AbstractValue, spec: PartitionSpec, sizes: dict[Any, int]) -> AbstractValue:
    if not isinstance(aval, ShapedArray):
        return aval
    shape = list(aval.shape)
    for axis, entry in enumerate(spec):
        for name in names_of(entry):
            shape[axis] *= sizes[name]
    return varying.typed(aval.update(shape=tuple(shape), sharding=None), NOT_MANUAL)


def _cut(x: Value, spec: PartitionSpec, axes: Axes) -> Value:
    """Splits `x` into shards: adds a leading axis for each mesh axis in `spec`, in mesh order.

    Mesh axes along which `spec` is unreduced are included: the first device along such an axis has
    `x`, and the others have zeros.
    """
    stacked = [(name, size) for name, size in axes if name not in spec.unreduced]
    x = divided(x, spec, stacked)
    front = _mentioned(spec) | spec.unreduced
    for k, (name, size) in enumerate([(name, size) for name, size in axes if name in front]):
        if name in spec.unreduced:
            x = broadcasting.expand_dims(x, (k,))
            widths = [(0, size - 1 if axis == k else 0, 0) for axis in range(len(x.shape))]
            x = calculus.pad(x, rules.const(x, 0), padding_config=tuple(widths))
    return x


def divided(x: Value, spec: PartitionSpec, axes: Sequence[tuple[Any, int]]) -> Value:
    """Splits `x` into shards, with a leading axis for each of `axes` that it is sharded along."""
    sizes = dict(axes)
    shape: list[int] = []
    places: dict[Any, int] = {}  # positions of the mesh axes among the axes of the reshaped array
    inner_axes: list[int] = []
    for axis, extent in enumerate(rules.shape_of(x)):
        for name in names_of(spec[axis]) if axis < len(spec) else ():
            places[name] = len(shape)
            shape.append(sizes[name])
            extent //= sizes[name]
        inner_axes.append(len(shape))
        shape.append(extent)
    if not places:
        return x
    order = [places[name] for name, _ in axes if name in places]
    return _transposed(shapes.reshape(x, tuple(shape)), (*order, *inner_axes))


def joined(
    x: Value, stacked: Sequence[tuple[Any, int]], spec: PartitionSpec, sizes: dict[Any, int]
) -> Value:
    """Inverts `_cut`, for an array whose leading axes are the mesh axes `stacked`.

    Along mesh axes that `spec` does not mention, the shard of the first device is taken. Along mesh
    axes along which `spec` is unreduced, the partial sums are added.
    """
    mentioned = _mentioned(spec)
    k = 0
    names: list[Any] = []
    times = math.prod(
        [sizes[name] for name in spec.unreduced.difference([name for name, _ in stacked])]
    )
    if times > 1:  # equal partial sums
        x = calculus.mul(x, rules.const(x, times))
    for name, _ in stacked:
        if name in mentioned:
            names.append(name)
            k += 1
        elif name in spec.unreduced:
            x = calculus.reduce_sum(x, axes=(k,))
        else:
            x = shapes.squeeze(_first(x, k), (k,))
    shape = rules.shape_of(x)[k:]
    for name in mentioned.difference(names):  # equal on all devices: repeat
        x = rules.to_front(x, None, sizes[name])
        names.insert(0, name)
        k += 1
    if not names:
        return x
    order: list[int] = []
    merged: list[int] = []
    for axis, extent in enumerate(shape):
        for name in names_of(spec[axis]) if axis < len(spec) else ():
            order.append(names.index(name))
            extent *= sizes[name]
        order.append(k + axis)
        merged.append(extent)
    return shapes.reshape(_transposed(x, tuple(order)), tuple(merged))


def _first(x: Value, axis: int) -> Array:
    from jitney.primitives.indexing.slice import slice_in_dim

    return slice_in_dim(x, 0, 1, axis=axis)


def _transposed(x: Value, order: tuple[int, ...]) -> Value:
    return x if order == tuple(range(len(order))) else shapes.transpose(x, order)
