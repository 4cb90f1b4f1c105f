"""Reductions over named axes, and `axis_index`: `psum`, `pmax`, `pmin`, `pmean`.

`vmap` names its axis, and `shard_map` the axes of its mesh. Batching turns an operation over a
named axis into one over a positional axis. The programs of devices are batched, too (`spmd`), so no
collective remains in compiled programs. A named axis that remains has size 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from jitney.compiler.reference import reduction
from jitney.core.pytree import pytrees
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding_in_types import sums, varying
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.tracing.pvary import pvary_p
from jitney.core.tracing.trace import Tracer, extend_axis_env, state
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval, shaped_array
from jitney.primitives import calculus, rules
from jitney.primitives.array import shape as shapes
from jitney.primitives.elementwise.convert import as_value, convert_element_type
from jitney.transforms.batch import AxisData, batch_flat

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitney.compiler.hlo.ir import CollectiveKind, Monoid
    from jitney.compiler.library import Param as LibraryParam
    from jitney.core.typing import Array, AxisName
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Operand, Value

T = TypeVar("T")
Val = TypeVar("Val", bound="Value")

Groups: TypeAlias = "Sequence[Sequence[int]] | None"  # groups of indices to reduce

# --- names ----------------------------------------------------------------------------------------


def is_positional(axis: object) -> bool:
    """Returns whether an axis is given by position instead of name."""
    return isinstance(axis, int | np.integer) and not isinstance(axis, bool)


def axis_extent(name: AxisName, api_name: str) -> int:
    """Returns the size of the innermost axis in scope with this name.

    Raises:
      NameError: if no axis with this name is in scope.
    """
    for known, size in reversed(state.axis_env):
        if known == name:
            return size
    raise NameError(
        f"{api_name}: no axis is named {name!r} here.\nInstead: call it within "
        f"jax.vmap(..., axis_name={name!r}), or within jax.shard_map over a mesh with that axis"
    )


def names_of(axis_name: AxisName, api_name: str) -> tuple[AxisName, ...]:
    """Returns one or more axis names as a tuple.

    Raises:
      NameError: if a name is not in scope.
    """
    several: Any = axis_name
    names = (*several,) if isinstance(axis_name, tuple | list) else (axis_name,)
    for name in names:
        if not is_positional(name):
            axis_extent(name, api_name)
    return names


def axis_size(axis_name: AxisName) -> int:
    """Returns the size of a named axis, or the product of the sizes of several.

    Args:
      axis_name: a name, or a tuple of names.

    Raises:
      NameError: if a name is not in scope.

    Example:
      >>> jax.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(jnp.ones(4))
      Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return math.prod(axis_extent(name, "axis_size") for name in names_of(axis_name, "axis_size"))


def checked_groups(
    groups: Groups, size: int, *, of_any_size: bool = False
) -> tuple[tuple[int, ...], ...] | None:
    """Returns `axis_index_groups` as tuples.

    Raises:
      ValueError: if the groups do not partition the axis, or, unless `of_any_size`, have different
        sizes.
    """
    if groups is None:
        return None
    parts = tuple([tuple([int(i) for i in g]) for g in groups])
    if not of_any_size and len({len(g) for g in parts}) > 1:
        raise ValueError(
            f"axis_index_groups: all groups must have the same size, but the groups are {groups}"
        )
    if sorted(i for g in parts for i in g) != list(range(size)):
        raise ValueError(
            f"axis_index_groups: each of the indices 0 to {size - 1} must be in one group, but the "
            f"groups are {groups}"
        )
    return parts


# --- which values vary ----------------------------------------------------------------------------


def checked_names(names: Sequence[AxisName]) -> tuple[AxisName, ...]:
    """Returns the axes among `names` along which types track variation.

    These are axes of a `shard_map` with `check_vma`.
    """
    return tuple([n for n in names if not is_positional(n) and n in state.checked_axes])


