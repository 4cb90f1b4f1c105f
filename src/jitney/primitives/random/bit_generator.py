"""`lax.rng_bit_generator`, which generates random bits from a state, and the next state.

The state consists of four words (s0, s1, s2, s3): a key (s0, s1), and a 64-bit counter (s2, s3),
which is incremented for each hash. Philox-4x32 hashes (counter, s0, s1) to four words, which are
consecutive in row-major order. Threefry-2x32 hashes the counter to two words, which are neighbors
along one axis of the result. The results of both are bit-identical to those of XLA on CPUs.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.array.concatenation import concatenate, stack
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise.binary import add
from jitney.primitives.elementwise.compare import lt
from jitney.primitives.elementwise.convert import bitcast_convert_type_p, convert_element_type
from jitney.primitives.indexing.slice import index_in_dim, slice_in_dim
from jitney.primitives.random.counter_based import philox4x32, word
from jitney.primitives.random.threefry import threefry2x32

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike
    from jitney.primitives.rule_types import Builder, Dims, Node, Value

    _State = tuple[tuple[Array, Array], tuple[Array, Array]]  # key and counter, low word first

Shape = tuple[int, ...]

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)


class RandomAlgorithm(enum.IntEnum):
    """The algorithms of `rng_bit_generator`.

    Attributes:
      RNG_DEFAULT: Philox-4x32, the default on CPUs.
      RNG_THREE_FRY: Threefry-2x32.
      RNG_PHILOX: Philox-4x32.
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


rng_bit_generator_p = declare("rng_bit_generator", multiple_results=True)
rng_bit_generator_p.declares_sharding = True


def rng_bit_generator(
    key: ArrayLike,
    shape: ShapeLike,
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm | int = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: ShardingLike | None = None,
) -> tuple[Array, Array]:
    """Generates random bits from the state of a generator, and returns the next state.

    The bits are identical to those of JAX. As in JAX, `vmap` over states draws all bits from the
    first state, and only that state changes.

    Args:
      key: the state, an array uint32[4] or uint64[2].
      shape: shape of the bits.
      dtype: an unsigned integer dtype. For dtypes with fewer than 32 bits, the low bits of a word
        are used.
      algorithm: the generator.
      out_sharding: sharding of the bits on the context mesh.

    Returns: a pair (state after the draw, bits).

    Raises:
      TypeError: if the type of the state or the dtype is not one of these.

    Example:
      >>> key, bits = lax.rng_bit_generator(jnp.arange(4, dtype=jnp.uint32), (2,))
      >>> key, bits
      (Array([0, 1, 3, 3], dtype=uint32), Array([ 895509795, 3230209149], dtype=uint32))
    """
    new_key, bits = rng_bit_generator_p.bind(
        key,
        shape=canonical_shape(shape),
        dtype=dtypes.requested_dtype(np.dtype(dtype)),
        algorithm=RandomAlgorithm(algorithm),
        out_sharding=explicit.on_mesh(out_sharding),
    )
    return new_key, bits


@rng_bit_generator_p.abstract
def _rng_bit_generator_abstract(
    key: ShapedArray,
    *,
    shape: Shape,
    dtype: np.dtype,
    algorithm: RandomAlgorithm,
    out_sharding: ShardingLike | None,
) -> list[ShapedArray]:
    if (key.dtype, key.shape) not in ((_U32, (4,)), (_U64, (2,))):
        raise TypeError(f"rng_bit_generator: key must be uint32[4] or uint64[2], but got {key}")
    if dtype.kind != "u" or dtype.itemsize not in (1, 2, 4, 8):
        raise TypeError(
            f"rng_bit_generator: unsupported dtype {dtype}; bits must have an unsigned integer dtype"
        )
    bits = shaped_array(shape, dtype)
    place = explicit.if_explicit(out_sharding)
    return [
        shaped_array(key.shape, key.dtype),
        bits if place is None else explicit.typed(bits, place),
    ]


rng_bit_generator_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")


@rng_bit_generator_p.lower_with_avals
def _rng_bit_generator_lower_with_avals(
    b: Builder,
    avals: Sequence[AbstractValue],
    *nodes: Node,
    shape: Shape,
    dtype: np.dtype,
    algorithm: RandomAlgorithm,
    out_sharding: ShardingLike | None,
) -> list[Node]:
    def program(key: Array) -> list[Array]:
        return _draw(key, shape, dtype, algorithm)

    name = "rng_bit_generator"
    jaxpr, _, consts = trace_to_jaxpr(program, avals, DebugInfo(name, name))
    return lowering.inline(b, ClosedJaxpr(jaxpr, consts), nodes)


