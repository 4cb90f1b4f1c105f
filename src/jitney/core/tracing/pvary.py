"""Casts of types along manual axes: `pvary` and related primitives, which compute nothing.

The core itself applies them: when it records an operation whose operands vary along different axes
(`core.sharding_in_types.varying`), and when it creates zeros of a given type. Their rules are in
`primitives.parallel.pvary`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import state

if TYPE_CHECKING:
    from jitney.core.typing import Value

if TYPE_CHECKING:
    pass

V = TypeVar("V", bound="Value")

pvary_p = declare("pvary", linear=True)  # from equal to varying
preduced_p = declare("preduced", linear=True)  # from equal to reduced
reduced_vary_cast_p = declare("reduced_vary_cast_p", linear=True)  # from reduced to varying
vary_unreduced_cast_p = declare("vary_unreduced_cast_p", linear=True)  # from varying to unreduced


def in_order(names: Iterable[Any]) -> tuple[Hashable, ...]:
    """Returns the axes in scope that are among `names`, in the order of the scope."""
    wanted = frozenset(names)
    return tuple([name for name, _ in state.axis_env if name in wanted])


def as_type(x: V, manual: ManualAxisType) -> V:
    """Returns `x`, which is equal on all devices, cast to the manual axis type `manual`."""
    varying = in_order(manual.varying | manual.unreduced)
    if varying:
        x = pvary_p.bind(x, axes=varying)
    if manual.unreduced:
        x = vary_unreduced_cast_p.bind(x, axes=in_order(manual.unreduced))
    if manual.reduced:
        x = preduced_p.bind(x, axes=in_order(manual.reduced))
    return x