def varying_along(x: Val, names: Sequence[AxisName]) -> Val | Array:
    """Casts `x` to vary along all checked axes in `names`."""
    wanted = checked_names(names)
    if not wanted:
        return x
    aval = get_aval(x)
    known = aval.vma if isinstance(aval, ShapedArray) else frozenset[Any]()
    missing = tuple([name for name in wanted if name not in known])
    return pvary_p.bind(x, axes=missing) if missing else x


def is_unreduced(x: Value, names: Sequence[AxisName], api_name: str) -> bool:
    """Returns whether `x` is unreduced along the axes `names`.

    Raises:
      ValueError: if `x` is unreduced along some of these axes but not all.
    """
    aval = get_aval(x)
    if not isinstance(aval, ShapedArray) or not aval.manual_axis_type.unreduced:
        return False
    own = aval.manual_axis_type.unreduced.intersection(names)
    if own and not own.issuperset(names):
        raise ValueError(
            f"{api_name} over axes {tuple(names)} of {aval.str_short()}, which is unreduced along "
            f"{tuple(own)} only: sum over the unreduced axes first"
        )
    return bool(own)


def without_axes(
    avals: Sequence[AbstractValue], params: dict[str, Any], result: AbstractValue
) -> AbstractValue:
    """Computes the result type of a reduction, which does not vary along the axes reduced over."""
    (x,) = avals
    assert isinstance(x, ShapedArray)
    return varying.along(result, x.vma.difference(params["axes"]))


# --- programs -------------------------------------------------------------------------------------


def lower_collective(
    b: Builder,
    kind: CollectiveKind,
    names: Sequence[AxisName],
    args: Sequence[Node],
    groups: Groups = None,
    **params: LibraryParam,
) -> Node:
    """Builds the node of a collective over named axes; axes that are not in scope must have size 1.

    Raises:
      NameError: if an axis that is not in scope has a larger size.
    """
    extents = dict(state.axis_env)
    axes = tuple([(str(name), int(extents.get(name, 1))) for name in names])
    parts = None if groups is None else tuple([tuple(group) for group in groups])
    try:
        return b.collective(kind, axes, tuple(params.items()), args, parts)
    except AssertionError as error:
        raise NameError(
            f"{kind} over the axes {dict(axes)}, not all of them in scope: call it within the vmap "
            "that names them"
        ) from error


# --- reductions -----------------------------------------------------------------------------------


def _positional(axes: Sequence[AxisName]) -> tuple[int, ...]:
    return tuple(int(a) for a in axes if is_positional(a))


def _named(axes: Sequence[AxisName]) -> tuple[AxisName, ...]:
    return tuple(a for a in axes if not is_positional(a))


def _reduction(name: str, fn: Monoid, *, linear: bool = False) -> Primitive:
    """Declares the reduction by `fn` over named and positional axes."""
    prim = declare(name, linear=linear)
    prim.communication(communication.of_collective)

    @prim.abstract
    def abstract_rule(
        x: ShapedArray, *, axes: Sequence[AxisName], axis_index_groups: Groups
    ) -> ShapedArray:
        gone = _positional(axes)
        return x.update(shape=tuple(n for k, n in enumerate(x.shape) if k not in gone))

    @prim.eager
    def eager_rule(
        x: np.ndarray, *, axes: Sequence[AxisName], axis_index_groups: Groups
    ) -> np.ndarray:
        names_of(_named(axes), name)
        return reduction.reduce(x, fn, _positional(axes))

    @prim.lower
    def lower_rule(
        b: Builder, x: Node, *, axes: Sequence[AxisName], axis_index_groups: Groups
    ) -> Node:
        own, names = b.reduce(x, fn, _positional(axes)), _named(axes)
        if not names:
            return own
        return lower_collective(b, "all_reduce", names, [own], axis_index_groups, fn=fn)

    prim.batch_with_axis(functools.partial(_batch_reduction, prim))
    return prim