def _draw(key: Array, shape: Shape, dtype: np.dtype, algorithm: RandomAlgorithm) -> list[Array]:
    """Returns [state after the draw, bits]."""
    state = (
        key
        if key.dtype == _U32
        else reshape(bitcast_convert_type_p.bind(key, new_dtype=_U32), (4,))
    )
    s0, s1, s2, s3 = (index_in_dim(state, i, keepdims=False) for i in range(4))
    draw = _threefry if algorithm == RandomAlgorithm.RNG_THREE_FRY else _philox
    bits, n_hashes = draw(((s0, s1), (s2, s3)), shape, dtype)
    after = stack([s0, s1, *_increased((s2, s3), word(n_hashes))])
    if key.dtype == _U64:
        after = _joined(reshape(after, (2, 2)))
    return [after, bits]


def _increased(counter: Sequence[Array], by: Value) -> list[Array]:
    """Adds a word to a counter of words, low word first."""
    out: list[Array] = []
    for digit in counter:
        out.append(add(digit, by))
        by = convert_element_type(lt(out[-1], by), _U32)  # carry
    return out


def _philox(state: _State, shape: Shape, dtype: np.dtype) -> tuple[Array, int]:
    """Returns (bits, number of hashes)."""
    key, counter = state
    size = math.prod(shape)
    words_each = 2 if dtype == _U64 else 1
    n = -(-size * words_each // 4)
    # The counter here has 128 bits: if the low 64 bits overflow within a draw, the hashed key is
    # incremented.
    counters = _increased((*counter, *key), iota(_U32, n))
    words = reshape(stack(philox4x32(key, counters), axis=1), (4 * n,))
    if dtype == _U64:
        return reshape(slice_in_dim(_joined(reshape(words, (2 * n, 2))), 0, size), shape), n
    return convert_element_type(reshape(slice_in_dim(words, 0, size), shape), dtype), n


def _joined(words: Array) -> Array:
    """Converts pairs of words [..., 2], low word first, to 64-bit integers."""
    return bitcast_convert_type_p.bind(words, new_dtype=_U64)


def _threefry(state: _State, shape: Shape, dtype: np.dtype) -> tuple[Array, int]:
    """Returns (bits, number of hashes)."""
    (k0, k1), counter = state
    if dtype == _U64:
        n = math.prod(shape)
        y0, y1 = threefry2x32(k0, k1, *_increased(counter, iota(_U32, n)))
        return reshape(_joined(stack([y0, y1], axis=1)), shape), n
    if not shape:
        bits, n = _threefry(state, (1,), dtype)
        return reshape(bits, ()), n
    # The words of a hash are neighbors along the first axis of even size, otherwise along the longest
    # axis.
    even = [d for d, extent in enumerate(shape) if extent % 2 == 0]
    axis = even[0] if even else shape.index(max(shape))
    before, pairs, behind = shape[:axis], -(-shape[axis] // 2), shape[axis + 1 :]
    halved = (*before, pairs, *behind)
    n = math.prod(halved)
    y0, y1 = threefry2x32(k0, k1, *_increased(counter, iota(_U32, n)))
    words = stack([reshape(y0, halved), reshape(y1, halved)], axis=axis + 1)
    words = reshape(words, (*before, 2 * pairs, *behind))
    return convert_element_type(slice_in_dim(words, 0, shape[axis], axis=axis), dtype), n


@rng_bit_generator_p.batch
def _rng_bit_generator_batch(
    args: Sequence[Value], dims: Dims, *, shape: Shape, **params: object
) -> tuple[list[Array], list[int]]:
    (dim,) = dims
    assert dim is not None
    keys = rules.move_axis(args[0], dim, 0)
    first = index_in_dim(keys, 0, keepdims=False)
    n = rules.shape_of(keys)[0]
    after, bits = rng_bit_generator_p.bind(first, shape=(n, *shape), **params)
    others = slice_in_dim(keys, 1, n)
    return [concatenate([reshape(after, (1, *after.shape)), others], 0), bits], [0, 0]


rules.def_zero_derivative(rng_bit_generator_p)
rng_bit_generator_p.absent("transpose", why="not linear")
