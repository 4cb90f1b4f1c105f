"""`select_and_scatter`: selects one element of each window, and scatters values to these.

    c = select_and_scatter[select_jaxpr=... scatter_jaxpr=... window_dimensions=...] operand source init

All elements of the result are initially `init`. Each element of `source` is scattered to the
element that is selected in its window. `scatter_jaxpr` combines values that are scattered to the
same element, in the order of windows. `select_jaxpr` decides for two elements whether the first one
remains selected; padding is never selected. The special cases for derivatives are in `windows`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray
from jitney.primitives import sharding_rules
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.concatenation import pad
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.control.fori_loop import fori_loop
from jitney.primitives.elementwise import binary, compare
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.elementwise.select import select
from jitney.primitives.indexing.dynamic_slice import dynamic_slice
from jitney.primitives.reduction.reduce import vectorized_program
from jitney.primitives.reduction.windows import (
    Pads,
    Shape,
    dilated,
    fold_windows,
    lower_by,
    result_shape,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Primals, Value

select_and_scatter_p = declare("select_and_scatter")
select_and_scatter_p.sharding(sharding_rules.as_operand(0))


@select_and_scatter_p.abstract
def _select_and_scatter_abstract(
    x: ShapedArray, source: ShapedArray, init: ShapedArray, **params: Any
) -> ShapedArray:
    expected = result_shape(x.shape, params)
    if source.shape != expected:
        raise ValueError(
            f"select_and_scatter: source must have one element for each window of {x.str_short()}, "
            f"so its shape must be {expected}, but got {source.str_short()}"
        )
    if init.shape or not x.dtype == source.dtype == init.dtype:
        raise TypeError(
            "select_and_scatter: source and the initial value, a scalar, must have the operand's "
            f"dtype, but the types are {x.str_short()}, {source.str_short()}, {init.str_short()}"
        )
    return x.update(weak_type=False)


def _elementwise(jaxpr: Jaxpr, consts: Primals, shape: Shape) -> Callable[..., Value]:
    """Returns a program of two scalars as an elementwise function of arrays of `shape`."""
    whole = vectorized_program(ClosedJaxpr(jaxpr, consts), shape)
    return lambda *xs: eval_jaxpr(whole.jaxpr, whole.consts, *xs)[0]


def _selected(
    x: Array, select_jaxpr: Jaxpr, select_consts: Primals, window: dict[str, Any]
) -> Value:
    """Returns the row-major index in `x` of each window's selected element.

    For a window that contains only padding, this is the number of elements of `x`.
    """
    size = math.prod(x.shape)

    def combine(a: Primals, b: Primals) -> list[Value]:
        keeps = _elementwise(select_jaxpr, select_consts, shape_of(a[0]))(a[0], b[0])
        # Any element is preferred to padding.
        first = binary.bitwise_and(
            compare.lt(a[1], np.int32(size)),
            binary.bitwise_or(keeps, compare.eq(b[1], np.int32(size))),
        )
        return [select(first, p, q) for p, q in zip(a, b, strict=True)]

    places = reshape(iota(np.int32, size), x.shape)
    fill = [np.zeros((), x.dtype)[()], np.int32(size)]
    return fold_windows([x, places], fill, combine, window)[1]


def _scattered(
    x: Array,
    source: Array,
    init: Array,
    *,
    select_jaxpr: Jaxpr,
    select_consts: Primals,
    scatter_jaxpr: Jaxpr,
    scatter_consts: Primals,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Pads,
) -> list[Array]:
    """Scatters `source` to the selected elements.

    The function loops over the positions in a window, starting with the last one, so that windows
    are combined in order.
    """
    begun = broadcast_in_dim(init, x.shape, ())
    if 0 in source.shape:
        return [begun]
    window = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
    }
    chosen = _selected(x, select_jaxpr, select_consts, window)
    # Space values like the first elements of windows, and pad so that shifts stay in bounds.
    spread: list[tuple[int, int, int]] = []
    for n, w, s, m, (low, _) in zip(
        x.shape, window_dimensions, window_strides, source.shape, padding, strict=True
    ):
        before = w - 1 - low
        spread.append((before, n + w - 1 - before - dilated(m, s), s - 1))
    chosen = pad(chosen, np.int32(-1), spread)
    values = pad(source, np.zeros((), source.dtype)[()], spread)
    places = reshape(iota(np.int32, math.prod(x.shape)), x.shape)
    scatter = _elementwise(scatter_jaxpr, scatter_consts, x.shape)

    def step(i: Array, out: Array) -> Array:
        i = convert_element_type(i, np.int32)
        starts: list[Array] = []
        for w in reversed(window_dimensions):
            starts.append(binary.rem(i, np.int32(w)))
            i = binary.div(i, np.int32(w))
        starts.reverse()
        here = compare.eq(dynamic_slice(chosen, starts, x.shape), places)
        return select(here, scatter(out, dynamic_slice(values, starts, x.shape)), out)

    return [fori_loop(np.int32(0), np.int32(math.prod(window_dimensions)), step, begun)]


lower_by(select_and_scatter_p, _scattered)
select_and_scatter_p.absent(
    "jvp",
    "transpose",
    "batch",
    why="it is not defined in JAX: programs cannot be differentiated in general",
)
