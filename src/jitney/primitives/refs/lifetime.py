"""Creation and end of references: `new_ref`, `empty_ref`, `freeze`, `free_ref`.

Within a program, a reference is the result of an equation. In derivatives, `tangent_ref` creates a
separate reference for tangents, since a value with a tangent may be written to a reference later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.shape_dtype import abstractify
from jitney.core.pytree import pytrees
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.core.types.refs import AbstractRef, ReadEffect, WriteEffect, array_type, is_ref
from jitney.primitives import calculus
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.refs.access import swap_p
from jitney.primitives.refs.ref import Ref, TransformedRef
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.execution.eager import owned
from jitney.transforms.algebra import algebra
from jitney.transforms.batch import AxisData, move_to
from jitney.transforms.linearize import has_tangent
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import (
        BatchDim,
        Dims,
        Param,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

new_ref_p = declare("new_ref")
empty_ref_p = declare("empty_ref")
tangent_ref_p = declare("tangent_ref")
freeze_p = declare("freeze")
free_ref_p = declare("free_ref", multiple_results=True)
for _prim in (new_ref_p, empty_ref_p, tangent_ref_p, freeze_p, free_ref_p):
    _prim.absent("eager", why="its operand is a Ref, not a NumPy array; see its `impl`")
    _prim.absent("lower", why="programs are compiled after references are discharged")
    _prim.absent("transpose", why="linear programs are transposed after references are discharged")
for _prim in (new_ref_p, empty_ref_p, tangent_ref_p):
    _prim.makes_ref = True
tangent_ref_p.deferred = True
freeze_p.effectful = free_ref_p.effectful = True
for _prim in (new_ref_p, empty_ref_p, tangent_ref_p, freeze_p):
    _prim.declares_sharding = True

_WHOLE = pytrees.tree_structure(())

# --- new references -------------------------------------------------------------------------------


@new_ref_p.abstract
def _new_ref_abstract(
    x: AbstractValue, *, kind: Param, memory_space: Param, pin: bool
) -> AbstractRef:
    if isinstance(x, AbstractRef):
        raise TypeError(f"a Ref must hold an array, not another Ref: {x}")
    return AbstractRef(x.strip_weak_type(), memory_space, kind)


def _strongly_typed(x: Value) -> Value:
    """Makes `x` strongly typed, like all contents of references."""
    aval = get_aval(x)
    if not isinstance(aval, ShapedArray) or not aval.weak_type:
        return x
    return calculus.convert_element_type(x, new_dtype=aval.dtype)


@empty_ref_p.abstract
def _empty_ref_abstract(*, memory_space: Param, pin: bool, ty: AbstractValue) -> AbstractRef:
    return AbstractRef(ty, memory_space)


@tangent_ref_p.abstract
def _tangent_ref_abstract(*, ty: AbstractRef) -> AbstractRef:
    return ty


@new_ref_p.def_impl
def _new_ref_def_impl(x: Value, *, kind: Param, memory_space: Param, pin: bool) -> Ref:
    value = _strongly_typed(x)
    array = value if type(value) is ArrayImpl else owned(value)
    return Ref(AbstractRef(array.aval, memory_space, kind), array)


@empty_ref_p.def_impl
def _empty_ref_def_impl(*, memory_space: Param, pin: bool, ty: AbstractValue) -> Ref:
    return Ref(AbstractRef(ty, memory_space), owned(algebra.zeros(ty)))


@tangent_ref_p.def_impl
def _tangent_ref_def_impl(*, ty: AbstractRef) -> Ref:
    return Ref(ty, owned(algebra.zeros(array_type(ty))))


@new_ref_p.discharge
def _new_ref_discharge(
    which: Sequence[bool], x: Value, **_: Param
) -> tuple[Value, Sequence[Value | None]]:
    return _strongly_typed(x), [None]


@empty_ref_p.discharge
def _empty_ref_discharge(
    which: Sequence[bool], *, ty: AbstractValue, **_: Param
) -> tuple[Value, Sequence[Value | None]]:
    return algebra.zeros(ty), []


@tangent_ref_p.discharge
def _tangent_ref_discharge(
    which: Sequence[bool], *, ty: AbstractRef
) -> tuple[Value, Sequence[Value | None]]:
    return algebra.zeros(array_type(ty)), []


def _tangent_of(ref: Value, tangent: Tangent) -> Tangent:
    """Returns a reference for the tangents of `ref`, or zero if its dtype has no tangents."""
    aval = get_aval(ref).to_tangent_aval()
    assert isinstance(aval, AbstractRef)
    if not has_tangent(aval.inner_aval):
        return Zero(aval)
    dref = tangent_ref_p.bind(ty=aval)
    if type(tangent) is not Zero:
        swap_p.bind(dref, cast("Any", tangent), tree=_WHOLE)
    return dref


@new_ref_p.jvp
def _new_ref_jvp(primals: Primals, tangents: Tangents, **params: Param) -> tuple[Value, Tangent]:
    ref = new_ref_p.bind(*primals, **params)
    return ref, _tangent_of(ref, tangents[0])


@empty_ref_p.jvp
def _empty_ref_jvp(primals: Primals, tangents: Tangents, **params: Param) -> tuple[Value, Tangent]:
    ref = empty_ref_p.bind(**params)
    return ref, _tangent_of(ref, Zero(array_type(get_aval(ref)).to_tangent_aval()))


@tangent_ref_p.jvp
def _tangent_ref_jvp(
    primals: Primals, tangents: Tangents, *, ty: AbstractRef
) -> tuple[Value, Tangent]:
    """Evaluates `tangent_ref` as a `new_ref` filled with zeros.

    For an outer derivative, the tangents of the inner one are ordinary values, so their reference
    gets a tangent reference, too.
    """
    inner = array_type(ty)
    ref = new_ref_p.bind(
        algebra.zeros(inner), kind=ty.kind, memory_space=ty.memory_space, pin=False
    )
    return ref, _tangent_of(ref, Zero(inner.to_tangent_aval()))


@new_ref_p.batch_with_axis
def _new_ref_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, **params: Param
) -> tuple[Value, BatchDim]:
    """Batches the reference even if the array is unbatched, since written values may be batched."""
    dim = 0 if dims[0] is None else dims[0]
    whole = move_to(args[0], dims[0], dim, axis_data.size, axis_data.along)
    return new_ref_p.bind(whole, **params), dim


@empty_ref_p.batch_with_axis
def _empty_ref_batch_with_axis(
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    ty: AbstractValue,
    **params: Param,
) -> tuple[Value, BatchDim]:
    return empty_ref_p.bind(ty=_batched(ty, axis_data), **params), 0


@tangent_ref_p.batch_with_axis
def _tangent_ref_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, ty: AbstractRef
) -> tuple[Value, BatchDim]:
    wide = AbstractRef(_batched(ty.inner_aval, axis_data), ty.memory_space, ty.kind)
    return tangent_ref_p.bind(ty=wide), 0


def _batched(inner: AbstractValue, axis_data: AxisData) -> AbstractValue:
    """Returns the type of an array with an additional batch axis."""
    if isinstance(inner, ShapedArray):
        return inner.inc_rank(axis_data.size, 0, axis_data.along)
    return inner.update(shape=(axis_data.size, *inner.shape))


# --- the end ----------------------------------------------------------------------------------------


@freeze_p.abstract
def _freeze_abstract(ref: AbstractValue) -> tuple[AbstractValue, Effects]:
    if not isinstance(ref, AbstractRef):
        raise TypeError(f"freeze takes a Ref, got {ref}")
    return ref.inner_aval, {ReadEffect(0)}


@freeze_p.def_impl
def _freeze_def_impl(ref: Ref) -> Array:
    return ref.content()


@freeze_p.discharge
def _freeze_discharge(which: Sequence[bool], x: Value) -> tuple[Value, Sequence[Value | None]]:
    return x, [None]


@freeze_p.jvp
def _freeze_jvp(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
    dref: Any = tangents[0]
    return freeze_p.bind(*primals), freeze_p.bind(dref)


@freeze_p.batch
def _freeze_batch(args: Sequence[Value], dims: Dims) -> tuple[Value, BatchDim]:
    return freeze_p.bind(*args), dims[0]


@free_ref_p.abstract
def _free_ref_abstract(ref: AbstractValue) -> tuple[list[AbstractValue], Effects]:
    if not isinstance(ref, AbstractRef):
        raise TypeError(f"free_ref takes a Ref, got {ref}")
    return [], {WriteEffect(0)}


@free_ref_p.def_impl
def _free_ref_def_impl(ref: Ref) -> list[Value]:
    return []


@free_ref_p.discharge
def _free_ref_discharge(
    which: Sequence[bool], x: Value
) -> tuple[Sequence[Value], Sequence[Value | None]]:
    return [], [None]


@free_ref_p.jvp
def _free_ref_jvp(
    primals: Primals, tangents: Tangents
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    return free_ref_p.bind(*primals), []


@free_ref_p.batch
def _free_ref_batch(
    args: Sequence[Value], dims: Dims
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    return free_ref_p.bind(*args), []


# --- public functions -----------------------------------------------------------------------------


@api_boundary
def new_ref(
    init_val: ArrayLike,
    *,
    memory_space: object = None,
    kind: str | None = None,
    pin: bool = False,
) -> Ref:
    """Creates a mutable reference to an array.

    Args:
      init_val: the initial contents, an array or a scalar. The array itself is never modified.
      memory_space: accepted for compatibility; there is only one memory.
      kind: a label that becomes part of the reference's type.
      pin: accepted for compatibility; the memory of references is never moved.

    Returns: a `Ref`; within a traced function, a tracer that is an instance of `Ref`.

    Raises:
      TypeError: if `init_val` is not an array.

    Example:
      >>> ref = jax.new_ref(jnp.arange(3))
      >>> ref[0] = 10
      >>> ref[1:] += 5
      >>> ref[...]
      Array([10,  6,  7], dtype=int32)
    """
    if is_ref(init_val):
        raise TypeError(
            "a Ref must hold an array, not another Ref; jax.new_ref(ref[...]) makes a copy"
        )
    return new_ref_p.bind(as_value(init_val), kind=kind, memory_space=memory_space, pin=bool(pin))


@api_boundary
def empty_ref(ty: ArrayLike, memory_space: object = None, pin: bool = False) -> Ref:
    """Creates a mutable reference to an array of the given type, with unspecified contents.

    Args:
      ty: a `ShapeDtypeStruct`, or anything with a shape and a dtype.
      memory_space: accepted for compatibility; there is only one memory.
      pin: accepted for compatibility; the memory of references is never moved.

    Raises:
      TypeError: if `ty` has no shape and dtype.
    """
    return empty_ref_p.bind(memory_space=memory_space, pin=bool(pin), ty=abstractify(ty))


def _reference(ref: Ref, name: str) -> Any:
    if isinstance(ref, TransformedRef):
        raise ValueError(f"{name} takes a Ref, not a view such as ref.at[...]; pass ref itself")
    if not is_ref(ref):
        raise TypeError(f"{name} takes a Ref, got {ref!r} of type {type(ref)}")
    return ref


@api_boundary
def freeze(ref: Ref) -> Array:
    """Returns the array of a reference, whose use ends with this call.

    Args:
      ref: a reference.

    Returns: the array. Later writes to `ref` do not change the array; they are discouraged, but
      raise no error.

    Raises:
      TypeError: if `ref` is not a reference.
      ValueError: if `ref` is a view of a reference.

    Example:
      >>> ref = jax.new_ref(jnp.zeros(2))
      >>> ref[0] = 1.0
      >>> jax.freeze(ref)
      Array([1., 0.], dtype=float32)
    """
    return freeze_p.bind(_reference(ref, "freeze"))


@api_boundary
def free_ref(ref: Ref) -> None:
    """Marks the end of the use of a reference. Its memory is freed together with the object.

    Args:
      ref: a reference.

    Raises:
      TypeError: if `ref` is not a reference.
      ValueError: if `ref` is a view of a reference.
    """
    free_ref_p.bind(_reference(ref, "free_ref"))
