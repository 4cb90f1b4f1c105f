"""Threefry-2x32 with 20 rounds on ndarrays of uint32."""

from __future__ import annotations

import numpy as np

# Rotation distances of the eight rounds that repeat, and the constant of the key schedule:
# Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def threefry2x32(
    k0: np.ndarray, k1: np.ndarray, x0: np.ndarray, x1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The hash of the words (x0, x1) under the key (k0, k1), elementwise; all are broadcast."""
    keys = (k0, k1, k0 ^ k1 ^ np.uint32(PARITY))
    y0 = np.array(np.broadcast_arrays(x0 + k0, x1)[0])
    y1 = np.array(np.broadcast_arrays(x1 + k1, x0)[0])
    rotated = np.empty_like(y1)
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            np.add(y0, y1, out=y0)
            np.left_shift(y1, np.uint32(distance), out=rotated)
            np.right_shift(y1, np.uint32(32 - distance), out=y1)
            np.bitwise_or(y1, rotated, out=y1)
            np.bitwise_xor(y1, y0, out=y1)
        np.add(y0, keys[(group + 1) % 3], out=y0)
        np.add(y1, keys[(group + 2) % 3] + np.uint32(group + 1), out=y1)
    return y0, y1
