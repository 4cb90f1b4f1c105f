"""The block cipher under the random numbers, against real jax."""

from __future__ import annotations

import numpy as np
from tests.primitives.side_by_side import sample

from jitney.primitives.random.threefry import threefry2x32


def test_threefry():
    words = sample(np.uint32, (4, 9000))
    from jax.extend.random import threefry2x32_p

    for x, y in zip(threefry2x32(*words), threefry2x32_p.bind(*words), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
