"""The block cipher under the random numbers, against real jax."""

from __future__ import annotations

import hashlib
import importlib

import numpy as np
from tests.helpers.oracle import answer
from tests.primitives.side_by_side import sample

from jitney.extend.random import threefry_2x32
from jitney.primitives.random.threefry import threefry2x32


def test_threefry():
    words = sample(np.uint32, (4, 9000))

    def digests(bind):
        return [hashlib.sha256(np.asarray(x).tobytes()).hexdigest() for x in bind(*words)]

    def of_jax():
        return digests(importlib.import_module("jax.extend.random").threefry2x32_p.bind)

    assert digests(threefry2x32) == answer(of_jax)


def test_published_words():
    """The known answers of Random123 (Salmon et al. 2011), also for odd numbers of counts."""
    known = {
        (0x00000000,) * 4: (0x6B200159, 0x99BA4EFE),
        (0xFFFFFFFF,) * 4: (0x1CB996FC, 0xBB002BE7),
        (0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3): (0xC4923A9C, 0x483DF7A0),
    }
    for (k0, k1, *counts), words in known.items():
        key = np.uint32(k0), np.uint32(k1)
        assert threefry_2x32(key, np.array(counts, np.uint32)).tolist() == list(words)
        (first,) = threefry_2x32(key, np.array(counts[:1], np.uint32)).tolist()
        assert first == threefry_2x32(key, np.array([counts[0], 0], np.uint32)).tolist()[0]
