"""`get`, `swap` and `addupdate`: reads and writes of references.

The operands are a reference, followed by the new elements (for `swap` and `addupdate`) and the
leaves of a tuple of steps. A step is an `NDIndexer` or a `View`, and applies to the result of the
preceding step. `set` is a `swap` whose result is unused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program import text
from jitney.core.program.jaxpr import JaxprEqn, Literal
from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types import varying
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.core.types.refs import (
    AbstractRef,
    AccumEffect,
    ReadEffect,
    WriteEffect,
    array_type,
    is_ref,
)
from jitney.primitives.elementwise.convert import convert
from jitney.primitives.refs.elements import (
    accumulate,
    change_through,
    read_through,
    write,
)
from jitney.primitives.refs.indexer import NDIndexer, Operand, indexer_of, text_of
from jitney.primitives.refs.ref import Ref, TransformedRef
from jitney.primitives.refs.slices import Slice
from jitney.primitives.refs.views import BitcastTransform, Step, type_through
from jitney.transforms.batch import AxisData, batch_flat, move_to
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.core.typing import Array, ArrayLike, Index
    from jitney.primitives.rule_types import BatchDim, Dims, Primals, Tangent, Tangents, Value

get_p = declare("get")
swap_p = declare("swap")
addupdate_p = declare("addupdate", multiple_results=True)
for _prim in (get_p, swap_p, addupdate_p):
    _prim.effectful = _prim.declares_sharding = True
    _prim.absent("eager", why="it changes a Ref, which is not a NumPy array; see its `impl`")
    _prim.absent("lower", why="programs are compiled after references are discharged")
    _prim.absent("transpose", why="linear programs are transposed after references are discharged")


def _indexers(tree: PyTreeDef, leaves: Sequence[Any]) -> tuple[Step, ...]:
    return pytrees.tree_unflatten(tree, leaves)


# --- types --------------------------------------------------------------------------------------


def _picked(name: str, ref: AbstractValue, tree: PyTreeDef, leaves: Sequence[Any]) -> AbstractValue:
    """Returns the type of the elements that the steps select."""
    if not isinstance(ref, AbstractRef):
        raise ValueError(
            f"ref.{name}: the first argument must be a Ref, the result of jax.new_ref, but is {ref}"
        )
    steps = _indexers(tree, leaves)
    return type_through(array_type(ref), steps) if steps else ref.inner_aval


def _check_elements(name: str, wanted: AbstractValue, elements: AbstractValue) -> None:
    if isinstance(elements, AbstractRef):
        raise ValueError(
            f"ref.{name}: a Ref cannot be an element of a Ref, but the value is {elements}"
        )
    if not isinstance(wanted, ShapedArray):
        if wanted != elements:
            raise ValueError(
                f"ref.{name}: the value must have the Ref's type, {wanted}, but is {elements}"
            )
        return
    if wanted.shape != elements.shape:
        raise ValueError(
            f"ref.{name}: the value must have shape {wanted.shape}, like the indexed elements, "
            f"but has shape {elements.shape}; writes do not broadcast, so use jnp.broadcast_to"
        )
    if wanted.dtype != elements.dtype:
        raise ValueError(
            f"ref.{name}: the value must have the Ref's dtype, {wanted.dtype}, but is "
            f"{elements.dtype}; convert it with .astype"
        )


@get_p.abstract
def _get_abstract(
    ref: AbstractValue, *leaves: AbstractValue, tree: PyTreeDef
) -> tuple[AbstractValue, Effects]:
    return _picked("get", ref, tree, leaves), {ReadEffect(0)}


@swap_p.abstract
def _swap_abstract(
    ref: AbstractValue, x: AbstractValue, *leaves: AbstractValue, tree: PyTreeDef
) -> tuple[AbstractValue, Effects]:
    out = _picked("swap", ref, tree, leaves)
    _check_elements("swap", out, x)
    return out, {WriteEffect(0)}


@addupdate_p.abstract
def _addupdate_abstract(
    ref: AbstractValue, x: AbstractValue, *leaves: AbstractValue, tree: PyTreeDef
) -> tuple[list[AbstractValue], Effects]:
    _check_elements("addupdate", _picked("addupdate", ref, tree, leaves), x)
    return [], {AccumEffect(0)}


# A read value varies like the array and the indices; a written value must not vary more than the
# array.


@get_p.varying
def _get_varying(
    avals: Sequence[AbstractValue], params: Mapping[str, Any], result: AbstractValue
) -> AbstractValue:
    return _varying_as(result, avals[0], *avals[1:])


@swap_p.varying
def _swap_varying(
    avals: Sequence[AbstractValue], params: Mapping[str, Any], result: AbstractValue
) -> AbstractValue:
    _check_varies("swap", *avals)
    return _varying_as(result, avals[0], *avals[2:])


@addupdate_p.varying
def _addupdate_varying(
    avals: Sequence[AbstractValue], params: Mapping[str, Any], results: Any
) -> Sequence[AbstractValue]:
    _check_varies("addupdate", *avals)
    return results


def _varying_as(
    result: AbstractValue, ref: AbstractValue, *indices: AbstractValue
) -> AbstractValue:
    axes = varying.axes_of(array_type(ref)).union(*map(varying.axes_of, indices))
    return varying.along(result, axes)


def _check_varies(what: str, ref: AbstractValue, *written: AbstractValue) -> None:
    """Checks that a reference varies along the same mesh axes as the values that are written to it.

    Raises:
      ValueError: if a written value varies along further axes.
      UnequalAxes: if a written value varies along fewer axes.
    """
    own, axes = varying.axes_of(array_type(ref)), varying.axes_of(written[0])
    missing = frozenset[Any]().union(*map(varying.axes_of, written)) - own
    if not missing and axes != own:
        raise varying.UnequalAxes(own)
    if missing:
        raise ValueError(
            f"{what}: devices would write different values along {tuple(missing)} to the array of "
            f"{ref.str_short()}, which must be the same on all of them. Create the reference from "
            "an array that varies along these axes, using jax.lax.pcast(..., to='varying') or "
            "in_specs that mention the axes"
        )


# --- evaluation ---------------------------------------------------------------------------------


@get_p.def_impl
def _get_def_impl(ref: Ref, *leaves: Value, tree: PyTreeDef) -> Array:
    _picked("get", get_aval(ref), tree, leaves)
    return ref.read(_indexers(tree, leaves))


@swap_p.def_impl
def _swap_def_impl(ref: Ref, x: Value, *leaves: Value, tree: PyTreeDef) -> Array:
    _check_elements("swap", _picked("swap", get_aval(ref), tree, leaves), get_aval(x))
    indexers = _indexers(tree, leaves)
    old = ref.read(indexers)
    ref.change(indexers, x, write)
    return old


@addupdate_p.def_impl
def _addupdate_def_impl(ref: Ref, x: Value, *leaves: Value, tree: PyTreeDef) -> list[Value]:
    _check_elements("addupdate", _picked("addupdate", get_aval(ref), tree, leaves), get_aval(x))
    ref.change(_indexers(tree, leaves), x, accumulate)
    return []


@get_p.discharge
def _get_discharge(
    which: Sequence[bool], x: Value, *leaves: Value, tree: PyTreeDef
) -> tuple[Value, Sequence[Value | None]]:
    return read_through(x, _indexers(tree, leaves)), [None] * len(which)


@swap_p.discharge
def _swap_discharge(
    which: Sequence[bool], x: Value, new: Value, *leaves: Value, tree: PyTreeDef
) -> tuple[Value, Sequence[Value | None]]:
    indexers = _indexers(tree, leaves)
    content = change_through(x, indexers, new, write)
    return read_through(x, indexers), [content, None, *[None] * len(leaves)]


@addupdate_p.discharge
def _addupdate_discharge(
    which: Sequence[bool], x: Value, new: Value, *leaves: Value, tree: PyTreeDef
) -> tuple[Sequence[Value], Sequence[Value | None]]:
    content = change_through(x, _indexers(tree, leaves), new, accumulate)
    return [], [content, None, *[None] * len(leaves)]


# --- derivatives --------------------------------------------------------------------------------


def _tangent_ref(what: str, ref: Value, tangents: Tangents) -> Value | None:
    """Returns the reference for the tangents of `ref`, or None if no tangent is written.

    Raises:
      ValueError: if a tangent is written, but `ref` has no reference for tangents.
    """
    dref: Any = tangents[0]
    if type(dref) is not Zero:
        return dref
    if type(tangents[1]) is Zero:
        return None
    raise ValueError(
        f"{what}: a value with a tangent cannot be stored in {get_aval(ref).str_short()}, which "
        "has no tangent. Create the Ref within the differentiated function, or store "
        "lax.stop_gradient of the value"
    )


def _has_bitcast(tree: PyTreeDef) -> bool:
    """Returns whether a step reinterprets bits, which has no derivative."""
    steps = pytrees.tree_unflatten(tree, [0] * tree.num_leaves)
    return any([isinstance(step, BitcastTransform) for step in steps])


def _check_no_bitcast(what: str, tree: PyTreeDef) -> None:
    if _has_bitcast(tree):
        raise NotImplementedError(
            f"{what} through a bitcast of a reference cannot be differentiated, since bits have no "
            "derivative. Use the reference itself"
        )


@get_p.jvp
def _get_jvp(primals: Primals, tangents: Tangents, *, tree: PyTreeDef) -> tuple[Value, Tangent]:
    out = get_p.bind(*primals, tree=tree)
    dref: Any = tangents[0]
    if type(dref) is Zero or _has_bitcast(tree):
        return out, Zero(get_aval(out).to_tangent_aval())
    return out, get_p.bind(dref, *primals[1:], tree=tree)


@swap_p.jvp
def _swap_jvp(primals: Primals, tangents: Tangents, *, tree: PyTreeDef) -> tuple[Value, Tangent]:
    ref, _, *leaves = primals
    dref = _tangent_ref("a set/swap", ref, tangents)
    out = swap_p.bind(*primals, tree=tree)
    if dref is None:
        return out, Zero(get_aval(out).to_tangent_aval())
    _check_no_bitcast("a set/swap", tree)
    return out, swap_p.bind(dref, instantiate(tangents[1]), *leaves, tree=tree)


@addupdate_p.jvp
def _addupdate_jvp(
    primals: Primals, tangents: Tangents, *, tree: PyTreeDef
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    ref, _, *leaves = primals
    dref = _tangent_ref("an addupdate", ref, tangents)
    addupdate_p.bind(*primals, tree=tree)
    dx: Any = tangents[1]
    if dref is not None:
        _check_no_bitcast("an addupdate", tree)
        addupdate_p.bind(dref, instantiate(dx), *leaves, tree=tree)
    return [], []


# --- batches ------------------------------------------------------------------------------------

_WHOLE: tuple[list[Any], PyTreeDef] = pytrees.tree_flatten(())


def _with_whole_axis(
    indexers: tuple[Step, ...], dims: Sequence[int | None], dim: int, size: int
) -> tuple[tuple[NDIndexer, ...], int] | None:
    """Adds a complete batch axis at `dim` to indexers; returns (indexers, its position in results).

    Returns None if this is impossible: if positions are batched, if they are arrays, whose axes the
    batch axis might separate, or if there are views.
    """
    if any([d is not None for d in dims]):
        return None
    wider: list[NDIndexer] = []
    for i in indexers:
        if not isinstance(i, NDIndexer) or i.has_arrays:
            return None
        indices = (*i.indices[:dim], Slice(0, size), *i.indices[dim:])
        wider.append(NDIndexer(indices, (*i.shape[:dim], size, *i.shape[dim:]), ()))
        dim = len([k for k in i.slice_axes if k < dim])
    return tuple(wider), dim


def _batched(
    axis_data: AxisData,
    ref: Value,
    dim: int | None,
    operands: Sequence[Any],
    dims: Sequence[int | None],
    pure: Callable[..., list[Any]],
) -> tuple[list[Value], list[BatchDim]]:
    """Applies `pure`(contents of `ref`, *operands) for each index of the batch axis."""
    whole = get_p.bind(ref, tree=_WHOLE[1])
    return batch_flat(pure, axis_data, [whole, *operands], [dim, *dims])


@get_p.batch_with_axis
def _get_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, tree: PyTreeDef
) -> tuple[Value, BatchDim]:
    (ref, *leaves), (dim, *leaf_dims) = args, dims
    if all([d is None for d in dims]):
        return get_p.bind(*args, tree=tree), None
    if dim is not None:
        wider = _with_whole_axis(_indexers(tree, leaves), leaf_dims, dim, axis_data.size)
        if wider is not None:
            wider_leaves, inner = pytrees.tree_flatten(wider[0])
            return get_p.bind(ref, *wider_leaves, tree=inner), wider[1]

    def pure(x: Value, *leaves: Value) -> list[Value]:
        return [read_through(x, _indexers(tree, leaves))]

    (out,), (out_dim,) = _batched(axis_data, ref, dim, leaves, leaf_dims, pure)
    return out, out_dim


def _check_ref_is_batched(what: str, ref: Value, dim: int | None) -> None:
    if dim is None:
        raise ValueError(
            f"{what}: a value mapped by vmap cannot be stored in {get_aval(ref).str_short()}, "
            "which is not mapped. Pass the Ref to the mapped function as an argument, or create "
            "it within the function"
        )


@swap_p.batch_with_axis
def _swap_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, tree: PyTreeDef
) -> tuple[Value, BatchDim]:
    (ref, x, *leaves), (dim, x_dim, *leaf_dims) = args, dims
    if all([d is None for d in dims]):
        return swap_p.bind(*args, tree=tree), None
    _check_ref_is_batched("a set/swap", ref, dim)
    assert dim is not None
    wider = _with_whole_axis(_indexers(tree, leaves), leaf_dims, dim, axis_data.size)
    if wider is not None:
        wider_leaves, inner = pytrees.tree_flatten(wider[0])
        moved = move_to(x, x_dim, wider[1], axis_data.size)
        return swap_p.bind(ref, moved, *wider_leaves, tree=inner), wider[1]

    def pure(x: Value, new: Value, *leaves: Value) -> list[Value]:
        indexers = _indexers(tree, leaves)
        return [read_through(x, indexers), change_through(x, indexers, new, write)]

    outs, places = _batched(axis_data, ref, dim, [x, *leaves], [x_dim, *leaf_dims], pure)
    swap_p.bind(ref, move_to(outs[1], places[1], dim, axis_data.size), tree=_WHOLE[1])
    return outs[0], places[0]


@addupdate_p.batch_with_axis
def _addupdate_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, tree: PyTreeDef
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    (ref, x, *leaves), (dim, x_dim, *leaf_dims) = args, dims
    if all([d is None for d in dims]):
        return addupdate_p.bind(*args, tree=tree), []
    _check_ref_is_batched("an addupdate", ref, dim)
    assert dim is not None
    wider = _with_whole_axis(_indexers(tree, leaves), leaf_dims, dim, axis_data.size)
    if wider is not None:
        wider_leaves, inner = pytrees.tree_flatten(wider[0])
        moved = move_to(x, x_dim, wider[1], axis_data.size)
        return addupdate_p.bind(ref, moved, *wider_leaves, tree=inner), []

    def pure(x: Value, new: Value, *leaves: Value) -> list[Value]:
        return [change_through(x, _indexers(tree, leaves), new, accumulate)]

    (out,), (place,) = _batched(axis_data, ref, dim, [x, *leaves], [x_dim, *leaf_dims], pure)
    swap_p.bind(ref, move_to(out, place, dim, axis_data.size), tree=_WHOLE[1])
    return [], []


# --- text ---------------------------------------------------------------------------------------


def _place_text(eqn: JaxprEqn, first: int, context: text.Context) -> str:
    """Returns the text of a reference with its indices, which start at operand `first`."""
    operands = [
        Operand(str(a.val) if isinstance(a, Literal) else context.name(a))
        for a in eqn.invars[first:]
    ]
    steps: tuple[Step, ...] = pytrees.tree_unflatten(eqn.params["tree"], operands)
    shown = "".join([f"[{text_of(i)}]" if isinstance(i, NDIndexer) else f"{{{i}}}" for i in steps])
    shown = shown or "[...]"
    return text.atom_text(eqn.invars[0], context) + shown


def _print_get(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    out = text.binder_doc(eqn.outvars[0], context, settings)
    return text.concat(out, text.Text(" <- " + _place_text(eqn, 1, context)))


def _print_swap(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    place = _place_text(eqn, 2, context)
    new = text.atom_text(eqn.invars[1], context)
    if context.name(eqn.outvars[0]) == "_":
        return text.Text(f"{place} <- {new}")
    out = text.binder_doc(eqn.outvars[0], context, settings)
    return text.concat(out, text.Text(f", {place} <- {place}, {new}"))


def _print_addupdate(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    return text.Text(f"{_place_text(eqn, 2, context)} += {text.atom_text(eqn.invars[1], context)}")


text.printing_rules["get"] = _print_get
text.printing_rules["swap"] = _print_swap
text.printing_rules["addupdate"] = _print_addupdate


# --- public functions -----------------------------------------------------------------------------


def _located(
    ref: Ref | TransformedRef, index: Index | None, name: str
) -> tuple[Any, tuple[Step, ...]]:
    """Returns (reference, steps) for the elements at `index` of `ref`, a reference or a view.

    If `ref` is a view, the result has the reference on which it is based, and the view's steps come
    first.
    """
    indexers: tuple[Step, ...] = ()
    if isinstance(ref, TransformedRef):
        ref, indexers = ref.ref, ref.transforms
    if not is_ref(ref):
        raise ValueError(f"Can only call `{name}` on a `Ref`, got {ref!r} of type {type(ref)}")
    given: object = index
    is_whole = given is None or given is Ellipsis or (isinstance(given, tuple) and not given)
    if not is_whole:
        shape = type_through(array_type(get_aval(ref)), indexers).shape
        indexers = (*indexers, indexer_of(index, shape))
    return ref, indexers


def _as_elements(name: str, ref: Value, indexers: tuple[Step, ...], x: ArrayLike) -> ArrayLike:
    """Converts `x` to the dtype of the elements if it is weakly typed and of a compatible kind."""
    if is_ref(x):
        raise ValueError(f"`{name}`: Cannot store a Ref inside of a Ref: {get_aval(x)}")
    aval = get_aval(x)
    if not isinstance(aval, ShapedArray) or not aval.weak_type:
        return x
    inner = type_through(array_type(get_aval(ref)), indexers)
    if aval.dtype.kind != inner.dtype.kind and not (
        dtypes.issubdtype(aval.dtype, np.floating) and dtypes.issubdtype(inner.dtype, np.floating)
    ):
        _check_elements(name, inner.update(shape=aval.shape), aval)
    if type(x) in (int, float, complex):
        return np.asarray(x).astype(inner.dtype)[()]
    return convert(x, inner.dtype, False)


@api_boundary
def get(ref: Ref | TransformedRef, idx: Index | None = None) -> Array:
    """Returns the elements of a reference at an index: `ref[idx]`.

    Args:
      ref: a reference, or a view of a reference, `ref.at[...]`.
      idx: an index, which consists of slices with positive steps, integers and integer arrays; by
        default, the entire array. New axes and masks are not supported.

    Raises:
      ValueError: if `ref` is not a reference, or if a static position is out of range.

    Example:
      >>> numbers = jax.new_ref(jnp.arange(4))
      >>> jax.ref.get(numbers, slice(1, 3))
      Array([1, 2], dtype=int32)
    """
    base, indexers = _located(ref, idx, "ref_get")
    leaves, tree = pytrees.tree_flatten(indexers)
    return get_p.bind(base, *leaves, tree=tree)


def swap(
    ref: Ref | TransformedRef,
    idx: Index | None,
    value: ArrayLike,
    _function_name: str = "ref_swap",
) -> Array:
    """Writes `value` to a reference at an index, and returns the previous elements.

    Args:
      ref: a reference, or a view of a reference.
      idx: as for `get`.
      value: the new elements, with exactly the shape and dtype of the old elements; a Python scalar
        adopts the dtype.

    Raises:
      ValueError: if `ref` is not a reference, or if shapes or dtypes differ (there is no
        broadcasting).

    Example:
      >>> ref = jax.new_ref(jnp.arange(4))
      >>> jax.ref.swap(ref, 0, 10), ref[...]
      (Array(0, dtype=int32), Array([10,  1,  2,  3], dtype=int32))
    """
    base, indexers = _located(ref, idx, _function_name)
    leaves, tree = pytrees.tree_flatten(indexers)
    return swap_p.bind(base, _as_elements("swap", base, indexers, value), *leaves, tree=tree)


def set(ref: Ref | TransformedRef, idx: Index | None, value: ArrayLike) -> None:  # noqa: A001
    """Writes `value` to a reference at an index, like `ref[idx] = value`.

    Args:
      ref: a reference, or a view of a reference.
      idx: as for `get`.
      value: as for `swap`.

    Raises:
      ValueError: if `ref` is not a reference, or if shapes or dtypes differ (there is no
        broadcasting).

    Example:
      >>> pair = jax.new_ref(jnp.zeros(2))
      >>> jax.ref.set(pair, 0, 1.0)
      >>> pair
      Ref([1., 0.], dtype=float32)
    """
    swap(ref, idx, value, _function_name="ref_set")


@api_boundary
def addupdate(ref: Ref | TransformedRef, idx: Index | None, x: ArrayLike) -> None:
    """Adds `x` to the elements of a reference at an index; for repeated indices, values add up.

    Args:
      ref: a reference, or a view of a reference.
      idx: as for `get`.
      x: as for `swap`.

    Raises:
      ValueError: if `ref` is not a reference, or if shapes or dtypes differ (there is no
        broadcasting).

    Example:
      >>> ref = jax.new_ref(jnp.zeros(2))
      >>> jax.ref.addupdate(ref, (jnp.array([0, 0]),), jnp.ones(2))
      >>> ref
      Ref([2., 0.], dtype=float32)
    """
    base, indexers = _located(ref, idx, "ref_addupdate")
    leaves, tree = pytrees.tree_flatten(indexers)
    addupdate_p.bind(base, _as_elements("addupdate", base, indexers, x), *leaves, tree=tree)
