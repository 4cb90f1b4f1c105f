"""Counter-based generators as functions of arrays: hashes of words under a key.

J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2,
3", SC 2011. Philox multiplies; Threefry adds, rotates and xors. Words are uint32 arrays that
broadcast against each other. Threefry-2x32, the default generator, has its own primitive and native
code (`threefry.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.reference.threefry import PARITY
from jitney.primitives.elementwise.binary import (
    add,
    bitwise_or,
    bitwise_xor,
    mul,
    mulhi,
    shift_left,
    shift_right_logical,
)

if TYPE_CHECKING:
    from jitney.core.typing import Array, Value

# The multipliers of Philox, and the increments of its key words per round.
_PHILOX2_MULTIPLIER = 0xD256D193
_PHILOX4_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_PHILOX_ROUNDS = 10

# The rotation distances of Threefry-4x32, which repeat after eight rounds.
_THREEFRY4_ROTATIONS = (
    (10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20),
)  # fmt: skip
_THREEFRY_ROUNDS = 20


def word(value: int) -> np.ndarray:
    """Returns `value` modulo 2^32 as a uint32 scalar."""
    return np.array(value & 0xFFFFFFFF, np.uint32)


def philox2x32(key: Value, x0: Array, x1: Array) -> list[Array]:
    """Computes the 10-round Philox-2x32 hash of (x0, x1) under a key of one word."""
    m = word(_PHILOX2_MULTIPLIER)
    for i in range(_PHILOX_ROUNDS):
        k = add(key, word(i * _WEYL[0]))
        x0, x1 = bitwise_xor(bitwise_xor(mulhi(x0, m), k), x1), mul(x0, m)
    return [x0, x1]


def philox4x32(key: Sequence[Value], counter: Sequence[Array]) -> list[Array]:
    """Computes the 10-round Philox-4x32 hash of four words under a key of two words."""
    x0, x1, x2, x3 = counter
    m0, m1 = map(word, _PHILOX4_MULTIPLIERS)
    for i in range(_PHILOX_ROUNDS):
        k0, k1 = (add(k, word(i * step)) for k, step in zip(key, _WEYL, strict=True))
        x0, x1, x2, x3 = (
            bitwise_xor(bitwise_xor(mulhi(x2, m1), x1), k0),
            mul(x2, m1),
            bitwise_xor(bitwise_xor(mulhi(x0, m0), x3), k1),
            mul(x0, m0),
        )
    return [x0, x1, x2, x3]


def threefry4x32(key: Sequence[Array], counter: Sequence[Array]) -> list[Array]:
    """Computes the 20-round Threefry-4x32 hash of four words under a key of four words."""
    parity: Any = word(PARITY)
    for k in key:
        parity = bitwise_xor(parity, k)
    keys = [*key, parity]
    x = [add(c, k) for c, k in zip(counter, key, strict=True)]
    for i in range(_THREEFRY_ROUNDS):
        # The pairing of words alternates between rounds.
        partners = ((0, 1), (2, 3)) if i % 2 == 0 else ((0, 3), (2, 1))
        distances = _THREEFRY4_ROTATIONS[i % len(_THREEFRY4_ROTATIONS)]
        for (a, b), distance in zip(partners, distances, strict=True):
            x[a] = add(x[a], x[b])
            x[b] = bitwise_xor(_rotated(x[b], distance), x[a])
        if i % 4 == 3:
            group = i // 4 + 1
            x = [add(w, keys[(group + j) % 5]) for j, w in enumerate(x)]
            x[3] = add(x[3], word(group))
    return x


def _rotated(x: Array, distance: int) -> Array:
    return bitwise_or(shift_left(x, word(distance)), shift_right_logical(x, word(32 - distance)))
