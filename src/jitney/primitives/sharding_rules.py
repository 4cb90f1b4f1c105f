"""Sharding rules of operations that move, remove, join or slice axes.

Rules that follow from an index map come first; then those of operations that change the sizes of
axes, for which the numbers of shards decide. A rule is defined here if several primitives share it,
or if it is long; the modules of primitives register them. A result sharding that requires data
movement between devices is rejected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from jitney.core.messages import messages
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding_in_types.explicit import (
    Entries,
    Operation,
    by_index_map,
    elementwise,
    entries_of,
    names_along,
    sharding_of,
)
from jitney.core.types.avals import AbstractValue
from jitney.core.util import index_space
from jitney.core.util.index_space import Dims, IndexMap, plain
from jitney.core.util.record import replace
from jitney.core.util.reshape_groups import reshape_groups


def shape_of(operation: Operation, operand: int) -> tuple[int, ...]:
    """Returns the shape of an operand."""
    return getattr(operation.avals[operand], "shape", ())


# --- rules that follow from index maps --------------------------------------------------------------


@by_index_map
def broadcast_in_dim(operation: Operation) -> IndexMap:
    """Keeps shardings of axes, even of size 1, which only mesh axes of size 1 can shard."""
    new, dims = operation.shapes[0], operation.params["broadcast_dimensions"]
    return IndexMap(new, [tuple([(axis,) for axis in dims])], [plain(len(new))])


@by_index_map
def transpose(operation: Operation) -> IndexMap:
    """Permutes the axes."""
    return index_space.transpose(shape_of(operation, 0), operation.params["permutation"])


@by_index_map
def squeeze(operation: Operation) -> IndexMap:
    """Drops `dimensions`, which are of size 1."""
    shape = shape_of(operation, 0)
    dropped = [axis % len(shape) for axis in operation.params["dimensions"]]
    return index_space.reduction(shape, dropped)


@by_index_map
def reduced(operation: Operation) -> IndexMap:
    """Drops `axes`, for reductions of one or more operands of the same shape.

    Scalar operands, such as initial values, may follow.
    """
    shape = shape_of(operation, 0)
    axes = operation.params.get("axes", operation.params.get("dimensions", ()))
    n = len([spec for spec in operation.specs if len(spec) == len(shape)])
    scalars, results = len(operation.avals) - n, len(operation.shapes)
    return index_space.reduction(shape, axes, operands=n, scalars=scalars, results=results)


@by_index_map
def stack(operation: Operation) -> IndexMap:
    """Combines shardings elementwise; the new axis is replicated."""
    shape, axis = shape_of(operation, 0), operation.params["axis"]
    dims = plain(len(shape))
    return IndexMap(shape, [dims] * len(operation.avals), [(*dims[:axis], (), *dims[axis:])])


@by_index_map
def unstack(operation: Operation) -> IndexMap:
    """Drops `axis`, which must be replicated."""
    shape, axis = shape_of(operation, 0), operation.params["axis"]
    related = index_space.reduction(shape, (axis,), results=len(operation.shapes))
    return replace(related, replicated=frozenset([axis]))


@by_index_map
def bitcast_convert_type(operation: Operation) -> IndexMap:
    """Adds or removes the last axis, which must be replicated."""
    return index_space.bitcast(shape_of(operation, 0), operation.shapes[0])


def replicated_along(param: str, needs: str) -> Callable[[Operation], list[Entries]]:
    """Returns the rule of operations that need the axis named by `param` to be replicated."""

    def index_map(operation: Operation) -> IndexMap:
        shape, whole = shape_of(operation, 0), (operation.params[param],)
        return index_space.elementwise(shape, len(operation.avals), len(operation.shapes), whole)

    return by_index_map(index_map, needs=needs)


def batch_of(core: int | Callable[[dict[str, Any]], int]) -> Callable[..., list[Entries]]:
    """Returns the rule of operations that process a block for each index of their batch axes.

    The last axes of an operand form a block; all other axes are batch axes.

    Args:
      core: the number of axes of a block of the first operand, or a function that returns it for
        the parameters of the operation.
    """

    def index_map(operation: Operation) -> IndexMap:
        n = core(operation.params) if callable(core) else core
        shape = shape_of(operation, 0)
        operands = [len(spec) for spec in operation.specs]
        results = [len(shape) for shape in operation.shapes]
        return index_space.blocks(shape[: len(shape) - n], operands, results)

    return by_index_map(index_map, needs="complete blocks")


def _triangular_solve(operation: Operation) -> IndexMap:
    """Relates axes as in the product of `a`, or its transpose, and `b`.

    The contracted axes must be replicated.
    """
    shape, is_left = shape_of(operation, 1), operation.params["left_side"]
    batch = plain(len(shape) - 2)
    equation, side = len(shape) - 2, len(shape) - 1  # factors
    a: Dims = ((equation,), ()) if is_left != operation.params["transpose_a"] else ((), (equation,))
    b: Dims = ((), (side,)) if is_left else ((side,), ())
    solved: Dims = ((equation,), (side,)) if is_left else ((side,), (equation,))
    return IndexMap(shape, [(*batch, *a), (*batch, *b)], [(*batch, *solved)])


triangular_solve = by_index_map(_triangular_solve, needs="complete unknowns")


@by_index_map
def _convolution(operation: Operation) -> IndexMap:
    """Relates the batch and the spatial axes of lhs, and the features of rhs, to the result."""
    numbers, shape = operation.params["dimension_numbers"], operation.shapes[0]
    lhs: list[tuple[int, ...]] = [()] * len(shape)
    rhs: list[tuple[int, ...]] = [()] * len(shape)
    rhs[numbers.rhs_spec[0]] = (numbers.out_spec[1],)
    for k in (0, *range(2, len(shape))):
        lhs[numbers.lhs_spec[k]] = (numbers.out_spec[k],)
    return IndexMap(shape, [tuple(lhs), tuple(rhs)], [plain(len(shape))])


def convolution(operation: Operation) -> list[Entries]:
    """Takes the batch from lhs, features from rhs, and spatial axes from lhs if sizes permit."""
    (out,) = _convolution(operation)
    for axis, (names, n) in enumerate(zip(out, operation.shapes[0], strict=True)):
        if n % operation.parts(names):
            operation.refuse(
                f"{operation.name}: {n} elements along axis {axis} of the result cannot be "
                f"sharded along {names}"
            )
    return [out]


@by_index_map
def _product(operation: Operation) -> IndexMap:
    contract, batch = operation.params["dimension_numbers"]
    return index_space.dot(shape_of(operation, 0), shape_of(operation, 1), contract, batch)


def dot_general(operation: Operation) -> list[Entries]:
    """Returns shardings of batch axes, then of the free axes of lhs and of rhs.

    If a contracted axis is sharded in one operand only, the other operand is moved, and the result
    is summed over devices. If it is sharded in both, devices have partial sums, and the user must
    choose an `out_sharding`.
    """
    results, (x, y) = _product(operation), operation.specs
    for i, j in zip(*operation.params["dimension_numbers"][0], strict=True):
        if x[i] and y[j]:
            operation.refuse(
                f"dot_general: contracted axis {i} of lhs and {j} of rhs are sharded along "
                f"{x[i]}, so each device has a partial sum. Specify the sharding of the result by "
                "`out_sharding`: reduced, or unreduced by P(..., unreduced={...})"
            )
    return results


def _gather(operation: Operation) -> IndexMap:
    numbers, sizes = operation.params["dimension_numbers"], operation.params["slice_sizes"]
    shape, indices = shape_of(operation, 0), shape_of(operation, 1)
    batching = numbers.operand_batching_dims
    pairs = [*zip(batching, numbers.start_indices_batching_dims, strict=True)]
    gone = (*numbers.collapsed_slice_dims, *batching)
    extents, operand, index, result = index_space.windows(
        shape, indices, sizes, numbers.offset_dims, gone, pairs, len(operation.shapes[0])
    )
    cut_axes = [k for k, n in enumerate(shape) if n != sizes[k] and k not in batching]
    computed = range(len(shape), len(extents))  # factors that occur in the indices only
    replicated = frozenset([*cut_axes, *computed])
    return IndexMap(extents, [operand, index], [result], replicated=replicated)


gather = by_index_map(
    _gather,
    needs="complete axes and indices (or `.at[...].get(out_sharding=)`, which specifies the "
    "sharding of the result)",
)

# --- rules that depend on the number of shards --------------------------------------------------------


def check_broadcast(aval: AbstractValue, like: AbstractValue, place: NamedSharding) -> None:
    """Raises ValueError if an operand to be broadcast is sharded along other axes than the result.

    Axes of the operand that are replicated are accepted.
    """
    new = like.ndim - aval.ndim
    own = entries_of(sharding_of(aval), aval.ndim)
    wanted = entries_of(place, like.ndim)[max(new, 0) :]
    if any([names and names != other for names, other in zip(own, wanted, strict=False)]):
        raise ValueError(
            f"Incompatible types for broadcasting: {aval.str_short()} is sharded along other mesh "
            f"axes than {like.str_short()}"
        )


def check_rows_replicated(aval: AbstractValue) -> None:
    """Raises ValueError if an operand of `scan` is sharded along its leading axis."""
    if names_along(aval, 0):
        raise ValueError(
            "scan iterates over the 0th dimension of all xs, which should be replicated: got "
            f"{aval.str_short()}. Reshard it with jax.sharding.reshard"
        )


def reshape(operation: Operation) -> list[Entries]:
    """Maps shardings within groups of axes with equal products of sizes.

    A merged axis is sharded along the mesh axes of all of its parts, which may move elements
    between devices. If an axis is split, the mesh axes are assigned to the new axes in order, as
    far as sizes permit. Axes of size 1 can be sharded only along mesh axes of size 1. They keep
    their shardings if operand and result have the same number of such axes between the same groups.
    """
    (spec,), old, new = operation.specs, shape_of(operation, 0), operation.shapes[0]
    if operation.params.get("dimensions") is not None and any(spec):
        operation.refuse("reshape with `dimensions` has no rule for sharded operands")
    groups = reshape_groups(old, new)
    if any(spec) and any([len(taken) > 1 < len(made) for taken, made in groups]):
        operation.refuse(
            "This reshape is not supported for a sharded operand: it does more than split or "
            f"merge axes, from {old} to {new}"
        )
    out: list[tuple[Any, ...]] = [()] * len(new)
    for taken, made in groups:
        names = _in_sequence(operation, [(old[k], spec[k]) for k in taken])
        divided = _distributed(operation, names, [new[k] for k in made])
        for axis, own in zip(made, divided, strict=True):
            out[axis] = own
    ones = _axes_of_one(old, itertools.accumulate([len(x) for x, _ in groups], initial=0))
    new_ones = _axes_of_one(new, itertools.accumulate([len(x) for _, x in groups], initial=0))
    for axes, new_axes in zip(ones, new_ones, strict=True):
        if len(axes) == len(new_axes):
            for axis, new_axis in zip(axes, new_axes, strict=True):
                out[new_axis] = spec[axis]
    return [tuple(out)]


def _axes_of_one(shape: Sequence[int], places: Iterable[int]) -> list[list[int]]:
    """Returns, for each number n in `places`, the axes of size 1 behind n axes of other sizes."""
    before = list(itertools.accumulate([n != 1 for n in shape], initial=0))
    return [
        [axis for axis, n in enumerate(shape) if n == 1 and before[axis] == place]
        for place in places
    ]


def _in_sequence(
    operation: Operation, axes: Sequence[tuple[int, tuple[Hashable, ...]]]
) -> list[Hashable]:
    """Returns the mesh axes that shard the merged axes (size, names), in order."""
    names: list[Hashable] = []
    is_open = True  # whether all preceding axes are sharded
    for _, own in axes:
        if own and not is_open:
            operation.refuse(
                "This reshape is not supported: it would merge an unsharded axis with a sharded "
                f"one after it: {axes} (size, sharded along)"
            )
        names += own
        is_open = bool(own)
    return names


def _distributed(
    operation: Operation, names: Sequence[Hashable], extents: Sequence[int]
) -> list[tuple[Hashable, ...]]:
    """Assigns the mesh axes `names` of a split axis to new axes of sizes `extents`, in order."""
    left = list(names)
    out: list[tuple[Hashable, ...]] = []
    for n in extents:
        own: list[Hashable] = []
        while left and n % operation.parts((*own, left[0])) == 0 and n != 1:
            own.append(left.pop(0))
        if left and operation.parts(tuple(own)) != n:
            operation.refuse(
                f"This reshape is not supported: axes of sizes {tuple(extents)} cannot be sharded "
                f"along {tuple(names)}"
            )
        out.append(tuple(own))
    return out


def cut(operation: Operation) -> list[Entries]:
    """Keeps shardings for results that contain a part of the first operand.

    This applies to slices, padding and similar operations. A sharded axis may change its size only
    if the new size is divisible by the number of shards. A single element is replicated.
    """
    spec, old = operation.specs[0], shape_of(operation, 0)
    for shape in operation.shapes:
        if _is_one_element(shape):
            continue
        for axis, (n, m) in enumerate(zip(old, shape, strict=True)):
            if n != m and spec[axis] and m % operation.parts(spec[axis]):
                what = "padding" if operation.name == "pad" else "slicing"
                operation.refuse(
                    f"{what} on sharded dims: {operation.name} changes axis {axis} from {n} to "
                    f"{m} elements, but it is sharded along {spec[axis]} of the mesh into "
                    f"{operation.parts(spec[axis])} shards"
                )
    return [_whole_if_one(spec, shape) for shape in operation.shapes]


def _is_one_element(shape: Sequence[int]) -> bool:
    return all(n == 1 for n in shape)


def _whole_if_one(spec: Entries, shape: Sequence[int]) -> Entries:
    """Returns `spec`, or a replicated spec if `shape` has a single element."""
    return ((),) * len(spec) if _is_one_element(shape) else spec


def dynamic_update_slice(operation: Operation) -> list[Entries]:
    """Requires equal shardings of operand and update; a single element may also be replicated."""
    operand, update = operation.specs[:2]
    if operand != update and (any(update) or not _is_one_element(shape_of(operation, 1))):
        operation.refuse(
            "dynamic_update_slice: the operand and the update must have the same sharding"
        )
    return [operand]


def concatenate(operation: Operation) -> list[Entries]:
    """Combines shardings elementwise; along the concatenated axis, they must be equal."""
    axis = operation.params["dimension"]
    if len({spec[axis] for spec in operation.specs}) > 1:
        listed = ", ".join([repr(PartitionSpec(*spec)) for spec in operation.specs])
        operation.refuse(
            f"concatenate: along axis {axis} all operands must have the same sharding, but their "
            f"shardings are {listed}; reshard some of them with jax.reshard"
        )
    shape = list(operation.shapes[0])
    shape[axis] = 1  # sizes differ along this axis
    out = elementwise(operation, tuple(shape))
    _check_parts(operation, out, axis, "joins")
    return [out]


def split(operation: Operation) -> list[Entries]:
    """Keeps the operand's sharding if it divides results evenly; single elements are replicated."""
    (spec,) = operation.specs
    _check_parts(operation, spec, operation.params["axis"], "cuts")
    return [_whole_if_one(spec, shape) for shape in operation.shapes]


