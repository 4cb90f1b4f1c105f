"""`pcast` and its primitives: casts of the type of a value along mesh axes.

Casts compute nothing; they exist for their derivatives. If a value that is equal on all devices is
cast to one that may vary (`pvary`), its cotangent is the sum of the devices' cotangents
(`psum_invariant`). If it is cast to *reduced* instead, its cotangent is *unreduced*: partial sums,
which need not be summed immediately or on all devices. `shard_map` with `check_vma` inserts `pvary`
and `reduced_vary_cast` where they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.pytree import pytrees
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import get_abstract_mesh
from jitney.core.sharding_in_types import varying
from jitney.core.tracing.pvary import (
    preduced_p,
    pvary_p,
    reduced_vary_cast_p,
    vary_unreduced_cast_p,
)
from jitney.core.tracing.trace import state
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval
from jitney.primitives import calculus, rules
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.parallel.collectives import (
    axis_extent,
    checked_names,
    psum_invariant_p,
)

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Array, AxisName
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Operand, Value
    from jitney.transforms.batch import AxisData

T = TypeVar("T")


# The types of a cast: axes move from the first set of a ManualAxisType to the second. A value that
# is in none of the sets is equal on all devices.
_CASTS: dict[Primitive, tuple[str | None, str]] = {
    pvary_p: (None, "varying"),
    preduced_p: (None, "reduced"),
    reduced_vary_cast_p: ("reduced", "varying"),
    vary_unreduced_cast_p: ("varying", "unreduced"),
}


def relation(manual: ManualAxisType, names: Sequence[AxisName]) -> str | None:
    """Returns the set of `manual` that contains the axes `names`, or None if none does.

    Returns "mixed" if the axes are in different sets.
    """
    relations = {
        next((what for what in _SETS if name in getattr(manual, what)), None) for name in names
    }
    return relations.pop() if len(relations) == 1 else "mixed" if relations else None


_SETS = ("varying", "unreduced", "reduced")


def _cast(prim: Primitive, origin: str | None, to: str) -> None:
    """Sets the rules of a cast, except its transpose."""

    @prim.abstract
    def abstract_rule(x: AbstractValue, *, axes: Sequence[AxisName]) -> AbstractValue:
        if not isinstance(x, ShapedArray):
            return x
        manual = x.manual_axis_type
        for what in _SETS:
            wrong = getattr(manual, what).intersection(axes)
            if what == origin:
                wrong = frozenset(axes) - getattr(manual, what)
            elif what == to and origin is None:
                continue  # some of the axes may already be in the target set
            if wrong:
                wanted = "the same on all devices" if origin is None else origin
                raise ValueError(
                    f"{prim.name.removesuffix('_p')}: the operand must be {wanted} along "
                    f"{tuple(axes)}, but {x.str_short()} is not along {tuple(wrong)}"
                )
        changes = {to: getattr(manual, to).union(axes)}
        if origin is not None:
            changes[origin] = getattr(manual, origin).difference(axes)
        return x.update(manual_axis_type=manual.update(**changes))

    prim.varying(varying.as_declared)
    prim.declares_sharding = True

    @prim.eager
    def eager_rule(x: np.ndarray, *, axes: Sequence[AxisName]) -> np.ndarray:
        return x

    @prim.lower
    def lower_rule(b: Builder, x: Node, *, axes: Sequence[AxisName]) -> Node:
        return x

    @prim.batch_with_axis
    def batch_with_axis_rule(
        axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axes: Sequence[AxisName]
    ) -> tuple[Value, BatchDim]:
        (x,), (d,) = args, dims
        other_axes = tuple(
            [name for name in axes if axis_data.name is None or name != axis_data.name]
        )
        return (prim.bind(x, axes=other_axes) if other_axes else x), d


for _prim, _types in _CASTS.items():
    _cast(_prim, *_types)


def _pvary_transpose(ct: Value, x: Operand, *, axes: Sequence[AxisName]) -> Array:
    return psum_invariant_p.bind(ct, axes=tuple(axes))


def _preduced_transpose(ct: Value, x: Operand, *, axes: Sequence[AxisName]) -> Array:
    return calculus.unreduced_psum(ct, axes=tuple(axes))


def _reduced_vary_transpose(ct: Value, x: Operand, *, axes: Sequence[AxisName]) -> Array:
    return vary_unreduced_cast_p.bind(ct, axes=tuple(axes))


def _vary_unreduced_transpose(ct: Value, x: Operand, *, axes: Sequence[AxisName]) -> Array:
    return reduced_vary_cast_p.bind(ct, axes=tuple(axes))


rules.deflinear(pvary_p, _pvary_transpose)
rules.deflinear(preduced_p, _preduced_transpose)
rules.deflinear(reduced_vary_cast_p, _reduced_vary_transpose)
rules.deflinear(vary_unreduced_cast_p, _vary_unreduced_transpose)


def _names_of(axis_name: AxisName) -> tuple[AxisName, ...]:
    """Returns the axes to cast along, without axes of size 1 that only the context mesh has."""
    if isinstance(axis_name, set | frozenset | dict):
        raise TypeError(
            f"pcast: `axis_name` must be a name, or a tuple of names, because their order matters, "
            f"but is {axis_name!r}"
        )
    several: Any = axis_name
    names = (*several,) if isinstance(axis_name, tuple | list) else (axis_name,)
    in_scope = dict(state.axis_env)
    mesh = get_abstract_mesh()
    for name in names:
        if name not in in_scope and mesh.shape.get(name) != 1:
            if mesh.manual_axes:
                axis_extent(name, "pcast")
            raise ValueError(
                f"pcast: no axis {name!r} is in scope; call it in a function that jax.shard_map "
                "runs over a mesh with that axis"
            )
    return tuple([name for name in names if name in in_scope])


_TARGETS = ("varying", "reduced", "unreduced")


def pcast(x: T, axis_name: AxisName, *, to: str) -> T:
    """Casts the type of `x` along mesh axes, which states how values differ between devices.

    Within `shard_map(..., check_vma=True)`, types track the axes along which the values on the
    devices may differ. Operations cast their operands to vary along the same axes automatically. An
    explicit cast is needed, for example, if the initial carry of a loop is equal on all devices but
    later carries vary.

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of names.
      to: "varying" casts equal or reduced values to values that may differ; "reduced" casts equal
        values to values whose cotangents are unreduced; "unreduced" casts varying values to partial
        sums.

    Returns: a pytree with the same elements.

    Raises:
      TypeError: if `axis_name` is unordered, such as a set.
      NameError: if a name is not an axis of the enclosing `shard_map`.
      ValueError: if there is no enclosing `shard_map`; if `to` is not one of these; or if the type
        of an array cannot be cast to it.

    Example:
      >>> mesh = jax.make_mesh((1,), ("i",))
      >>> def body(x):
      ...   start = lax.pcast(0.0, "i", to="varying")
      ...   return lax.fori_loop(0, 3, lambda _, total: total + x.sum(), start)[None]
      >>> jax.shard_map(body, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))(jnp.ones(2))
      Array([6.], dtype=float32)
    """
    if to not in _TARGETS:
        raise ValueError(f"pcast: `to` must be one of {', '.join(_TARGETS)}, but is {to!r}")
    names = _names_of(axis_name)
    wanted = checked_names(names)

    def one(leaf: Value) -> Array:
        value = as_value(leaf)
        aval = get_aval(value)
        known = relation(varying.type_of(aval), wanted)
        for prim, cast in _CASTS.items():
            if cast == (known, to):
                return prim.bind(value, axes=wanted) if wanted else value
        if known == "mixed":
            raise ValueError(
                f"pcast: {aval.str_short()} is of several kinds along {wanted}: cast along axes "
                "of one kind (varying, unreduced, reduced, or the same on all devices) at a time"
            )
        what = "the same on all devices" if known is None else known
        raise ValueError(
            f"pcast: {aval.str_short()} is {what} along {names}, which cannot be cast to {to}"
        )

    return pytrees.tree_map(one, x)
