"""Index maps: how the axes of operands and results relate, and the shardings that follow."""

import numpy as np
import pytest

from jitney.core.util import index_space
from jitney.core.util.index_space import IndexMap

MESH = {"x": 4, "y": 2}


def parts(names):
    return int(np.prod([MESH[name] for name in names], dtype=int))


@pytest.mark.parametrize(
    ("old", "new", "spec", "expected"),
    [
        ((8, 16), (4, 2, 16), (("x", "y"), ()), (("x",), ("y",), ())),
        ((4, 8), (32,), (("x",), ("y",)), (("x", "y"),)),
        ((8, 8), (64,), (("x",), ("y",)), (("x",),)),  # x leaves 2 rows to each device
        ((64,), (2, 32), (("x", "y"),), ((), ())),
    ],
)
def test_shardings_through_reshapes(old, new, spec, expected):
    sizes, before, after = index_space.refinement(old, new)
    found = IndexMap(sizes, [before], [after])
    assert found.spec(after, found.read(before, spec, parts), parts) == expected