def _check_parts(operation: Operation, spec: Entries, axis: int, does: str) -> None:
    """Raises an error unless results can be sharded evenly along `axis`."""
    for shape in operation.shapes:
        if shape[axis] % operation.parts(spec[axis]) and not _is_one_element(shape):
            operation.refuse(
                f"{operation.name} on sharded dims: it {does} axis {axis}, which is sharded along "
                f"{spec[axis]}, and a result has {messages.counted(shape[axis], 'element')} there"
            )


def tile(operation: Operation) -> list[Entries]:
    """Keeps the shardings of axes that are not repeated; repeated axes must be replicated."""
    (spec,), old, new = operation.specs, shape_of(operation, 0), operation.shapes[0]
    added = len(new) - len(old)
    for axis, (n, m) in enumerate(zip(old, new[added:], strict=True)):
        if n != m and spec[axis]:
            operation.refuse(
                f"tile: axis {axis} cannot be sharded, as tiling is non-trivial there: it is "
                f"sharded along {spec[axis]} and repeated"
            )
    return [(*[()] * added, *spec)]


def as_operand(k: int) -> Callable[[Operation], list[Entries]]:
    """Returns the rule of operations whose result has the shape and sharding of operand `k`."""
    return lambda operation: [operation.specs[k]] * len(operation.shapes)


