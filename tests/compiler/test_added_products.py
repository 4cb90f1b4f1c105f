"""Products that are added in place: by BLAS, or by the reference where operands lie in another way."""

import numpy as np
import pytest
from tests.compiler.running import compiled

from jitney.compiler import added_products, pipeline
from jitney.compiler.hlo import interpret, ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.plan.text import print_plan
from jitney.compiler.tensor_type import TensorType

NUMBERS = np.random.default_rng(0)
MATRICES = ((8, 6), (6, 4)), ((1,), (0,)), ((), ())
CASES = {
    "rows times columns": MATRICES,
    "transposed": (((6, 8), (4, 6)), ((0,), (1,)), ((), ())),
    "a batch": (((3, 8, 6), (3, 6, 4)), ((2,), (1,)), ((0,), (0,))),
    "two axes contracted": (((8, 2, 3), (2, 3, 4)), ((1, 2), (0, 1)), ((), ())),
    "between the others": (((8, 6, 2), (6, 4)), ((1,), (0,)), ((), ())),
    "large": (((700, 300), (300, 200)), ((1,), (0,)), ((), ())),
    "nothing contracted": (((8, 0), (0, 4)), ((1,), (0,)), ((), ())),
    "empty": (((0, 6), (6, 4)), ((1,), (0,)), ((), ())),
}
DTYPES = (np.float32, np.float64, np.complex64)


def values(shape, dtype):
    x = NUMBERS.standard_normal(shape)
    return (x + 1j * NUMBERS.standard_normal(shape) if dtype == np.complex64 else x).astype(dtype)


def add(b, total, x, y, contract, batch):
    routine = added_products.routine(contract, batch)
    return b.library_call(routine.name, routine.params, [total, x, y])[0]


def repeated(turns, arrays, contract, batch, also=lambda b, total: []):
    """total, x, y -> the total after `turns` additions, and what `also` makes of the first one."""
    b = Builder()
    given = [b.parameter(k, TensorType(x.shape, x.dtype)) for k, x in enumerate(arrays)]

    def step(inner, i, total, x, y):
        return [add(inner, total, x, y, contract, batch), x, y]

    (total, _, _) = b.for_(turns, given, step)
    return ir.Module("f", ir.Region(tuple(given), (total, *also(b, given[0])), ()))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", CASES)
def test_in_a_loop(name, dtype):
    (x, y), contract, batch = CASES[name]
    arrays = [values(x, dtype), values(y, dtype)]
    total = interpret_product(arrays, contract, batch)
    arrays = [values(total.shape, dtype), *arrays]
    before = [x.copy() for x in arrays]
    (got,) = compiled(repeated(3, arrays, contract, batch), arrays)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(got, arrays[0] + 3 * total, rtol=tolerance, atol=tolerance)
    for x, y in zip(arrays, before, strict=True):  # a program's operands stay as they are
        np.testing.assert_array_equal(x, y)


def interpret_product(arrays, contract, batch):
    b = Builder()
    x, y = [b.parameter(k, TensorType(a.shape, a.dtype)) for k, a in enumerate(arrays)]
    module = ir.Module("f", ir.Region((x, y), (b.dot(x, y, contract, batch),), ()))
    return interpret.run(module, arrays)[0]


def test_the_total_is_read_again():
    arrays = [values((8, 4), np.float32), values((8, 6), np.float32), values((6, 4), np.float32)]

    def doubled(b, total):
        return [b.apply("add", total, total)]

    total, twice = compiled(repeated(2, arrays, *MATRICES[1:], doubled), arrays)
    np.testing.assert_allclose(total, arrays[0] + 2 * (arrays[1] @ arrays[2]), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(twice, 2 * arrays[0])


def test_a_loop_has_one_total():
    arrays = [np.zeros((200, 100), np.float32), np.zeros((200, 50), np.float32)]
    arrays.append(np.zeros((50, 100), np.float32))
    b = Builder()
    x, y = [b.parameter(k, TensorType(a.shape, a.dtype)) for k, a in enumerate(arrays[1:])]
    start = b.full((200, 100), 0, np.float32)

    def step(inner, i, total, x, y):
        return [add(inner, total, x, y, *MATRICES[1:]), x, y]

    module = ir.Module("f", ir.Region((x, y), (b.for_(5, [start, x, y], step)[0],), ()))
    plan = pipeline.plan(module)
    assert "output0 <-+ input0 @ input1" in print_plan(plan)
    assert plan.arena_bytes < 1000
