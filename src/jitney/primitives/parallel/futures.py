"""Collectives in two operations: `psum_scatter_start` begins one, and `done` awaits its result.

    b:AbstractFuture{f32[1]} = reduce_scatter_start[...] a
    c:f32[1] = reduce_scatter_done b

Between the two operations, a program holds a future, a value of a separate type, which is lowered
to the result. Compiled programs compute the collective where it begins.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.tracing.hi_primitive import HiPrimitive
from jitney.core.tracing.hi_types import HiType, aval_method, register_hitype
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.core.util.record import record
from jitney.primitives.parallel.all_gather import reduce_scatter_p, scattered_by

if TYPE_CHECKING:
    from jitney.core.sharding.part_types import AnyMesh
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.typing import AxisName, PyTree
    from jitney.primitives.rule_types import Param


@record(frozen=True)
class Future:
    """The result of a collective that has begun.

    Attributes:
      value: the result.
    """

    value: Any

    def done(self) -> Any:
        """Returns the result when the collective has finished."""
        return _done(self)


def _done(future: object) -> Any:
    operand: Any = future  # a future, or its tracer; the typing of `bind` allows arrays only
    return reduce_scatter_done_p.bind(operand)


class AbstractFuture(HiType):
    """The type of futures: results of collectives that have been started and may still run.

    Attributes:
      inner_aval: the type of the result.
    """

    done = aval_method(_done)

    def __init__(self, inner_aval: AbstractValue) -> None:
        self.inner_aval = inner_aval

    if not TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]:
            return self.inner_aval.shape

        @property
        def dtype(self) -> Any:
            return self.inner_aval.dtype

        @property
        def ndim(self) -> int:
            return self.inner_aval.ndim

        @property
        def size(self) -> int:
            return self.inner_aval.size

        @property
        def sharding(self) -> Any:
            return self.inner_aval.sharding

    @property
    def mat(self) -> Any:
        """The relation between the values on the devices along the manual axes of a `shard_map`."""
        inner: Any = self.inner_aval
        return inner.manual_axis_type

    manual_axis_type = mat

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractFuture and other.inner_aval == self.inner_aval

    def __hash__(self) -> int:
        return hash((AbstractFuture, self.inner_aval))

    def __repr__(self) -> str:
        return f"AbstractFuture(inner_aval={self.inner_aval})"

    __str__ = __repr__

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return f"AbstractFuture{{{self.inner_aval.str_short(short_dtypes, mesh_axis_types)}}}"

    def lo_ty(self) -> Sequence[AbstractValue]:
        return [self.inner_aval]

    def lower_val(self, hi_val: Future) -> Sequence[Any]:
        return [hi_val.value]

    def raise_val(self, *lo_vals: object) -> Future:
        (value,) = lo_vals
        return Future(value)

    def shard(
        self, mesh: AnyMesh, manual_axes: frozenset[Any], check_vma: bool, spec: PartitionSpec
    ) -> AbstractFuture:
        """Returns the type of futures of shards; see `ShapedArray.shard`."""
        inner: Any = self.inner_aval
        return AbstractFuture(inner.shard(mesh, manual_axes, check_vma, spec))

    def unshard(self, mesh: AnyMesh, check_vma: bool, spec: PartitionSpec) -> AbstractFuture:
        """Returns the type of futures of global arrays; inverse of `shard`.

        Raises:
          ValueError: if `spec` has more entries than the array has axes.
        """
        if len(spec) > self.ndim:
            raise ValueError(
                f"shard_map: a specification can have at most as many entries as a future has axes, "
                f"but out_specs has {spec}, of length {len(spec)}, for a future of type {self}, of "
                f"rank {self.ndim}"
            )
        inner: Any = self.inner_aval
        return AbstractFuture(inner.unshard(mesh, check_vma, spec))


class _Start(HiPrimitive):
    """Begins a `psum_scatter`."""

    is_memoized = True

    def abstract_eval(self, *arg_avals: AbstractValue, **params: Param) -> tuple[Any, Any]:
        aval, effects = reduce_scatter_p.abstract_eval(*arg_avals, **params)
        return AbstractFuture(aval), effects

    def to_lojax(self, *args: Any, **params: Param) -> Future:
        (x,) = args
        return Future(reduce_scatter_p.bind(x, **params))


class _Done(HiPrimitive):
    """Awaits the result."""

    is_memoized = True

    def abstract_eval(self, *arg_avals: AbstractValue, **params: Param) -> tuple[Any, Any]:
        (future,) = arg_avals
        if not isinstance(future, AbstractFuture):
            raise TypeError(
                f"reduce_scatter_done: the operand must be a future, but is of type {future}"
            )
        return future.inner_aval, frozenset[object]()

    def to_lojax(self, *args: Any, **params: Param) -> Any:
        (future,) = args
        return future.value


reduce_scatter_start_p = _Start("reduce_scatter_start")
reduce_scatter_done_p = _Done("reduce_scatter_done")


@functools.cache
def _register() -> None:
    """Makes futures valid operands, when the first one is to be created."""
    register_hitype(Future, lambda future: AbstractFuture(get_aval(future.value)))


def psum_scatter_start(
    x: PyTree,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> PyTree:
    """Begins a `psum_scatter`, and returns futures, whose method `done` returns the results.

    Operations between the two may overlap with the communication on other platforms. Derivatives
    and `vmap` are not defined, as in JAX.

    Args:
      x: a pytree of arrays.
      axis_name: the name of an axis of `shard_map`, or a tuple of names.
      scatter_dimension, axis_index_groups, tiled: as in `psum_scatter`.

    Returns: a pytree of futures. Each has the attributes `shape` and `dtype` of its result.

    Raises:
      NameError: if a name is not in scope.
      ValueError: if sizes are incompatible.
      NotImplementedError: if arrays are unreduced along the axis.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
      >>> @jax.jit
      ... @jax.shard_map(mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P("x"))
      ... def f(x):
      ...     future = lax.psum_scatter_start(x, "x", tiled=True)
      ...     return future.done() + jnp.sin(x)
      >>> f(jnp.zeros(2))
      Array([0., 0.], dtype=float32)
    """
    _register()
    return scattered_by(
        "psum_scatter_start", reduce_scatter_start_p, x, axis_name, scatter_dimension,
        axis_index_groups, tiled,
    )  # fmt: skip