def _batch_reduction(
    prim: Primitive,
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    axes: Sequence[AxisName],
    axis_index_groups: Groups,
) -> tuple[Value, BatchDim]:
    """Batches a reduction; a name of the batched axis among `axes` becomes its position."""
    (x,), (d,) = args, dims
    over_it = axis_data.name is not None and axis_data.name in axes
    if over_it and axis_index_groups is not None:
        return in_groups(
            prim, axis_data, args, dims, axes=axes, axis_index_groups=axis_index_groups
        )
    if d is None:
        other_axes = tuple(a for a in axes if is_positional(a) or a != axis_data.name)
        out = (
            prim.bind(x, axes=other_axes, axis_index_groups=axis_index_groups) if other_axes else x
        )
        if over_it and prim.linearity is sums.LINEAR:
            out = calculus.mul(rules.const(out, axis_data.size), out)
        return out, None
    shifted: list[Any] = []
    for a in axes:
        if is_positional(a):
            shifted.append(int(a) + (a >= d))
        else:
            shifted.append(d if a == axis_data.name else a)
    out = prim.bind(x, axes=tuple(shifted), axis_index_groups=axis_index_groups)
    return out, None if over_it else d - sum(a < d for a in _positional(shifted))


psum_p = _reduction("psum", "add", linear=True)
pmax_p = _reduction("pmax", "max")
pmin_p = _reduction("pmin", "min")
for _prim in (pmax_p, pmin_p):
    _prim.varying(without_axes)
    _prim.absent("jvp", "transpose", why="which element is the extreme one is not recorded")


def _psum_transpose(
    ct: Value, x: Operand, *, axes: Sequence[AxisName], axis_index_groups: Groups
) -> Value:
    gone = _positional(axes)
    if gone:
        shape = rules.shape_of(x)
        kept = tuple(np.int64(k) for k in range(len(shape)) if k not in gone)
        ct = calculus.broadcast_in_dim(ct, shape=shape, broadcast_dimensions=kept)
    return psum_p.bind(ct, axes=_named(axes), axis_index_groups=axis_index_groups)


rules.deflinear(psum_p, _psum_transpose)


# For axes of a `shard_map` that checks variation: the result is equal on all devices.
psum_invariant_p = declare("psum_invariant", linear=True)
psum_invariant_p.communication(communication.of_collective)
psum_invariant_p.varying(without_axes)


@psum_invariant_p.abstract
def _psum_invariant_abstract(x: ShapedArray, *, axes: Sequence[AxisName]) -> ShapedArray:
    return x


@psum_invariant_p.eager
def _psum_invariant_eager(x: np.ndarray, *, axes: Sequence[AxisName]) -> np.ndarray:
    names_of(tuple(axes), "psum")
    return x


@psum_invariant_p.lower
def _psum_invariant_lower(b: Builder, x: Node, *, axes: Sequence[AxisName]) -> Node:
    return lower_collective(b, "all_reduce", axes, [x], fn="add")


@psum_invariant_p.batch_with_axis
def _psum_invariant_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axes: Sequence[AxisName]
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    if axis_data.name is None or axis_data.name not in axes:
        return psum_invariant_p.bind(x, axes=tuple(axes)), d
    other_axes = tuple([name for name in axes if name != axis_data.name])
    if d is None:
        out = calculus.mul(rules.const(x, axis_data.size), x)
    else:
        out = calculus.reduce_sum(x, axes=(d,))
    return (psum_invariant_p.bind(out, axes=other_axes) if other_axes else out), None


def _psum_invariant_transpose(ct: Value, x: Operand, *, axes: Sequence[AxisName]) -> Value:
    return pvary_p.bind(ct, axes=tuple(axes))


rules.deflinear(psum_invariant_p, _psum_invariant_transpose)