def fft(operation: Operation) -> list[Entries]:
    """Keeps the sharding of the operand, even along transformed axes, which are gathered."""
    (spec,) = operation.specs
    for axis in range(len(spec)):
        _check_parts(operation, spec, axis, "changes the size of")
    return [spec]


def unreduced_sum(operation: Operation, out_sharding: NamedSharding) -> None:
    """Rejects results that are unreduced along mesh axes along which the sum has no partial sums.

    It has partial sums along the mesh axes that shard the summed axes, and along those along which
    the operand is unreduced.
    """
    (spec,) = operation.specs[:1]
    summed = {name for axis in operation.params["axes"] for name in spec[axis]}
    own = sharding_of(operation.avals[0])
    summed |= frozenset() if own is None else own.spec.unreduced
    if not out_sharding.spec.unreduced <= summed:
        operation.refuse(
            f"{operation.name} sums over axes {operation.params['axes']}, which are sharded along "
            f"{summed or 'no axes'} of the mesh, so its results can be unreduced along these "
            f"only, not along {set(out_sharding.spec.unreduced)}"
        )


def no_terms(operation: Operation, out_sharding: NamedSharding) -> None:
    """Rejects unreduced results of operations that are not sums."""
    if out_sharding.spec.unreduced:
        operation.refuse(
            f"{operation.name} has no partial sums as results, so out_sharding cannot have "
            f"unreduced axes, but is {out_sharding.spec}"
        )


