"""User-defined types with `vmap` rules: `jax.interpreters.batching.register_vmappable`.

A value of such a type is one leaf for `vmap`, even if the type is a pytree. The meaning of its axis
is up to its rules, which interpret its entries in `in_axes` and `out_axes`. One rule returns the
element of the value that is passed to the function; the other converts an element that the function
returns to the value for all indices. To map a component, such as an array, a rule calls the
continuation that it receives.
"""

# Tracers are created only by their trace.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from jitney.core.tracing.trace import set_current_trace
from jitney.core.util.record import record
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.batch import move_to

if TYPE_CHECKING:
    from typing import SupportsIndex

    from jitney.core.array import Array
    from jitney.core.typing import Value
    from jitney.transforms.batch import BatchTrace

Spec = Any  # axis specification in `in_axes` and `out_axes`
ToElement = Callable[[Callable[..., Any], Callable[[], Any], Any, Spec], Any]
FromElement = Callable[[Callable[..., Any], Any, Any, Spec], Any]


@record(frozen=True)
class Rules:
    """The mapping rules of a type.

    Attributes:
      spec_type: the type of axis specifications.
      to_element: (continuation, index, x, spec) -> element. `continuation(part, spec)` returns the
        element of a component of `x`; `index()` returns the index along the axis.
      from_element: (continuation, axis size, element, spec) -> x. `continuation(size, part, spec)`
        returns the whole of a component of the element.
      make_iota: axis size -> all indices; None if the size is an integer.
    """

    spec_type: type
    to_element: ToElement
    from_element: FromElement
    make_iota: Callable[[Any], Any] | None


by_type: dict[type, Rules] = {}
_iotas: dict[type, Callable[[Any], Any]] = {}  # type of an axis size -> make_iota


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: ToElement,
    from_elt: FromElement,
    make_iota: Callable[[Any], Any] | None,
) -> None:
    """Registers the rules according to which `vmap` maps values of `data_type`.

    Args:
      data_type: the type of the values.
      spec_type: the type of their axis specifications in `in_axes` and `out_axes`.
      axis_size_type: the type of the size of their axis, as passed to `vmap` in `axis_size`.
      to_elt: the rule for arguments: (continuation, get_index, x, spec) -> the element of `x` that
        is passed to the function.
      from_elt: the rule for results: (continuation, axis_size, element, spec) -> the value for all
        indices.
      make_iota: a function from an axis size to the array of all indices along the axis; None if
        the size is an integer.

    Example:
      >>> from jax.interpreters import batching
      >>> class Pair:
      ...     def __init__(self, row, common):
      ...         self.row, self.common = row, common
      >>> batching.register_vmappable(
      ...     Pair, int, int,
      ...     lambda cont, get_index, x, axis: Pair(cont(x.row, axis), x.common),
      ...     lambda cont, size, x, axis: Pair(cont(size, x.row, axis), x.common), None)
      >>> jax.vmap(lambda p: Pair(p.row * p.common, p.common))(Pair(jnp.arange(3), 2)).row
      Array([0, 2, 4], dtype=int32)
    """
    by_type[data_type] = Rules(spec_type, to_elt, from_elt, make_iota)
    if make_iota is not None:
        _iotas[axis_size_type] = make_iota


def unregister_vmappable(data_type: type) -> None:
    """Removes the rules for values of `data_type`."""
    by_type.pop(data_type, None)


def is_vmappable(x: object) -> bool:
    """Returns whether `x` is of a registered type."""
    return type(x) in by_type


def is_spec(x: object) -> bool:
    """Returns whether `x` can be the axis specification of a value of a registered type."""
    return any(type(x) is rules.spec_type for rules in by_type.values())


def element(trace: BatchTrace, x: Value, spec: Spec) -> object:
    """Returns the element of `x` that is passed to the function mapped by `trace`."""
    rules = by_type.get(type(x))
    if rules is not None:
        return rules.to_element(partial(element, trace), partial(_index, trace), x, spec)
    x = as_value(x)
    return trace.wrap(x, None if spec is None else canonical_axis(spec, len(shape_of(x))))


def _index(trace: BatchTrace) -> Value:
    size = trace.axis_data.size
    make = _iotas.get(type(size), indices)
    with set_current_trace(trace.parent_trace):
        return trace.wrap(make(size), 0)


def indices(size: SupportsIndex) -> Array:
    """Returns the indices of an axis whose size is an integer."""
    return iota("int32", operator.index(size))


def whole(trace: BatchTrace, size: Any, x: Value, spec: Spec) -> object:
    """Returns the result of `vmap` for `x`, a result of the function mapped by `trace`.

    Raises:
      ValueError: if `spec` is None, but `x` differs along the axis.
    """
    rules = by_type.get(type(x))
    if rules is not None:
        return rules.from_element(partial(whole, trace), size, x, spec)
    value, dim = trace.to_batch_info(x)
    with set_current_trace(trace.parent_trace):
        value = as_value(value)
        if spec is None:
            if dim is not None:
                raise ValueError(
                    "vmap has mapped output but out_axes is None: the result depends on the mapped "
                    "axis; specify an axis in out_axes"
                )
            return value
        rank = len(shape_of(value)) + (dim is None)
        return move_to(value, dim, canonical_axis(spec, rank), size)
