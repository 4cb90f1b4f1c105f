"""Random bits and keys: the primitives of `jax.random`.

The default generator is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random
numbers: as easy as 1, 2, 3", SC 2011), used as a hash of counters under a key. The rules in this
  module are for this generator; other generators have rules for the words of keys (`key_words.py`).
  Bits are identical to those of JAX.

A key array of dtype `key<fry>` is stored as one uint64 per key, the two words of the key in
little-endian order, so that operations that only move elements need no special rules for keys. With
`jax_threefry_partitionable` (the default), element i of a draw depends only on the key and i;
without it, the element depends on the size of the draw, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from jitney.compiler.reference.threefry import threefry2x32 as threefry2x32_numpy
from jitney.core.program.key_reuse import uses_keys
from jitney.core.settings import config
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules, sharding_rules
from jitney.primitives.elementwise.compiled_rules import LARGE, compiled, without_copies
from jitney.primitives.random.prng import PRNGImpl
from jitney.primitives.random.threefry import threefry2x32_nodes, threefry2x32_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.compiler.hlo.build import Builder
    from jitney.compiler.hlo.ir import Node
    from jitney.primitives.rule_types import Value

Shape = tuple[int, ...]

_U32 = np.dtype(np.uint32)
_U64 = np.dtype(np.uint64)


# --- draws, written once for both NumPy and the compiler ------------------------------------------

if TYPE_CHECKING:
    X = TypeVar("X", np.ndarray, Node)

    class _Operations(Protocol[X]):
        def key_words(self, keys: X) -> tuple[X, X]: ...
        def counter(self, start: int, size: int) -> X: ...
        def zeros(self, like: X) -> X: ...
        def reshape(self, x: X, shape: Shape) -> X: ...
        def transpose_last_two(self, x: X) -> X: ...
        def spread(self, x: X, shape: Shape, dims: tuple[int, ...]) -> X: ...
        def threefry(self, k0: X, k1: X, x0: X, x1: X) -> tuple[X, X]: ...
        def convert(self, x: X, dtype: np.dtype) -> X: ...
        def xor(self, x: X, y: X) -> X: ...
        def join_words(self, low: X, high: X) -> X: ...
        def field(self, x: X, shift: int) -> X: ...
        def concatenate(self, parts: list[X]) -> X: ...
        def head(self, x: X, size: int) -> X: ...
        def tail(self, x: X, start: int) -> X: ...
        def stack(self, parts: list[X]) -> X: ...


class _OnNumpy:
    """The operations for draws of random bits, for ndarrays."""

    def key_words(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low = keys.astype(_U32)
        return low, (keys >> np.uint64(32)).astype(_U32)

    def counter(self, start: int, size: int) -> np.ndarray:
        return np.arange(start, start + size, dtype=_U32)

    def zeros(self, like: np.ndarray) -> np.ndarray:
        return np.zeros_like(like)

    def reshape(self, x: np.ndarray, shape: Shape) -> np.ndarray:
        return x.reshape(shape)

    def transpose_last_two(self, x: np.ndarray) -> np.ndarray:
        return np.swapaxes(x, -1, -2)

    def spread(self, x: np.ndarray, shape: Shape, dims: tuple[int, ...]) -> np.ndarray:
        aligned = [1] * len(shape)
        for axis, dim in enumerate(dims):
            aligned[dim] = x.shape[axis]
        return np.broadcast_to(x.reshape(aligned), shape)

    def threefry(
        self, k0: np.ndarray, k1: np.ndarray, x0: np.ndarray, x1: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if x1.size < LARGE:
            return threefry2x32_numpy(k0, k1, x0, x1)
        words = compiled(threefry2x32_p, *map(without_copies, (k0, k1)), x0, x1)
        return words[0], words[1]

    def convert(self, x: np.ndarray, dtype: np.dtype) -> np.ndarray:
        return x.astype(dtype)

    def xor(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x ^ y

    def join_words(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return low.astype(_U64) | (high.astype(_U64) << np.uint64(32))

    def field(self, x: np.ndarray, shift: int) -> np.ndarray:
        return x >> np.uint32(shift)

    def concatenate(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts, axis=-1)

    def head(self, x: np.ndarray, size: int) -> np.ndarray:
        return x[..., :size]

    def tail(self, x: np.ndarray, start: int) -> np.ndarray:
        return x[..., start:]

    def stack(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.stack(parts, axis=-1)


class _OnNodes:
    """The operations for draws of random bits, for nodes of the tensor IR."""

    def __init__(self, b: Builder) -> None:
        self.b = b

    def key_words(self, keys: Node) -> tuple[Node, Node]:
        b = self.b
        shift = b.full(keys.shape, 32, _U64)
        high = b.apply("shift_right_logical", keys, shift)
        return b.convert(keys, _U32), b.convert(high, _U32)

    def counter(self, start: int, size: int) -> Node:
        n = self.b.iota(_U32, (size,), 0)
        return n if start == 0 else self.b.apply("add", n, self.b.full((size,), start, _U32))

    def zeros(self, like: Node) -> Node:
        return self.b.full(like.shape, 0, like.dtype)

    def reshape(self, x: Node, shape: Shape) -> Node:
        return self.b.reshape(x, shape)

    def transpose_last_two(self, x: Node) -> Node:
        n = len(x.shape)
        return self.b.transpose(x, (*range(n - 2), n - 1, n - 2))

    def spread(self, x: Node, shape: Shape, dims: tuple[int, ...]) -> Node:
        return self.b.broadcast(x, shape, dims)

    def threefry(self, k0: Node, k1: Node, x0: Node, x1: Node) -> tuple[Node, Node]:
        return threefry2x32_nodes(self.b, k0, k1, x0, x1)

    def convert(self, x: Node, dtype: np.dtype) -> Node:
        return self.b.convert(x, dtype)

    def xor(self, x: Node, y: Node) -> Node:
        return self.b.apply("xor", x, y)

    def join_words(self, low: Node, high: Node) -> Node:
        b = self.b
        shift = b.full(high.shape, 32, _U64)
        shifted = b.apply("shift_left", b.convert(high, _U64), shift)
        return b.apply("or", b.convert(low, _U64), shifted)

    def field(self, x: Node, shift: int) -> Node:
        return self.b.apply("shift_right_logical", x, self.b.full(x.shape, shift, x.dtype))

    def concatenate(self, parts: list[Node]) -> Node:
        return self.b.concatenate(parts, len(parts[0].shape) - 1)

    def _slice_last(self, x: Node, start: int, limit: int) -> Node:
        rank = len(x.shape)
        starts = (0,) * (rank - 1) + (start,)
        return self.b.slice(x, starts, (*x.shape[:-1], limit), (1,) * rank)

    def head(self, x: Node, size: int) -> Node:
        return self._slice_last(x, 0, size)

    def tail(self, x: Node, start: int) -> Node:
        return self._slice_last(x, start, x.shape[-1])

    def stack(self, parts: list[Node]) -> Node:
        expanded = [self.b.reshape(p, (*p.shape, 1)) for p in parts]
        return self.b.concatenate(expanded, len(parts[0].shape))


_numpy = _OnNumpy()


def _hash_counters(on: _Operations[X], keys: X, size: int) -> tuple[X, X]:
    """Hashes (0, i), for i < size, under each key; returns two arrays of words [*keys, size]."""
    shape = (*keys.shape, size)
    key_dims = tuple(range(len(keys.shape)))
    k0, k1 = (on.spread(word, shape, key_dims) for word in on.key_words(keys))
    counts = on.spread(on.counter(0, size), shape, (len(shape) - 1,))
    return on.threefry(k0, k1, on.zeros(counts), counts)


def _hash_pairs(on: _Operations[X], keys: X, size: int) -> X:
    """Hashes 0 ... size - 1 in pairs (i, i + half) under each key; returns words [*keys, size]."""
    half = (size + 1) // 2
    shape = (*keys.shape, half)
    key_dims = tuple(range(len(keys.shape)))
    k0, k1 = (on.spread(word, shape, key_dims) for word in on.key_words(keys))
    first = on.counter(0, half)
    second = on.counter(half, size - half)
    if size % 2:
        # The last counter is paired with zero.
        pad = on.zeros(on.counter(0, 1))
        second = on.concatenate([second, pad]) if size > 1 else pad
    dims = (len(shape) - 1,)
    y0, y1 = on.threefry(k0, k1, on.spread(first, shape, dims), on.spread(second, shape, dims))
    words = on.concatenate([y0, y1])
    return on.head(words, size) if size % 2 else words


def draw_bits(on: _Operations[X], keys: X, bit_width: int, shape: Shape, partitionable: bool) -> X:
    """Draws unsigned integers with `bit_width` bits, of shape [*keys, *shape]."""
    size = math.prod(shape)
    dtype = np.dtype(f"uint{bit_width}")
    full = (*keys.shape, *shape)
    if partitionable:
        y0, y1 = _hash_counters(on, keys, size)
        if bit_width == 64:
            bits = on.join_words(y1, y0)
        else:
            mixed = on.xor(y0, y1)
            bits = mixed if bit_width == 32 else on.convert(mixed, dtype)
        return on.reshape(bits, full)
    n_words = -(-bit_width * size // 32)
    words = _hash_pairs(on, keys, n_words)
    if bit_width == 64:
        bits = on.join_words(on.tail(words, size), on.head(words, size))
    elif bit_width == 32:
        bits = words
    else:
        # Each word is split into 32 / bit_width integers, with the lowest bits first.
        fields = [on.field(words, shift) for shift in range(0, 32, bit_width)]
        flat = on.reshape(on.stack(fields), (*keys.shape, n_words * len(fields)))
        bits = on.convert(on.head(flat, size), dtype)
    return on.reshape(bits, full)


def split_keys(on: _Operations[X], keys: X, shape: Shape, partitionable: bool) -> X:
    """Returns new keys of shape [*keys, *shape]."""
    size = math.prod(shape)
    full = (*keys.shape, *shape)
    if partitionable:
        y0, y1 = _hash_counters(on, keys, size)
        return on.reshape(on.join_words(y0, y1), full)
    words = on.reshape(_hash_pairs(on, keys, 2 * size), (*keys.shape, size, 2))
    pairs = on.transpose_last_two(words)
    halves = on.reshape(pairs, (*keys.shape, 2 * size))
    return on.reshape(on.join_words(on.head(halves, size), on.tail(halves, size)), full)


def fold_in_keys(on: _Operations[X], keys: X, data: X) -> X:
    """Hashes (0, data) under each key to a new key; `keys` and `data` have equal shapes."""
    k0, k1 = on.key_words(keys)
    y0, y1 = on.threefry(k0, k1, on.zeros(data), data)
    return on.join_words(y0, y1)


# --- primitives -----------------------------------------------------------------------------------


def key_dtype_of(aval: ShapedArray, name: str) -> dtypes.KeyDType:
    """Returns the dtype of a key array, an operand of the operation `name`.

    Raises:
      TypeError: if `aval` is not the type of a key array.
    """
    if not dtypes.issubdtype(aval.dtype, dtypes.prng_key):
        raise TypeError(f"{name} requires a key array, got {aval}")
    return aval.dtype


def _declare(name: str) -> Primitive:
    prim = declare(name)
    rules.def_zero_derivative(prim)
    prim.absent("transpose", why="not linear")
    return prim


random_seed_p = _declare("random_seed")
random_split_p = _declare("random_split")
random_fold_in_p = _declare("random_fold_in")
random_bits_p = _declare("random_bits")
random_wrap_p = _declare("random_wrap")
random_unwrap_p = _declare("random_unwrap")
random_clone_p = _declare("random_clone")

# Each key generates a separate block.
random_bits_p.sharding(sharding_rules.batch_of(0))
random_split_p.sharding(sharding_rules.batch_of(0))
random_unwrap_p.sharding(sharding_rules.batch_of(0))
random_wrap_p.sharding(sharding_rules.batch_of(lambda params: len(params["impl"].key_shape)))


@random_seed_p.abstract
def _random_seed_abstract(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    return shaped_array(seeds.shape, impl.key_dtype)


def _seed_words_numpy(seeds: np.ndarray) -> np.ndarray:
    # 64-bit seeds fill both words of the key; narrower seeds fill the low word.
    if seeds.dtype.itemsize == 8:
        wide = seeds.astype(_U64)
        high, low = (wide >> np.uint64(32)).astype(_U32), wide.astype(_U32)
    else:
        low = seeds.astype(_U32)
        high = np.zeros_like(low)
    return _numpy.join_words(high, low)


@random_seed_p.eager
def _random_seed_eager(seeds: np.ndarray, *, impl: PRNGImpl) -> np.ndarray:
    return _seed_words_numpy(seeds)


@random_seed_p.lower
def _random_seed_lower(b: Builder, seeds: Node, *, impl: PRNGImpl) -> Node:
    on = _OnNodes(b)
    if seeds.dtype.itemsize == 8:
        wide = b.convert(seeds, _U64)
        shift = b.full(seeds.shape, 32, _U64)
        high = b.convert(b.apply("shift_right_logical", wide, shift), _U32)
        return on.join_words(high, b.convert(wide, _U32))
    low = b.convert(seeds, _U32)
    return on.join_words(on.zeros(low), low)


@random_split_p.abstract
def _random_split_abstract(keys: ShapedArray, *, shape: Shape) -> ShapedArray:
    return shaped_array((*keys.shape, *shape), key_dtype_of(keys, "random_split"))


@random_split_p.eager
def _random_split_eager(keys: np.ndarray, *, shape: Shape) -> np.ndarray:
    return split_keys(_numpy, keys, shape, config.threefry_partitionable_enabled())


@random_split_p.lower
def _random_split_lower(b: Builder, keys: Node, *, shape: Shape) -> Node:
    return split_keys(_OnNodes(b), keys, shape, config.threefry_partitionable_enabled())


@random_fold_in_p.abstract
def _random_fold_in_abstract(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    shape = np.broadcast_shapes(keys.shape, data.shape)
    return shaped_array(shape, key_dtype_of(keys, "random_fold_in"))


@random_fold_in_p.eager
def _random_fold_in_eager(keys: np.ndarray, data: np.ndarray) -> np.ndarray:
    keys, data = np.broadcast_arrays(keys, data)
    return fold_in_keys(_numpy, keys, data.astype(_U32))


@random_fold_in_p.lower
def _random_fold_in_lower(b: Builder, keys: Node, data: Node) -> Node:
    shape = np.broadcast_shapes(keys.shape, data.shape)
    on = _OnNodes(b)

    def align(x: Node) -> Node:
        return on.spread(x, shape, tuple(range(len(shape) - len(x.shape), len(shape))))

    return fold_in_keys(on, align(keys), align(b.convert(data, _U32)))


@random_bits_p.abstract
def _random_bits_abstract(keys: ShapedArray, *, bit_width: int, shape: Shape) -> ShapedArray:
    key_dtype_of(keys, "random_bits")
    return shaped_array((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


@random_bits_p.eager
def _random_bits_eager(keys: np.ndarray, *, bit_width: int, shape: Shape) -> np.ndarray:
    return draw_bits(_numpy, keys, bit_width, shape, config.threefry_partitionable_enabled())


@random_bits_p.lower
def _random_bits_lower(b: Builder, keys: Node, *, bit_width: int, shape: Shape) -> Node:
    partitionable = config.threefry_partitionable_enabled()
    return draw_bits(_OnNodes(b), keys, bit_width, shape, partitionable)


@random_wrap_p.abstract
def _random_wrap_abstract(data: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    return shaped_array(data.shape[: data.ndim - len(impl.key_shape)], impl.key_dtype)


@random_wrap_p.eager
def _random_wrap_eager(data: np.ndarray, *, impl: PRNGImpl) -> np.ndarray:
    return _numpy.join_words(data[..., 0], data[..., 1])


@random_wrap_p.lower
def _random_wrap_lower(b: Builder, data: Node, *, impl: PRNGImpl) -> Node:
    return b.bitcast(data, _U64)


@random_unwrap_p.abstract
def _random_unwrap_abstract(keys: ShapedArray) -> ShapedArray:
    impl: PRNGImpl = key_dtype_of(keys, "random_unwrap").impl
    return shaped_array((*keys.shape, *impl.key_shape), _U32)


@random_unwrap_p.eager
def _random_unwrap_eager(keys: np.ndarray) -> np.ndarray:
    return np.stack(_numpy.key_words(keys), axis=-1)


@random_unwrap_p.lower
def _random_unwrap_lower(b: Builder, keys: Node) -> Node:
    return b.bitcast(keys, _U32)


@random_clone_p.abstract
def _random_clone_abstract(keys: ShapedArray) -> ShapedArray:
    return keys


@random_clone_p.eager
def _random_clone_eager(keys: np.ndarray) -> np.ndarray:
    return keys


@random_clone_p.lower
def _random_clone_lower(b: Builder, keys: Node) -> Node:
    return keys


# --- batching ---------------------------------------------------------------------------------

# Results have additional axes after those of the keys, so the batch dimension does not change.
rules.vectorized(random_seed_p, random_split_p, random_bits_p, random_unwrap_p, random_clone_p)
rules.broadcasting(random_fold_in_p)


@random_wrap_p.batch
def _random_wrap_batch(
    args: Sequence[Value], dims: Sequence[int], *, impl: PRNGImpl
) -> tuple[Value, int]:
    return random_wrap_p.bind(rules.move_axis(args[0], dims[0], 0), impl=impl), 0


# --- which keys are used ----------------------------------------------------------------------

uses_keys(random_seed_p, new=True)
uses_keys(random_wrap_p, new=True)
uses_keys(random_clone_p, new=True)
uses_keys(random_fold_in_p, new=True)
uses_keys(random_split_p, consumes=(0,), new=True)
uses_keys(random_bits_p, consumes=(0,))
uses_keys(random_unwrap_p)
