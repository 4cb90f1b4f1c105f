"""`pvary` and `pcast`: a value that all devices share, as one that may vary from device to device.

Nothing is computed. It is in programs for its derivative: the cotangent of a shared value is the sum of
those of the devices (`psum_invariant`). `shard_map` with `check_vma` puts it in where it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core import varying
from jitney.core.avals import AbstractValue, ShapedArray, get_aval
from jitney.core.manual_axes import ManualAxisType
from jitney.core.pvary import pvary_p
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import get_abstract_mesh
from jitney.core.trace import state
from jitney.primitives import rules
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.parallel.collectives import checked_names, psum_invariant_p

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.typing import AxisName, PyTree
    from jitney.primitives.rule_types import Builder, Dims, Node, Value
    from jitney.transforms.batch import AxisData


@pvary_p.abstract
def _(x: AbstractValue, *, axes: Sequence[AxisName]) -> AbstractValue:
    if not isinstance(x, ShapedArray):
        return x
    return x.update(manual_axis_type=ManualAxisType(varying=x.vma.union(axes)))


pvary_p.varying(varying.as_declared)
pvary_p.declares_sharding = True


@pvary_p.eager
def _(x: np.ndarray, *, axes: Sequence[AxisName]) -> np.ndarray:
    return x


@pvary_p.lower
def _(b: Builder, x: Node, *, axes: Sequence[AxisName]) -> Any:
    return x


@pvary_p.batch_with_axis
def _(axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axes: Sequence[AxisName]) -> Any:
    (x,), (d,) = args, dims
    rest = tuple([name for name in axes if axis_data.name is None or name != axis_data.name])
    return (pvary_p.bind(x, axes=rest) if rest else x), d


rules.deflinear(pvary_p, lambda ct, x, *, axes: psum_invariant_p.bind(ct, axes=tuple(axes)))


def _names_of(axis_name: AxisName) -> tuple[Any, ...]:
    """Names of axes to cast along, without those of one index that only the mesh in force has."""
    if isinstance(axis_name, set | frozenset | dict):
        raise TypeError(f"pcast: axis_name must be a tuple or a str, not {axis_name!r}")
    names = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
    in_scope = dict(state.axis_env)
    extents = get_abstract_mesh().shape
    for name in names:
        if name not in in_scope and extents.get(name) != 1:
            raise ValueError(
                f"pcast: no axis {name!r} is in scope: pvary should be called under jax.shard_map, "
                "over a mesh that has it"
            )
    return tuple([name for name in names if name in in_scope])


def pcast(x: PyTree, axis_name: AxisName, *, to: str) -> PyTree:
    """`x`, with a type that says otherwise along which axes of a mesh it varies.

    Within `shard_map(..., check_vma=True)`, types say along which axes the devices' values may differ.
    Operations have their operands vary where others do, by themselves. What is to be said is, for
    instance, that the first value of a loop's carry varies, which is the same everywhere, as later
    ones do.

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of names.
      to: "varying".

    Returns: a pytree of the same values.

    Raises:
      TypeError: if `axis_name` is a set, say.
      ValueError: if a name is not in scope; if `to` is something else, or an array varies along an axis
        already.

    Example:
      >>> mesh = jax.make_mesh((1,), ("i",))
      >>> def body(x):
      ...   start = lax.pcast(0.0, "i", to="varying")
      ...   return lax.fori_loop(0, 3, lambda _, total: total + x.sum(), start)[None]
      >>> jax.shard_map(body, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))(jnp.ones(2))
      Array([6.], dtype=float32)
    """
    names = _names_of(axis_name)
    if to != "varying":
        raise ValueError(f"pcast: values can be cast to 'varying', not to {to!r}")
    wanted = checked_names(names)

    def one(leaf: Value) -> Any:
        value = as_value(leaf)
        aval = get_aval(value)
        known = aval.vma if isinstance(aval, ShapedArray) else frozenset[Any]()
        already = known.intersection(wanted)
        if already:
            raise ValueError(
                f"pcast: {aval.str_short()} varies along {tuple(already)} already; cast along others"
            )
        return pvary_p.bind(value, axes=wanted) if wanted else value

    return pytrees.tree_map(one, x)
