"""`lax.rng_uniform`: uniform random numbers from the state of the process instead of a key.

Each execution of the operation makes one host call, which returns the sequence number of the draw.
Philox-4x32 generates bits from that number. If only one thread draws, the sequence of numbers in a
process is always the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives.array.broadcasting import broadcast
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.elementwise.binary import add, mul, sub
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.indexing.slice import index_in_dim
from jitney.primitives.random.bit_generator import rng_bit_generator
from jitney.primitives.random.floats import bits_per_float, unit_floats
from jitney.primitives.random.integers import offsets_below

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, ArrayLike, ShapeLike
    from jitney.primitives.rule_types import Builder, Node

Shape = tuple[int, ...]

_STATE = shaped_array((4,), np.dtype(np.uint32))
_draws = itertools.count()

rng_uniform_p = declare("rng_uniform")


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: ShapeLike) -> Array:
    """Draws uniform numbers in [a, b) from the state of the process, different ones in each call.

    Programs that call it are not pure functions of their operands; prefer `jax.random.uniform`,
    which takes a key. As in JAX, the function has no derivative, and does not support batched
    bounds. The numbers differ from those of JAX, which uses the generator of its compiler.

    Args:
      a: lower bound, an integer or floating-point scalar.
      b: upper bound, a scalar of the same dtype. Floats may equal `b` due to rounding. If b = a,
        integers are drawn from the full range of their dtype.
      shape: shape of the result.

    Raises:
      ValueError: if a bound is not a scalar, or if dtypes differ.
      TypeError: if the dtype is bool or complex, or if a size is negative or traced.

    Example:
      >>> x = lax.rng_uniform(2.0, 3.0, (1000,))
      >>> x.shape, bool(((x >= 2) & (x <= 3)).all())
      ((1000,), True)
    """
    return rng_uniform_p.bind(a, b, shape=canonical_shape(shape))


@rng_uniform_p.abstract
def _rng_uniform_abstract(a: ShapedArray, b: ShapedArray, *, shape: Shape) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(
            f"rng_uniform: bounds must have the same dtype, but a is {a} and b is {b}; convert one"
        )
    if a.shape or b.shape:
        raise ValueError(f"rng_uniform: bounds must be scalars, but a is {a} and b is {b}")
    if not dtypes.issubdtype(a.dtype, np.integer) and not dtypes.issubdtype(a.dtype, np.floating):
        raise TypeError(f"rng_uniform: bounds must be integers or real numbers, but a is {a}")
    if any(n < 0 for n in shape):
        raise TypeError(f"rng_uniform: sizes must not be negative, but shape is {shape}")
    return shaped_array(shape, a.dtype, a.weak_type and b.weak_type)


rng_uniform_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")
rng_uniform_p.absent(
    "jvp", "transpose", "batch", why="it has none in JAX, either; draws from keys do"
)


def _next_state() -> list[np.ndarray]:
    """Returns the next state of the bit generator: the draw's number as key and a zero counter."""
    number = next(_draws)
    return [np.array([number & 0xFFFFFFFF, number >> 32, 0, 0], np.uint32)]


@rng_uniform_p.lower_with_avals
def _rng_uniform_lower_with_avals(
    b: Builder, avals: Sequence[AbstractValue], *nodes: Node, shape: Shape
) -> Node:
    # Ordered calls run exactly once each, so two draws are never merged.
    states = b.host_call(
        "rng_uniform", _next_state, [], [lowering.tensor_type(_STATE)], ordered=True
    )

    def program(state: Array, low: Array, high: Array) -> list[Array]:
        return [_draw(state, low, high, shape)]

    name = "rng_uniform"
    jaxpr, _, consts = trace_to_jaxpr(program, [_STATE, *avals], DebugInfo(name, name))
    return lowering.inline(b, ClosedJaxpr(jaxpr, consts), [*states, *nodes])[0]


def _draw(state: Array, low: Array, high: Array, shape: Shape) -> Array:
    if dtypes.issubdtype(low.dtype, np.floating):
        words = rng_bit_generator(state, shape, f"uint{bits_per_float(low.dtype)}")[1]
        scaled = mul(unit_floats(words, low.dtype), broadcast(sub(high, low), shape))
        return add(scaled, broadcast(low, shape))
    # Words have at least 32 bits, so that products of remainders of short dtypes do not overflow.
    own = np.dtype(f"uint{8 * low.dtype.itemsize}")
    word = np.dtype(f"uint{max(32, 8 * low.dtype.itemsize)}")
    span = convert_element_type(convert_element_type(sub(high, low), own), word)
    words = rng_bit_generator(state, (2, *shape), word)[1]
    higher, lower = (index_in_dim(words, i, keepdims=False) for i in range(2))
    offsets = offsets_below(broadcast(span, shape), higher, lower)
    return add(convert_element_type(offsets, low.dtype), broadcast(low, shape))
