"""Sharding rules of operations that move, remove, join or slice axes.

A rule is defined here if several primitives share it, or if it is long; the modules of primitives
register them. A result sharding that requires data movement between devices is rejected.
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
    elementwise,
    entries_of,
    names_along,
    sharding_of,
)
from jitney.core.types.avals import AbstractValue
from jitney.core.util.reshape_groups import reshape_groups


def shape_of(operation: Operation, operand: int) -> tuple[int, ...]:
    """Returns the shape of an operand."""
    return getattr(operation.avals[operand], "shape", ())


def broadcast_in_dim(operation: Operation) -> list[Entries]:
    """Keeps shardings of axes; new axes and broadcast axes are replicated."""
    out: list[tuple[Any, ...]] = [()] * len(operation.shapes[0])
    for axis, names in zip(
        operation.params["broadcast_dimensions"], operation.specs[0], strict=True
    ):
        out[axis] = names
    return [tuple(out)]


def check_broadcast(aval: AbstractValue, like: AbstractValue, place: NamedSharding) -> None:
    """Raises ValueError unless an operand to be broadcast is sharded like the result."""
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
            f"{aval.str_short()}. Move it by jax.sharding.reshard"
        )


def transpose(operation: Operation) -> list[Entries]:
    """Permutes the shardings of axes."""
    (spec,) = operation.specs
    return [tuple([spec[axis] for axis in operation.params["permutation"]])]


def squeeze(operation: Operation) -> list[Entries]:
    """Keeps the shardings of the remaining axes."""
    (spec,) = operation.specs
    dropped = {axis % len(spec) for axis in operation.params["dimensions"]}
    return [tuple([names for axis, names in enumerate(spec) if axis not in dropped])]


def reduced(operation: Operation) -> list[Entries]:
    """Drops the shardings of `axes`, for reductions of one or more operands of the same shape."""
    n = len(shape_of(operation, 0))
    operands = [s for k, s in enumerate(operation.specs) if len(shape_of(operation, k)) == n]
    alike = Operation(
        operation.name,
        operation.mesh,
        operation.avals,
        operands,
        operation.params,
        operation.shapes,
    )
    spec = elementwise(alike, shape_of(operation, 0))
    axes = operation.params.get("axes", operation.params.get("dimensions", ()))
    kept = tuple([names for axis, names in enumerate(spec) if axis not in axes])
    return [kept] * len(operation.shapes)


def reshape(operation: Operation) -> list[Entries]:
    """Maps shardings within groups of axes with equal products of sizes.

    A merged axis is sharded along the mesh axes of all of its parts, which may move elements
    between devices. If an axis is split, the mesh axes are assigned to the new axes in order, as
    far as sizes permit. Axes of size 1, which only mesh axes of size 1 can shard, keep them if
    there are as many between the same groups.
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
    """Returns, for each of `places`, the axes of size 1 preceded by that many larger axes."""
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
    """Keeps shardings for results that have some of the first operand's elements.

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
    """Requires equal shardings of operand and update, unless the update is a single element."""
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
            f"shardings are {listed}; jax.reshard moves them"
        )
    shape = list(operation.shapes[0])
    shape[axis] = 1  # sizes differ along this axis
    out = elementwise(operation, tuple(shape))
    _check_parts(operation, out, axis, "joins")
    return [out]


def split(operation: Operation) -> list[Entries]:
    """Keeps the operand's sharding, if it divides results evenly; single elements replicate."""
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


def unstack(operation: Operation) -> list[Entries]:
    """Keeps the sharding of the operand, whose removed axis must be replicated."""
    (spec,), axis = operation.specs, operation.params["axis"]
    if spec[axis]:
        operation.refuse(
            f"unstack: axis {axis}, which is split, must not be sharded, but is sharded along "
            f"{spec[axis]}; jax.reshard gathers it"
        )
    return [(*spec[:axis], *spec[axis + 1 :])] * len(operation.shapes)


def tile(operation: Operation) -> list[Entries]:
    """Keeps the shardings of axes that are not repeated; the others must be replicated."""
    (spec,), old, new = operation.specs, shape_of(operation, 0), operation.shapes[0]
    added = len(new) - len(old)
    for axis, (n, m) in enumerate(zip(old, new[added:], strict=True)):
        if n != m and spec[axis]:
            operation.refuse(
                f"tile: axis {axis} cannot be sharded, as tiling is non-trivial there: it is "
                f"sharded along {spec[axis]} and repeated"
            )
    return [(*[()] * added, *spec)]


