"""`vmap`: vectorizing a function along an axis of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from jitney.api.batching import vmappables
from jitney.api.jit.jit_call import fun_name
from jitney.api.jit.signature import CallSpec, signature_of
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.messages import messages
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import prefix_errors
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.ref_checks import check_passed_once
from jitney.core.sharding_in_types.explicit import common_sharding
from jitney.core.source.source_info import fun_sourceinfo, transform_name_stack
from jitney.core.tracing.hi_types import is_high_value
from jitney.core.tracing.trace import is_concrete, state
from jitney.core.types.avals import get_aval, is_valid_operand
from jitney.core.types.dtypes import float0
from jitney.core.types.refs import is_ref
from jitney.core.util.wraps import wraps
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.batch import AxisData, batch_flat, move_to

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsInt

    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import AxisName, PyTree, Value

P = ParamSpec("P")
R = TypeVar("R")


def vmap(
    fun: Callable[P, R],
    in_axes: int | Sequence[PyTree] | None = 0,
    out_axes: PyTree = 0,
    axis_name: AxisName = None,
    axis_size: int | None = None,
    spmd_axis_name: AxisName = None,
    sum_match: bool = False,
) -> Callable[P, R]:
    """Returns a function that applies `fun` to all slices of its arguments along an axis at once.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      in_axes: the mapped axes of the positional arguments: an integer for all of them, or a tuple
        with one entry per argument. An entry is an integer, None for an argument that is the same
        for all indices, or a pytree of these that is a prefix of the argument.
      out_axes: the position of the mapped axis in the results: an integer, None for results that do
        not depend on the index, or a pytree of these that is a prefix of the result.
      axis_name: the name of the mapped axis for collectives within `fun`.
      axis_size: the size of the mapped axis; required if no argument is mapped.
      spmd_axis_name: the mesh axes along which `with_sharding_constraint` within `fun` shards the
        mapped axis.
      sum_match: accepted for compatibility.

    Returns: a function whose mapped arguments and results have one axis more than those of `fun`.
      Keyword arguments are mapped along their first axis.

    Raises:
      TypeError: if `fun` is not callable, or axes are not integers.
      ValueError: if the sizes of mapped axes differ, or if an argument does not have the axis along
        which it is to be mapped.

    Example:
      >>> jax.vmap(jnp.dot)(jnp.array([[1, 2], [3, 4]]), jnp.array([[1, 1], [2, 2]]))
      Array([ 3, 14], dtype=int32)
      >>> jax.vmap(jnp.dot, in_axes=(0, None))(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
      Array([21, 43], dtype=int32)
    """
    if not callable(fun):
        raise TypeError(f"vmap needs a function, but got {fun} of type {type(fun).__name__}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_axes(in_axes, out_axes)

    @wraps(fun, "vmap")
    @api_boundary
    def vmap_f(*args: PyTree, **kwargs: PyTree) -> R:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap: `in_axes` must have one entry for each positional argument, but "
                f"{len(in_axes)=} and {len(args)=}; arguments passed by keyword are always mapped "
                "along axis 0"
            )
        users_types = vmappables.by_type
        leaves: list[Value]
        leaves, tree = pytrees.tree_flatten(
            (args, kwargs), vmappables.is_vmappable if users_types else None
        )
        if any(map(is_ref, leaves)):
            _check_refs(fun, args, kwargs, leaves)
        dims = _flat_axes("vmap in_axes", tree, (in_axes, 0), kws=True)
        size = _axis_size(fun, args, kwargs, leaves, dims, axis_size)
        if users_types:
            data = AxisData(axis_name, size, spmd_axis_name)
            return _of_elements(fun, tree, data, leaves, dims, out_axes)
        # Unmapped arguments are passed unchanged, since functions may branch on NumPy values.
        values = [
            as_value(x) if d is not None and isinstance(x, np.ndarray | np.generic) else x
            for x, d in zip(leaves, dims, strict=True)
        ]
        places = [
            None if d is None else _normalized(d, len(shape_of(x)))
            for x, d in zip(values, dims, strict=True)
        ]
        flat = FlatFunction(fun, tree, _refusal, has_kwargs=True)
        along = common_sharding("vmap", values, places, spmd_axis_name)
        data = AxisData(axis_name, size, spmd_axis_name, along)
        with transform_name_stack("vmap"):
            outs, out_dims = batch_flat(flat, data, values, places)
        wanted = _flat_axes("vmap out_axes", flat.out_tree, out_axes)
        for i, (d, w) in enumerate(zip(out_dims, wanted, strict=True)):
            if w is None and d is not None:
                _refuse_unmapped(fun, flat.out_tree, i, axis_name)
        result = [_placed(x, d, w, data) for x, d, w in zip(outs, out_dims, wanted, strict=True)]
        return flat.unflatten(result)

    vmap_f.__doc__ = _documentation(fun)
    return vmap_f


def _check_axes(in_axes: int | Sequence[PyTree] | None, out_axes: PyTree) -> None:
    """Raises TypeError unless both are integers, None, or pytrees of these."""
    if (
        not isinstance(in_axes, int | tuple | type(None))
        and not hasattr(in_axes, "__index__")
        and not vmappables.is_spec(in_axes)
    ):
        raise TypeError(
            "vmap: `in_axes` must be an integer, None, or a tuple with an entry for each "
            f"positional argument, but is {in_axes}"
        )
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for leaf in _axis_leaves(axes):
            if leaf is not None and not _is_integer(leaf) and not vmappables.is_spec(leaf):
                raise TypeError(
                    f"vmap: `{name}` must be an integer, None, or a pytree of them, but has "
                    f"{leaf!r} of type {type(leaf)}"
                )


def _of_elements(
    fun: Callable[..., R],
    tree: PyTreeDef,
    axis: AxisData,
    leaves: Sequence[Any],
    dims: Sequence[Any],
    out_axes: PyTree,
) -> R:
    """Applies `vmap` to arguments or results that may be of registered types (`vmappables`)."""
    results: list[PyTree] = []

    def run() -> list[Value]:
        trace = state.trace
        elements = [vmappables.element(trace, x, d) for x, d in zip(leaves, dims, strict=True)]
        args, kwargs = tree.unflatten(elements)
        outs, out_tree = pytrees.tree_flatten(fun(*args, **kwargs), vmappables.is_vmappable)
        wanted = _flat_axes("vmap out_axes", out_tree, out_axes)
        for i, (x, w) in enumerate(zip(outs, wanted, strict=True)):
            if vmappables.is_vmappable(x):
                continue
            if not is_valid_operand(x):
                raise TypeError(_refusal(x, ""))
            if w is None and trace.to_batch_info(x)[1] is not None:
                _refuse_unmapped(fun, out_tree, i, axis.name)
        whole = partial(vmappables.whole, trace, axis.size)
        results.append(out_tree.unflatten([whole(x, w) for x, w in zip(outs, wanted, strict=True)]))
        return []

    batch_flat(run, axis, [], [])
    return results[0]


def _refuse_views(
    fun: Callable[..., Any], args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
) -> None:
    """Raises TypeError if an argument is a view of a reference, which cannot be mapped."""
    from jitney.primitives.refs.ref import TransformedRef  # few programs use it

    def is_view(x: PyTree) -> bool:
        return isinstance(x, TransformedRef)

    leaves = pytrees.tree_flatten((args, kwargs), is_view)[0]
    views = [x for x in leaves if is_view(x)]
    if views:
        raise TypeError(
            f"vmap of {fun_name(fun)}: TransformedRefs are not allowed as arguments, but got "
            f"{views[0]!r}. Pass the reference itself, and take the view, ref.at[...], within the "
            "function"
        )


def _check_refs(
    fun: Callable[..., Any], args: tuple[PyTree, ...], kwargs: dict[str, PyTree], leaves: list[Any]
) -> None:
    """Raises an error if an argument is a view of a reference, or a reference is passed twice."""
    _refuse_views(fun, args, kwargs)

    def names() -> list[str]:
        spec = CallSpec(signature_of(fun), (), frozenset(), (), frozenset())
        return spec.argument_names(args, kwargs, None)

    check_passed_once(leaves, (), names, DebugInfo("vmap", fun_sourceinfo(fun)))


def _documentation(fun: Callable[..., Any]) -> str | None:
    doc = getattr(fun, "__doc__", None)
    if not doc:
        return doc
    name = fun_name(fun)
    return (
        f"Vectorized version of {name}: {name} is applied at all indices of an additional axis of "
        f"its arguments and results.\n\nOriginal documentation:\n\n{doc}"
    )


def _refusal(x: object, path: str) -> str:
    return f"vmap: the function must return arrays or scalars, but returned {x!r} of type {type(x)}"


def _is_integer(x: PyTree) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def _axis_leaves(axes: PyTree) -> list[object]:
    return pytrees.tree_leaves(axes, is_leaf=lambda x: x is None)


def _flat_axes(name: str, tree: PyTreeDef, axes: PyTree, kws: bool = False) -> list[Any]:
    """Spreads `axes`, a prefix of `tree`, over the leaves of `tree`; None counts as an axis."""
    # Pytree classes accept `object()` as a placeholder; some distinguish leaves from static data by it.
    example = pytrees.tree_unflatten(tree, [object()] * tree.num_leaves)
    try:
        if kws:
            positional = pytrees.broadcast_axes(axes[0], example[0])
            return positional + [axes[1]] * len(pytrees.tree_leaves(example[1]))
        return pytrees.broadcast_axes(axes, example)
    except ValueError:
        pass
    prefix, value = (axes[0], example[0]) if kws else (axes, example)
    wrong = prefix_errors(prefix, value, is_leaf=lambda x: x is None)
    raise ValueError(
        f"{name} has to be a tree prefix of the values that it applies to, but is {prefix} for "
        f"{pytrees.tree_structure(value)} ({messages.counted(len(wrong), 'difference')}):"
        + "".join(f"\n{make(name)}" for make in wrong)
    )


def _normalized(axis: SupportsInt, rank: int) -> int:
    axis = int(axis)
    return axis + rank if axis < 0 else axis


def _axis_size(
    fun: Callable[..., Any],
    args: Sequence[PyTree],
    kwargs: dict[str, PyTree],
    leaves: Sequence[PyTree],
    dims: Sequence[int | None],
    axis_size: int | None,
) -> int:
    sizes: dict[int, list[int]] = {}
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is None or (vmappables.is_vmappable(x) and not _has_axis(x, d)):
            continue  # the rules of registered types are more specific
        if not is_valid_operand(x) and not vmappables.is_vmappable(x):
            raise TypeError(f"vmap got an argument {x!r} of type {type(x)}, which is not an array")
        if is_high_value(x):
            raise TypeError(
                f"vmap: an argument of type {get_aval(x).str_short()} cannot be mapped along axis "
                f"{d}; close over it, or map the arrays from which it is made"
            )
        shape = shape_of(x)
        if not -len(shape) <= d < len(shape):
            paths = [p for p, _ in pytrees.tree_flatten_with_path((args, kwargs))[0]]
            instead = _other_axis(len(args), paths, dims, i, axis_size, len(shape))
            raise ValueError(
                f"vmap of {fun_name(fun)}: {_argument_name(fun, paths[i])} is mapped along axis {d}, "
                f"so its rank must be at least {d + 1 if d >= 0 else -d}, but its shape "
                f"is {shape}.\nInstead: {instead}"
            )
        sizes.setdefault(shape[d], []).append(i)
    if axis_size is not None:
        sizes.setdefault(axis_size, [])
    if not sizes:
        if leaves:
            raise ValueError(
                "vmap: at least one argument must be mapped, but all of in_axes are None; to call "
                "vmap without a mapped argument, pass axis_size"
            )
        raise ValueError(
            "vmap: the size of the mapped axis is that of an array argument, or axis_size, but "
            f"got neither: *args={tuple(args)} and **kwargs={kwargs}"
        )
    if len(sizes) == 1:
        return next(iter(sizes))
    paths = [p for p, _ in pytrees.tree_flatten_with_path((args, kwargs))[0]]
    lines = [] if axis_size is None else [f"  size {axis_size}: axis_size"]
    ranked = sorted(sizes.items(), key=lambda item: -len(item[1]))
    for size, positions in ranked:
        if not positions:
            continue
        i, n = positions[0], len(positions)
        lines.append(
            f"  size {size}: axis {dims[i]} of {_argument_name(fun, paths[i])} of type "
            f"{get_aval(leaves[i]).str_short()}" + (f", and {n - 1} more" if n > 1 else "")
        )
    raise ValueError(
        "vmap: mapped axes must have the same size, but the sizes are\n" + "\n".join(lines)
    )


def _other_axis(
    count: int,
    paths: Sequence[Sequence[Any]],
    dims: Sequence[int | None],
    i: int,
    size: int | None,
    rank: int,
) -> str:
    """Returns advice on the axis to map, for a leaf `i` that does not have the requested axis."""
    others = [d for p, d in zip(paths, dims, strict=True) if p[:2] != paths[i][:2]]
    if size is not None or any(d is not None for d in others):
        return f"to pass it unmapped, {_without_axes(count, paths[i])}"
    if rank == 0:
        return (
            "pass an array with an axis to map, or call the function itself, which takes a scalar"
        )
    return "map it along an existing axis, in_axes=0" + (f" to {rank - 1}" if rank > 1 else "")


def _without_axes(count: int, path: Sequence[Any]) -> str:
    """Returns advice on how to leave the argument at `path` unmapped."""
    head, key = path[:2]
    if head.idx == 1:
        return "pass it by position, with None in in_axes"
    return f"in_axes=({', '.join('None' if i == key.idx else '0' for i in range(count))})"


def _has_axis(x: object, axis: object) -> bool:
    shape: Sequence[object] | None = getattr(x, "shape", None)
    return isinstance(shape, tuple) and isinstance(axis, int) and -len(shape) <= axis < len(shape)


def _argument_name(fun: Callable[..., Any], path: Sequence[Any]) -> str:
    head, inner_path = path[:2], path[2:]
    where = pytrees.keystr(inner_path)
    if head[0].idx == 1:
        return f"kwargs{pytrees.keystr(path[1:])}"
    try:
        names = list(inspect.signature(fun).parameters)
        return f"argument {names[head[1].idx]}{where}"
    except (TypeError, ValueError, IndexError):
        return f"args{pytrees.keystr(path[1:])}"


def _refuse_unmapped(
    fun: Callable[..., Any], tree: PyTreeDef, index: int, axis_name: AxisName
) -> None:
    """Raises ValueError for a mapped result whose entry in `out_axes` is None."""
    example = pytrees.tree_unflatten(tree, [object()] * tree.num_leaves)
    path = pytrees.keystr(pytrees.tree_flatten_with_path(example)[0][index][0])
    named = "" if axis_name is None else f", axis_name={axis_name}"
    raise ValueError(
        f"vmap of {fun_name(fun)}{named}: out_axes{path} is None, which requires a result that is "
        "the same at all indices, but the result depends on the index; specify an axis in out_axes"
    )


def _placed(x: PyTree, dim: int | None, wanted: int | None, axis: AxisData) -> Value:
    """Moves the mapped axis of a result from `dim` to `wanted`, its position in `out_axes`."""
    if wanted is None:
        return x
    if is_high_value(x):
        if dim == wanted:
            return x
        raise TypeError(
            f"vmap: a result of type {get_aval(x).str_short()} has the mapped axis at {dim}, "
            f"which cannot be moved to {wanted}, as out_axes requests"
        )
    rank = len(shape_of(x)) + (dim is None)
    placed = move_to(as_value(x), dim, canonical_axis(wanted, rank), axis.size, axis.along)
    # Tangents of integers hold no data: as in JAX, they are NumPy arrays.
    return np.asarray(placed) if placed.dtype == float0 and is_concrete(placed) else placed
