"""Mesh axes along which devices must not communicate, as set by `jax.sharding.no_collectives`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from jitney.core.settings import config
from jitney.core.settings.options import Overriding, State

if TYPE_CHECKING:
    from collections.abc import Hashable


def _axes(value: object) -> frozenset[Hashable]:
    if not isinstance(value, set | frozenset):
        raise TypeError(
            f"no_collectives takes a set of axis names, but got {value!r} of type {type(value)}"
        )
    return frozenset(cast("set[Any]", value))


class NoCollectives(State):
    """Returns a context that forbids communication between devices along a set of mesh axes.

    Within the context, operations and collectives that communicate along one of these axes raise
    `ForbiddenCollectiveError`.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
      >>> with jax.set_mesh(mesh), jax.sharding.no_collectives({"x"}):
      ...     x = jax.device_put(jnp.arange(4.0), jax.P("x"))
      ...     print(x * 2)  # x.sum() would be an error
      [0. 2. 4. 6.]
    """

    def _from_environment(self) -> object:
        return self.default

    def __call__(self, new_value: object = True) -> Overriding:
        return super().__call__(_axes(new_value))


no_collectives = NoCollectives(
    "no_collectives",
    cast("frozenset[Any]", frozenset()),
    _axes,
    traced=True,
    help=NoCollectives.__doc__ or "",
)
config.add_traced_state(no_collectives)
