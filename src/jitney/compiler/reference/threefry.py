"""The Threefry-2x32 hash with 20 rounds, on ndarrays of uint32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.core.util.thresholds import threshold

# The rotation distances of the eight rounds that repeat, and the constant of the key schedule:
# Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA

# The number of elements hashed at a time, such that two words and a temporary stay in the L2 cache.
_BLOCK = threshold(1 << 13, small=8)

Rounds = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


def threefry2x32(
    k0: np.ndarray, k1: np.ndarray, x0: np.ndarray, x1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the elementwise hash of the words (x0, x1) under the key (k0, k1).

    The operands are broadcast.
    """
    words = [np.asarray(word, np.uint32) for word in (k0, k1, x0, x1)]
    shape = np.broadcast_shapes(*[word.shape for word in words])
    y0, y1 = (np.array(np.broadcast_to(word, shape), order="C") for word in words[2:])
    keys = [_key(word, shape) for word in words[:2]]
    if keys[0].size != keys[1].size:
        keys = [np.broadcast_to(key, y0.size).copy() for key in keys]
    _rounds(*keys, y0.reshape(-1), y1.reshape(-1))
    return y0, y1


def _key(word: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a word of the key for each element of `shape`, flat; a single word if uniform."""
    if not any(word.strides) or word.size == 1:
        return word[(slice(0, 1),) * word.ndim].reshape(-1)
    return np.ascontiguousarray(np.broadcast_to(word, shape)).reshape(-1)


def rounds(k0: np.ndarray, k1: np.ndarray, y0: np.ndarray, y1: np.ndarray) -> None:
    """Hashes the words (y0, y1) in place.

    All operands are flat arrays; keys have the same size as the words, or one element.
    """
    for start in range(0, y0.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        words = [k if k.size == 1 else k[block] for k in (k0, k1)]
        _rounds_of_block([*words, words[0] ^ words[1] ^ np.uint32(PARITY)], y0[block], y1[block])


_rounds: Rounds = rounds


def use_rounds(function: Rounds) -> None:
    """Registers `function` as a faster equivalent of `rounds`."""
    global _rounds
    _rounds = function


def _rounds_of_block(keys: list[np.ndarray], y0: np.ndarray, y1: np.ndarray) -> None:
    """Hashes (y0, y1) in place; keys are broadcast against them."""
    rotated = np.empty_like(y1)
    np.add(y0, keys[0], out=y0)
    np.add(y1, keys[1], out=y1)
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            np.add(y0, y1, out=y0)
            np.left_shift(y1, np.uint32(distance), out=rotated)
            np.right_shift(y1, np.uint32(32 - distance), out=y1)
            np.bitwise_or(y1, rotated, out=y1)
            np.bitwise_xor(y1, y0, out=y1)
        np.add(y0, keys[(group + 1) % 3], out=y0)
        np.add(y1, keys[(group + 2) % 3], out=y1)
        np.add(y1, np.uint32(group + 1), out=y1)