def _reduced(prim: Primitive, value: Array, axes: tuple[Any, ...], groups: Groups) -> Array:
    """Reduces an array by `prim`; the result's type does not vary along checked axes."""
    checked = checked_names(axes)
    if not checked:
        return prim.bind(value, axes=axes, axis_index_groups=groups)
    if groups is not None:
        raise NotImplementedError(
            f"{prim.name}: axis_index_groups requires shard_map(..., check_vma=False), because the "
            "groups determine along which axes results vary"
        )
    if prim is not psum_p:
        return prim.bind(varying_along(value, axes), axes=axes, axis_index_groups=None)
    if is_unreduced(value, axes, "psum"):
        return calculus.unreduced_psum(value, axes=axes)
    aval = get_aval(value)
    known = aval.vma if isinstance(aval, ShapedArray) else frozenset[Any]()
    if known.intersection(checked) and not known.issuperset(checked):
        varying = tuple([a for a in checked if a in known])
        raise ValueError(
            f"psum over axes {checked}: of these, {aval.str_short()} varies only along {varying}; "
            f"sum over {varying} only, or cast the operand to vary along all of {checked} with "
            "jax.lax.pcast"
        )
    unchecked = tuple([a for a in axes if a not in checked])
    total = psum_invariant_p.bind(varying_along(value, checked), axes=checked)
    return prim.bind(total, axes=unchecked, axis_index_groups=None) if unchecked else total


def _reduce_tree(prim: Primitive, x: T, axis_name: AxisName, groups: Groups) -> T:
    axes = names_of(axis_name, prim.name)
    if groups is not None:
        if _positional(axes):
            raise ValueError(
                f"{prim.name}: with axis_index_groups, all axes must be named, but `axis_name` "
                f"contains positions: {axis_name}"
            )
        size = math.prod([axis_extent(a, prim.name) for a in axes])
        groups = checked_groups(groups, size, of_any_size=True)
    leaves, tree = pytrees.tree_flatten(x)
    extent = 1 if groups is None else len(groups[0])
    if groups is None:
        extent = math.prod(axis_extent(a, prim.name) for a in _named(axes))
    out: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, Tracer) or _positional(axes):
            value = as_value(leaf)
            if prim is psum_p and value.dtype == np.bool_:
                value = convert_element_type(value, np.int32)
            rank = len(value.shape)
            if any(not -rank <= a < rank for a in axes if is_positional(a)):
                raise ValueError(
                    f"{prim.name}: axes {axes} are out of bounds for an operand of shape {value.shape}"
                )
            places = tuple(a % rank if is_positional(a) and a < 0 else a for a in axes)
            if state.trace is state.eval_trace and _named(axes):
                names_of(_named(axes), prim.name)
            out.append(_reduced(prim, value, places, groups))
        elif prim is not psum_p:
            out.append(leaf)
        else:  # a constant, equal on all devices
            if getattr(leaf, "dtype", None) == np.bool_ or isinstance(leaf, bool):
                leaf = int(leaf) if isinstance(leaf, bool) else convert_element_type(leaf, np.int32)
            plain = isinstance(leaf, int | float | complex | np.ndarray | np.generic)
            out.append(leaf * extent if plain else leaf * rules.const(leaf, extent))
    return pytrees.tree_unflatten(tree, out)