def bitcast_convert_type(operation: Operation) -> list[Entries]:
    """Adds or removes the last axis, with the bits of an element, which is replicated."""
    (spec,), new = operation.specs, operation.shapes[0]
    if len(new) < len(spec) and spec[-1]:
        operation.refuse(
            "bitcast_convert_type combines elements along the last axis, which is sharded"
        )
    return [(*spec, ())[: len(new)]]


# --- along an axis, in blocks, in windows ---------------------------------------------------------


def replicated_along(param: str, what: str) -> Callable[[Operation], list[Entries]]:
    """Returns the rule of operations that need the axis named by `param` to be replicated.

    `what` states the requirement in the error message.
    """

    def rule(operation: Operation) -> list[Entries]:
        spec = elementwise(operation, shape_of(operation, 0))
        axis = operation.params[param]
        if spec[axis]:
            operation.refuse(
                f"{operation.name}: {what}, axis {axis}, but it is sharded along {spec[axis]}"
            )
        return [spec] * len(operation.shapes)

    return rule


def batch_of(core: int | str | Callable[[dict[str, Any]], int]) -> Callable[..., list[Entries]]:
    """Returns the rule of operations on blocks, the last axes of their operands, over batch axes.

    Args:
      core: the number of axes of a block of the first operand; or the name of a parameter with an
        entry for each of them; or a function of the parameters.
    """

    def rule(operation: Operation) -> list[Entries]:
        params = operation.params
        n = core if isinstance(core, int) else 0
        n = len(params[core]) if isinstance(core, str) else core(params) if callable(core) else n
        batch = len(shape_of(operation, 0)) - n
        for spec in operation.specs:
            if any(spec[batch:]):
                operation.refuse(
                    f"{operation.name} needs complete blocks: axes from {batch} on cannot be "
                    "sharded"
                )
        out = _batch_axes(operation, batch)
        return [(*out, *[()] * (len(shape) - batch)) for shape in operation.shapes]

    return rule


def _batch_axes(operation: Operation, n: int) -> Entries:
    """Returns the shardings of the first `n` axes, which all operands share."""
    out: list[tuple[Any, ...]] = [()] * n
    for spec in operation.specs:
        for axis, names in enumerate(spec[:n]):
            if out[axis] and names and out[axis] != names:
                operation.refuse(
                    f"{operation.name}: axis {axis} is sharded along {out[axis]} and {names}"
                )
            out[axis] = out[axis] or names
    return tuple(out)


def triangular_solve(operation: Operation) -> list[Entries]:
    """Allows sharded right-hand sides and equations, but not unknowns."""
    (a, b), params = operation.specs, operation.params
    is_left = params["left_side"]
    unknowns = -1 if is_left != params["transpose_a"] else -2  # an axis of `a`
    solved, free = (-2, -1) if is_left else (-1, -2)  # axes of `b`
    if a[unknowns] or b[solved]:
        operation.refuse(
            f"triangular_solve: axis {len(a) + unknowns} of the matrix and axis {len(b) + solved} "
            "of the right-hand sides must not be sharded, but they are sharded along "
            f"{a[unknowns] or '()'} and {b[solved] or '()'}"
        )
    equations = a[-3 - unknowns]
    matrix = (equations, b[free]) if is_left else (b[free], equations)
    return [(*_batch_axes(operation, len(b) - 2), *matrix)]


def as_operand(k: int) -> Callable[[Operation], list[Entries]]:
    """Returns the rule of operations whose result has the shape and sharding of operand `k`."""
    return lambda operation: [operation.specs[k]] * len(operation.shapes)


def fft(operation: Operation) -> list[Entries]:
    """Keeps the sharding of the operand, even along transformed axes, which are gathered."""
    (spec,) = operation.specs
    for axis in range(len(spec)):
        _check_parts(operation, spec, axis, "changes the size of")
    return [spec]


def convolution(operation: Operation) -> list[Entries]:
    """Takes the batch from lhs, features from rhs, and spatial axes from lhs if sizes permit."""
    numbers = operation.params["dimension_numbers"]
    lhs, rhs = operation.specs
    if lhs[numbers.lhs_spec[1]] or any([rhs[axis] for axis in numbers.rhs_spec[1:]]):
        operation.refuse(
            f"{operation.name} sums over features and over the window, which cannot be sharded"
        )
    out: list[tuple[Any, ...]] = [()] * len(lhs)
    out[numbers.out_spec[0]] = lhs[numbers.lhs_spec[0]]
    out[numbers.out_spec[1]] = rhs[numbers.rhs_spec[0]]
    for source, axis in zip(numbers.lhs_spec[2:], numbers.out_spec[2:], strict=True):
        out[axis] = lhs[source]
    for axis, (names, n) in enumerate(zip(out, operation.shapes[0], strict=True)):
        if n % operation.parts(names):
            operation.refuse(
                f"{operation.name}: {n} elements along axis {axis} of the result cannot be "
                f"sharded along {names}"
            )
    used = [name for names in out for name in names]
    if len({*used}) != len(used):
        operation.refuse(
            f"{operation.name} would shard two axes of its result along the same mesh axis: {out}"
        )
    return [tuple(out)]


