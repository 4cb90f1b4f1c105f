"""Contractions whose axes lie as BLAS needs them are calls of it."""

import numpy as np
import pytest

from jitney.compiler import added_products
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.plan import ir
from jitney.compiler.plan.contraction import added, as_gemm

F64 = np.dtype(np.float64)


def product(shapes, contract, batch=((), ()), dtype=F64):
    b = Builder()
    x, y = [b.parameter(k, TensorType(s, np.dtype(dtype))) for k, s in enumerate(shapes)]
    return b.dot(x, y, contract, batch)


def gemm(*given, **options):
    node = product(*given, **options)
    buffers = {node.x: ir.Buffer("input", 0, 0), node.y: ir.Buffer("input", 0, 1)}
    found = as_gemm(node, buffers.__getitem__)
    assert found is None or (found.x, found.y) == (buffers[node.x], buffers[node.y])
    return found


@pytest.mark.parametrize(
    ("shapes", "contract", "transposed"),
    [
        (((3, 5), (5, 4)), ((1,), (0,)), (False, False)),
        (((5, 3), (5, 4)), ((0,), (0,)), (True, False)),
        (((3, 5), (4, 5)), ((1,), (1,)), (False, True)),
        (((5, 3), (4, 5)), ((0,), (1,)), (True, True)),
    ],
)
def test_transposed_operands(shapes, contract, transposed):
    found = gemm(shapes, contract)
    assert (found.batch, found.m, found.n, found.k) == (1, 3, 4, 5)
    assert (found.trans_x, found.trans_y) == transposed and not found.adds


def test_several_axes_are_merged():
    found = gemm(((2, 3, 5, 7), (2, 5, 7, 4)), ((2, 3), (1, 2)), ((0,), (0,)))
    assert (found.batch, found.m, found.n, found.k) == (2, 3, 4, 35)


@pytest.mark.parametrize(
    "given",
    [
        (((3, 2, 5), (2, 5, 4)), ((2,), (1,)), ((1,), (0,))),  # the batch is in the middle
        (((5, 3, 7), (5, 7, 4)), ((0, 2), (0, 1))),  # so is a free axis
    ],
)
def test_other_layouts_are_none(given):
    assert gemm(*given) is None


def test_other_dtypes_are_none():
    assert gemm(((3, 5), (5, 4)), ((1,), (0,)), dtype=np.int32) is None


def test_added_products_are_contractions():
    b = Builder()
    shapes = (3, 4), (5, 3), (5, 4)
    total, x, y = [b.parameter(k, TensorType(s, F64)) for k, s in enumerate(shapes)]
    routine = added_products.routine(((0,), (0,)), ((), ()))
    (out,) = b.library_call(routine.name, routine.params, [total, x, y])
    node = added(out.node)
    assert (node.x, node.y, node.type) == (x, y, total.type)
    assert as_gemm(node, lambda n: ir.Buffer("input", 0)).trans_x
