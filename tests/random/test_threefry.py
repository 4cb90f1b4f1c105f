"""The block cipher under the random numbers, against real jax."""

from __future__ import annotations

import hashlib
import importlib

import numpy as np
from tests.helpers.oracle import answer
from tests.primitives.side_by_side import sample

from jitney.primitives.random.threefry import threefry2x32


def test_threefry():
    words = sample(np.uint32, (4, 9000))

    def digests(bind):
        return [hashlib.sha256(np.asarray(x).tobytes()).hexdigest() for x in bind(*words)]

    def of_jax():
        return digests(importlib.import_module("jax.extend.random").threefry2x32_p.bind)

    assert digests(threefry2x32) == answer(of_jax)