def stack(operation: Operation) -> list[Entries]:
    """Combines shardings elementwise; the new axis is replicated."""
    shape, axis = shape_of(operation, 0), operation.params["axis"]
    spec = elementwise(operation, shape)
    return [(*spec[:axis], (), *spec[axis:])]


def dot_general(operation: Operation) -> list[Entries]:
    """Returns shardings of batch axes, then of the free axes of lhs and of rhs.

    If a contracted axis is sharded in one operand only, the other operand is moved, and the result
    is summed over devices. If it is sharded in both, devices have partial sums, and the user must
    choose an `out_sharding`.
    """
    (cx, cy), (bx, by) = operation.params["dimension_numbers"]
    x, y = operation.specs
    for i, j in zip(bx, by, strict=True):
        if x[i] and y[j] and x[i] != y[j]:
            operation.refuse(
                f"dot_general: batch axis {i} of lhs is sharded along {x[i]}, but the "
                f"corresponding axis {j} of rhs along {y[j]}: jax.reshard one of them"
            )
    for i, j in zip(cx, cy, strict=True):
        if x[i] and y[j]:
            if x[i] != y[j]:
                operation.refuse(
                    f"dot_general: contracted axis {i} of lhs is sharded along {x[i]}, but the "
                    f"corresponding axis {j} of rhs along {y[j]}: jax.reshard one of them"
                )
            operation.refuse(
                f"dot_general: contracted axis {i} of lhs and {j} of rhs are sharded along "
                f"{x[i]}, so each device has a partial sum. Specify the sharding of the result by "
                "`out_sharding`: reduced, or unreduced by P(..., unreduced={...})"
            )
    batch = [x[i] or y[j] for i, j in zip(bx, by, strict=True)]
    left = [x[k] for k in range(len(x)) if k not in cx and k not in bx]
    right = [y[k] for k in range(len(y)) if k not in cy and k not in by]
    out = (*batch, *left, *right)
    used = [name for names in out for name in names]
    if len(set(used)) != len(used):
        operation.refuse(
            "dot_general operation with these input shardings produces an illegally sharded "
            f"result: {out}"
        )
    return [out]


def unreduced_sum(operation: Operation, out_sharding: NamedSharding) -> None:
    """Rejects results that are unreduced along mesh axes that do not shard the reduced axes."""
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
    """Rejects results that are unreduced along mesh axes that do not shard the contracted axes."""
    if any([s.spec.unreduced for s in map(sharding_of, operation.avals) if s is not None]):
        operation.refuse(
            "dot_general: with `out_sharding`, no operand may be unreduced; jax.reshard sums the "
            "shards of an unreduced operand"
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


def gather(operation: Operation) -> list[Entries]:
    """Keeps the shardings of operand axes that are gathered completely, and of index axes."""
    numbers, sizes = operation.params["dimension_numbers"], operation.params["slice_sizes"]
    operand, indices = operation.specs
    shape = shape_of(operation, 0)
    batching = dict(
        zip(numbers.start_indices_batching_dims, numbers.operand_batching_dims, strict=True)
    )
    gone = {*numbers.collapsed_slice_dims, *batching.values()}
    cut_axes = [
        k
        for k, (n, m) in enumerate(zip(shape, sizes, strict=True))
        if operand[k] and n != m and k not in batching.values()
    ]
    if cut_axes or any([names for k, names in enumerate(indices) if k not in batching]):
        operation.refuse(
            "gather along sharded axes, or at sharded indices: use `.at[...].get(out_sharding=)` "
            "to specify the sharding of the result"
        )
    windows = [operand[k] for k in range(len(shape)) if k not in gone]
    batch = [
        own or (operand[batching[k]] if k in batching else ()) for k, own in enumerate(indices[:-1])
    ]
    out: list[tuple[Any, ...]] = []
    for k in range(len(operation.shapes[0])):
        out.append(windows.pop(0) if k in numbers.offset_dims else batch.pop(0))
    used = [name for names in out for name in names]
    if len(set(used)) != len(used):
        operation.refuse("gather would shard two axes of its result along one mesh axis")
    return [tuple(out)]


def scatter(operation: Operation) -> list[Entries]:
    """Keeps the operand's sharding, if windows of updates are complete along sharded axes."""
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