def unreduced_product(operation: Operation, out_sharding: NamedSharding) -> None:
    """Rejects unreduced operands, and results that are unreduced along the wrong mesh axes.

    A result can be unreduced along all mesh axes that shard the contracted axes, if these are
    sharded in the same way in both operands.
    """
    if any([s.spec.unreduced for s in map(sharding_of, operation.avals) if s is not None]):
        operation.refuse(
            "dot_general: with `out_sharding`, no operand may be unreduced; jax.reshard sums the "
            "partial sums of an operand"
        )
    unreduced = out_sharding.spec.unreduced
    if not unreduced:
        return
    (cx, cy), _ = operation.params["dimension_numbers"]
    x, y = operation.specs
    left, right = [x[k] for k in cx], [y[k] for k in cy]
    if unreduced != frozenset([name for names in left for name in names]):
        operation.refuse(
            "dot_general: the unreduced axes of out_sharding must be those along which the "
            f"contracted axes are sharded, but they are {set(unreduced)}, and lhs is sharded "
            f"along {left}"
        )
    if left != right:
        operation.refuse(
            "dot_general: for unreduced results, the contracted axes of both operands must have "
            f"the same sharding, but they are sharded along {left} and {right}"
        )


def reshaped_sum(operation: Operation, out_sharding: NamedSharding) -> None:
    """Rejects a reshape that changes the unreduced or reduced mesh axes."""
    own = sharding_of(operation.avals[0])
    for what in ("unreduced", "reduced"):
        operand_axes: frozenset[Hashable] = getattr(own and own.spec, what, frozenset())
        wanted = getattr(out_sharding.spec, what)
        if operand_axes != wanted:
            raise ValueError(
                f"reshape: {operation.avals[0].str_short()} is {what} along "
                f"{set(operand_axes) or 'no axis'}, and remains so, but out_sharding "
                f"{out_sharding.spec} has it {what} along {set(wanted) or 'no axis'}"
            )


def scatter(operation: Operation) -> list[Entries]:
    """Keeps the operand's sharding if windows of updates are complete along sharded axes."""
    numbers = operation.params["dimension_numbers"]
    operand, shape = operation.specs[0], shape_of(operation, 0)
    updates = shape_of(operation, 2)
    dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    window = [k for k in range(len(shape)) if k not in dropped]
    whole = {
        k for k, axis in zip(window, numbers.update_window_dims, strict=True)
        if updates[axis] == shape[k]
    }  # fmt: skip
    touched = {*numbers.inserted_window_dims, *numbers.scatter_dims_to_operand_dims} - whole
    if any([operand[k] for k in touched]):
        operation.refuse(
            "scatter writes along sharded axes: use `.at[...].set(..., out_sharding=)` to "
            "specify the sharding of the result"
        )
    return [operand]
