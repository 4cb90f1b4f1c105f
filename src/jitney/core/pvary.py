"""Casts of the types of values along manual axes: `pvary` and its like, which compute nothing.

They are the operations that the core itself applies: where one is recorded whose operands vary along
different axes (`core.varying`), and where zeros of a type are wanted. Their rules stand in
`primitives.parallel.pvary`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jitney.core.manual_axes import ManualAxisType
from jitney.core.primitive import declare
from jitney.core.trace import state

pvary_p = declare("pvary", linear=True)  # equal values as ones that may differ
preduced_p = declare("preduced", linear=True)  # equal values as sums that have been taken
reduced_vary_cast_p = declare(
    "reduced_vary_cast_p", linear=True
)  # such sums as ones that may differ
vary_unreduced_cast_p = declare("vary_unreduced_cast_p", linear=True)  # values that differ as terms


def in_order(names: Iterable[Any]) -> tuple[Any, ...]:
    """Returns the axes in scope that are among `names`, in their order."""
    wanted = frozenset(names)
    return tuple([name for name, _ in state.axis_env if name in wanted])


def as_type(x: Any, manual: ManualAxisType) -> Any:
    """Returns the value `x`, the same on all devices, as one of the type `manual` along manual axes."""
    varying = in_order(manual.varying | manual.unreduced)
    if varying:
        x = pvary_p.bind(x, axes=varying)
    if manual.unreduced:
        x = vary_unreduced_cast_p.bind(x, axes=in_order(manual.unreduced))
    if manual.reduced:
        x = preduced_p.bind(x, axes=in_order(manual.reduced))
    return x