def psum(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Computes the sum over named axes; a constant is multiplied by the size of the axes.

    Args:
      x: a pytree of arrays; booleans are summed as integers.
      axis_name: a name, or a tuple of names and positions.
      axis_index_groups: groups of indices that are summed among themselves; not supported for axes
        of `vmap`.

    Returns: a pytree of arrays of the same shapes, without the positional axes.

    Raises:
      NameError: if a name is not in scope.

    Example:
      >>> jax.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
      Array([0.25, 0.75], dtype=float32)
    """
    return _reduce_tree(psum_p, x, axis_name, axis_index_groups)


def pmax(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Computes the maximum over named axes; see `psum` for the arguments."""
    return _reduce_tree(pmax_p, x, axis_name, axis_index_groups)


def pmin(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Computes the minimum over named axes; see `psum` for the arguments."""
    return _reduce_tree(pmin_p, x, axis_name, axis_index_groups)


def pmean(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Computes the mean over named axes; see `psum` for the arguments.

    Example:
      >>> jax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
      Array([-1.,  1.], dtype=float32)
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    n = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def mean(leaf: Array) -> Array:
        return leaf / n

    return pytrees.tree_map(mean, total)


# --- axis_index -----------------------------------------------------------------------------------

axis_index_p = declare("axis_index")


@axis_index_p.abstract
def _axis_index_abstract(*, axis_name: AxisName) -> ShapedArray:
    index = shaped_array((), np.dtype(np.int32))
    if axis_name not in state.checked_axes:
        return index
    return index.update(manual_axis_type=ManualAxisType(varying=[axis_name]))


# Its type depends on whether the axis in scope is checked, so it is not cached.
axis_index_p.is_memoized = False


@axis_index_p.eager
def _axis_index_eager(*, axis_name: AxisName) -> np.ndarray:
    axis_extent(axis_name, "axis_index")
    return np.zeros((), np.int32)


@axis_index_p.lower
def _axis_index_lower(b: Builder, *, axis_name: AxisName) -> Node:
    return lower_collective(b, "axis_index", [axis_name], [])


@axis_index_p.batch_with_axis
def _axis_index_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: AxisName
) -> tuple[Value, BatchDim]:
    if axis_data.name is None or axis_name != axis_data.name:
        return axis_index_p.bind(axis_name=axis_name), None
    size = axis_data.size
    out = calculus.iota(dtype=np.dtype(np.int32), shape=(size,), dimension=0)
    return out, 0


axis_index_p.absent("jvp", "transpose", why="has no operand")


def axis_index(axis_name: AxisName) -> Array:
    """Returns the index of this instance along a named axis, an int32 scalar.

    Args:
      axis_name: a name, or a tuple of names, whose axes are combined in row-major order.

    Raises:
      NameError: if a name is not in scope.

    Example:
      >>> jax.vmap(lambda x: x + lax.axis_index("i"), axis_name="i")(jnp.array([10, 10]))
      Array([10, 11], dtype=int32)
    """
    names = names_of(axis_name, "axis_index")
    if not isinstance(axis_name, tuple | list):
        return axis_index_p.bind(axis_name=axis_name)
    index: Any = 0
    inner = 1
    for name in reversed(names):
        index = index + axis_index_p.bind(axis_name=name) * inner
        inner *= axis_extent(name, "axis_index")
    return as_value(index)


# --- batching -------------------------------------------------------------------------------------


def has_name(axis_data: AxisData, names: tuple[Any, ...]) -> bool:
    """Returns whether a collective over `names` is over the axis being batched."""
    return axis_data.name is not None and axis_data.name in names


def axis_by_axis(
    collective: Callable[[Array], Value], axis_data: AxisData, x: Value, d: int | None
) -> tuple[Value, BatchDim]:
    """Batches a collective over several named axes by applying it axis by axis."""

    def fun(part: Array) -> list[Value]:
        return [collective(part)]

    (out,), (dim,) = batch_flat(fun, axis_data, [x], [d])
    return out, dim


def in_groups(
    prim: Primitive, axis_data: AxisData, args: Sequence[Value], dims: Dims, *,
    axis_index_groups: Groups, **params: Any,
) -> tuple[Value, BatchDim]:  # fmt: skip
    """Batches a collective within each group of indices of the batched axis.

    Raises:
      NotImplementedError: if the batched axis is an axis of `vmap`, as in JAX.
    """
    assert axis_index_groups is not None
    if not axis_data.of_devices:
        raise NotImplementedError("axis_index_groups are not supported for axes of vmap")
    over = "axes" if "axes" in params else "axis_name"
    if len(params[over]) > 1:
        return axis_by_axis(
            lambda x: _in_flattened_groups(prim, x, over, axis_index_groups, params),
            axis_data, args[0], dims[0],
        )  # fmt: skip
    if len({len(group) for group in axis_index_groups}) > 1:
        return _in_unequal_groups(prim, axis_data, args, dims, axis_index_groups, params)
    n, size = len(axis_index_groups), len(axis_index_groups[0])
    order = np.concatenate([np.asarray(group, np.int32) for group in axis_index_groups])
    parts: list[Any] = []
    for x, d in zip(args, dims, strict=True):
        x = _rows(rules.to_front(x, d, axis_data.size), order)
        parts.append(shapes.reshape(x, (n, size, *rules.shape_of(x)[1:])))
    group = AxisData(axis_data.name, size, of_devices=True)

    def of_group(*values: Value) -> list[Value]:
        with extend_axis_env((axis_data.name, size)):
            out, dim = prim.rules["batch_with_axis"](
                group, values, [0] * len(values), axis_index_groups=None, **params
            )
        return [rules.to_front(out, dim, size)]

    (out,), (dim,) = batch_flat(of_group, AxisData(None, n), parts, [0] * len(parts))
    out = rules.to_front(out, dim, n)
    whole = shapes.reshape(out, (axis_data.size, *rules.shape_of(out)[2:]))
    return _rows(whole, np.argsort(order).astype(np.int32)), 0


def _in_unequal_groups(
    prim: Primitive, axis_data: AxisData, args: Sequence[Value], dims: Dims,
    groups: Sequence[Sequence[int]], params: Mapping[str, Any],
) -> tuple[Value, int]:  # fmt: skip
    """Applies a reduction within groups of different sizes, one group after another."""
    x = rules.to_front(args[0], dims[0], axis_data.size)
    reductions: list[Any] = []
    for group in groups:
        part = AxisData(axis_data.name, len(group), of_devices=True)
        with extend_axis_env((axis_data.name, len(group))):
            out, dim = prim.rules["batch_with_axis"](
                part, [_rows(x, np.asarray(group, np.int32))], [0], axis_index_groups=None, **params
            )
        reductions.append(rules.to_front(out, dim, len(group)))
    order = np.concatenate([np.asarray(group, np.int32) for group in groups])
    whole = calculus.concatenate(*reductions, dimension=0)
    return _rows(whole, np.argsort(order).astype(np.int32)), 0


class _OwnAxis:
    """A unique axis name that no program uses."""


def _in_flattened_groups(
    prim: Primitive, x: Value, over: str, groups: Groups, params: Mapping[str, Any]
) -> Array:
    """Runs a collective within groups of devices that are numbered across several mesh axes.

    Every device gathers all operands, computes all results along one axis, and selects its own.
    """
    from jitney.primitives.indexing.dynamic_slice import dynamic_index_in_dim

    names = params[over]
    n = math.prod([axis_extent(name, prim.name) for name in names])
    whole = calculus.all_gather(
        x, all_gather_dimension=0, axis_name=names, axis_size=n, axis_index_groups=None, tiled=False
    )
    own = _OwnAxis()
    inner_params = {**params, over: (own,)}

    def fun(part: Array) -> list[Value]:
        return [prim.bind(part, axis_index_groups=groups, **inner_params)]

    (out,), (dim,) = batch_flat(fun, AxisData(own, n, of_devices=True), [whole], [0])
    out = rules.to_front(out, dim, n)
    return dynamic_index_in_dim(out, axis_index(names), keepdims=False)


def _rows(x: Value, numbers: np.ndarray) -> Array:
    """Takes rows of `x` by index."""
    from jitney.primitives.indexing.gather import index_take

    return index_take(x, (numbers,), (0,))
