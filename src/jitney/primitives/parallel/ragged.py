"""`ragged_all_to_all`: an exchange of rows among devices, with any number of rows for each pair.

Device i sends `send_sizes[j]` rows of its operand, starting at row `input_offsets[j]`, to each
device j, which stores them in its output, starting at row `output_offsets[j]`. Sizes and offsets
are arrays, whose elements may differ from device to device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.tracing import communication
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray
from jitney.primitives import calculus, rules
from jitney.primitives.array import broadcasting, shape as shapes
from jitney.primitives.control.mapping import map as map_rows
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.select import select
from jitney.primitives.indexing.gather import index_take
from jitney.primitives.parallel.all_to_all import all_to_all_p
from jitney.primitives.parallel.collectives import (
    axis_extent,
    checked_groups,
    has_name,
    in_groups,
    names_of,
    varying_along,
)
from jitney.transforms.batch import AxisData
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, AxisName
    from jitney.primitives.parallel.collectives import Groups
    from jitney.primitives.rule_types import BatchDim, Cotangent, Dims, Operand, Value

ragged_all_to_all_p = declare("ragged_all_to_all")
ragged_all_to_all_p.communication(communication.of_collective)

_NAMES = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


@ragged_all_to_all_p.abstract
def _ragged_all_to_all_abstract(
    operand: ShapedArray, output: ShapedArray, *numbers: ShapedArray, axis_name: AxisName,
    axis_index_groups: Groups,
) -> ShapedArray:  # fmt: skip
    if operand.dtype != output.dtype or operand.shape[1:] != output.shape[1:]:
        raise ValueError(
            "ragged_all_to_all: operand and output must have the same dtype and rows of the same "
            f"shape, got {operand.str_short()} and {output.str_short()}"
        )
    if not operand.ndim or not output.ndim:
        raise ValueError("ragged_all_to_all: operand and output must have rows, got scalars")
    for name, x in zip(_NAMES, numbers, strict=True):
        if x.ndim != 1 or x.dtype.kind not in "iu" or x.shape != numbers[0].shape:
            raise ValueError(
                f"ragged_all_to_all: {', '.join(_NAMES)} must be integers of rank 1, one for each "
                f"device, but {name} is {x.str_short()}"
            )
    return output


ragged_all_to_all_p.absent(
    "eager", "lower", why="runs within `shard_map`, which batches it over its devices"
)


# --- over devices ---------------------------------------------------------------------------------


@ragged_all_to_all_p.batch_with_axis
def _ragged_all_to_all_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: tuple[AxisName, ...],
    axis_index_groups: Groups,
) -> tuple[Value, BatchDim]:  # fmt: skip
    if not has_name(axis_data, axis_name):
        return _of_rows(axis_data, args, dims, axis_name, axis_index_groups)
    if axis_index_groups is not None:
        return in_groups(
            ragged_all_to_all_p, axis_data, args, dims, axis_name=axis_name,
            axis_index_groups=axis_index_groups,
        )  # fmt: skip
    n = axis_data.size
    front = [rules.to_front(x, d, n) for x, d in zip(args, dims, strict=True)]
    operand, output, starts, sizes, targets, _ = front
    rows_in, rows_out = rules.shape_of(operand)[1], rules.shape_of(output)[1]
    # For each sender, receiver and row of the receiver's output: whether it is sent, and its source
    # row.
    kind = rules.aval_of(starts).dtype
    cube = (n, n, rows_out)
    row = calculus.iota(dtype=kind, shape=cube, dimension=2)
    start, size, target = [
        broadcasting.broadcast_in_dim(x, cube, (0, 1)) for x in (starts, sizes, targets)
    ]
    place = calculus.sub(row, target)
    is_sent = calculus.and_(calculus.ge(place, rules.const(place, 0)), calculus.lt(place, size))
    sender = calculus.iota(dtype=kind, shape=cube, dimension=0)
    source = calculus.add(
        calculus.mul(sender, rules.const(sender, rows_in)), calculus.add(start, place)
    )
    nothing, first = rules.const(source, -1), rules.const(source, 0)
    source = calculus.reduce_max(
        select(is_sent, source, broadcasting.broadcast(nothing, cube)), axes=(0,)
    )  # shape: (receivers, rows)
    received = calculus.ge(source, first)
    all_rows = shapes.reshape(operand, (n * rows_in, *rules.shape_of(operand)[2:]))
    if not n * rows_in:
        return output, 0
    shape = rules.shape_of(output)
    flat = shapes.reshape(calculus.max(source, first), (n * rows_out,))
    rows_sent = shapes.reshape(index_take(all_rows, (flat,), (0,)), shape)
    return select(broadcasting.broadcast_in_dim(received, shape, (0, 1)), rows_sent, output), 0


def _of_rows(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, axis_name: AxisName, groups: Groups
) -> tuple[Value, int]:
    """Batches a `ragged_all_to_all` along an axis other than the one of the exchange.

    If the sizes and offsets are unbatched, the batch axis becomes an axis of each row. Otherwise,
    the operation is applied to one element of the batch after another.
    """
    params = {"axis_name": axis_name, "axis_index_groups": groups}
    if all([d is None for d in dims[2:]]):
        operand, output = [
            rules.move_axis(rules.to_front(x, d, axis_data.size), 0, 1)
            for x, d in zip(args[:2], dims[:2], strict=True)
        ]
        return ragged_all_to_all_p.bind(operand, output, *args[2:], **params), 1
    front = [rules.to_front(x, d, axis_data.size) for x, d in zip(args, dims, strict=True)]
    return map_rows(lambda xs: ragged_all_to_all_p.bind(*xs, **params), tuple(front)), 0


# --- derivatives ----------------------------------------------------------------------------------

rules.def_jointly_linear_jvp(ragged_all_to_all_p, 2)


@ragged_all_to_all_p.transpose
def _ragged_all_to_all_transpose(
    ct: Cotangent, operand: Operand, output: Operand, starts: Value, sizes: Value, targets: Value,
    received: Value, *, axis_name: tuple[AxisName, ...], axis_index_groups: Groups,
) -> Sequence[Cotangent | None]:  # fmt: skip
    nothing: list[Any] = [None] * 4
    if isinstance(ct, Zero):
        return [
            Zero(x.aval) if rules.is_linear(x) else None for x in (operand, output)
        ] + nothing  # fmt: skip

    def told(x: Value) -> Array:
        """Exchanges the entries of `x`: each device receives those for it from all devices."""
        (name,) = axis_name
        return all_to_all_p.bind(
            x, split_axis=0, concat_axis=0, axis_name=name, axis_index_groups=axis_index_groups,
            tiled=True,
        )  # fmt: skip

    where = told(targets)
    operand_ct = output_ct = None
    if rules.is_linear(operand):
        operand_ct = ragged_all_to_all_p.bind(
            ct, rules.zeros_like(operand), where, received, told(starts), sizes,
            axis_name=axis_name, axis_index_groups=axis_index_groups,
        )  # fmt: skip
    if rules.is_linear(output):
        n, rows = rules.shape_of(where)[0], rules.shape_of(ct)[0]
        kind = rules.aval_of(where).dtype
        row = calculus.iota(dtype=kind, shape=(n, rows), dimension=1)
        place = calculus.sub(row, broadcasting.broadcast_in_dim(where, (n, rows), (0,)))
        is_new = calculus.and_(
            calculus.ge(place, rules.const(place, 0)),
            calculus.lt(place, broadcasting.broadcast_in_dim(received, (n, rows), (0,))),
        )
        is_new = calculus.reduce_or(is_new, axes=(0,))
        shape = rules.shape_of(ct)
        output_ct = select(
            broadcasting.broadcast_in_dim(is_new, shape, (0,)), rules.zeros_like(output), ct
        )
    return [operand_ct, output_ct, *nothing]


def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: AxisName,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> Array:
    """Sends rows from each device to each device; the number of rows can differ for each pair.

    Args:
      operand: the rows to send, an array [rows, ...].
      output: the initial result, an array [rows, ...] of the same dtype; rows that are not received
        keep these values.
      input_offsets: the first row to send to each device, integers [devices].
      send_sizes: the number of rows to send to each device.
      output_offsets: for each receiving device, the row of *its* output at which to store the first
        of these rows.
      recv_sizes: the number of rows to receive from each device; it must be the number that the
        device sends.
      axis_name: the name of the axis.
      axis_index_groups: groups of indices that exchange rows among themselves.

    Returns: a copy of `output` with the received rows.

    Raises:
      NameError: if the name is not in scope.
      ValueError: if shapes or dtypes are incompatible.

    Example:
      >>> mesh = jax.make_mesh((1,), ("i",))
      >>> def body(x):
      ...   numbers = [jnp.array([k]) for k in (1, 2, 0, 2)]
      ...   return lax.ragged_all_to_all(x, jnp.zeros(3), *numbers, axis_name="i")
      >>> jax.shard_map(body, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))(jnp.arange(3.0))
      Array([1., 2., 0.], dtype=float32)
    """
    names = names_of(axis_name, "ragged_all_to_all")
    if len(names) != 1:
        raise ValueError(f"ragged_all_to_all: axis_name must be a single name, but is {names}")
    groups = checked_groups(axis_index_groups, axis_extent(names[0], "ragged_all_to_all"))
    operands = [
        as_value(x) for x in (output, input_offsets, send_sizes, output_offsets, recv_sizes)
    ]
    return ragged_all_to_all_p.bind(
        varying_along(as_value(operand), names),
        *operands,
        axis_name=names,
        axis_index_groups=groups,
    )
