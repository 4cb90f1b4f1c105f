"""Products of bytes as float32 are exact: each part has few enough contracted indices."""

import numpy as np
import pytest

from jitney.compiler import tile_products
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.narrow_products import narrow_operands, product


def widened(b, dtypes, shapes, contract, batch, wide=np.int32):
    types = [TensorType(s, np.dtype(t)) for s, t in zip(shapes, dtypes, strict=True)]
    x, y = map(b.parameter, range(2), types)
    return x, y, b.dot(b.convert(x, wide), b.convert(y, wide), contract, batch, wide)


@pytest.fixture(autouse=True)
def no_tiles(monkeypatch):
    monkeypatch.setattr(tile_products, "is_native", lambda *_: False)


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("wide", ["int32", "uint32", "int8"])
def test_products_of_extremes_are_exact(dtypes, wide):
    """Sums of the largest products wrap around only as the result's dtype does."""
    b = Builder()
    shapes = (2, 3, 600), (600, 2, 2)
    x, y, node = widened(b, dtypes, shapes, ((2,), (0,)), ((0,), (1,)), wide)
    values = [
        np.full(s, np.iinfo(t).min or np.iinfo(t).max, t)
        for s, t in zip(shapes, dtypes, strict=True)
    ]
    (found,) = run_region(ir.Region((x, y), (product(b, node, x, y),)), values)
    expected = np.einsum("bik,kbj->bij", *[v.astype(np.int64) for v in values]).astype(wide)
    assert found.dtype == wide
    np.testing.assert_array_equal(found, expected)


def test_parts_are_as_long_as_float32_is_exact():
    b = Builder()
    x, y, node = widened(b, ("uint8", "uint8"), ((2, 600), (600, 2)), ((1,), (0,)), ((), ()))
    dots = [
        n for n in traversal.topological_order([product(b, node, x, y)]) if isinstance(n, ir.Dot)
    ]
    lengths = [n.x.shape[2] for n in dots]
    assert sum(lengths) == 600 and max(lengths) * 255 * 255 <= 2**24 and len(lengths) == 3


def test_what_pays_off():
    n = 1 + round(COSTS.narrow_products ** (1 / 3))

    def found(dtypes, m=n, wide=np.int32):
        b = Builder()
        x, y, node = widened(b, dtypes, ((m, n), (n, n)), ((1,), (0,)), ((), ()), wide)
        operands = narrow_operands(node)
        assert operands is None or operands == (x, y)
        return operands is not None

    assert found(("int8", "uint8"))
    assert not found(("int8", "uint8"), m=1)  # a vector
    assert not found(("int8", "int16"))
    assert not found(("int8", "int8"), wide=np.float64)
    assert not found(("bfloat16", "bfloat16"), wide=np.float32)  # without tiles
