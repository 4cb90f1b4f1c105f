"""Costs of plans count scalar operations, and the bytes of all buffers that steps touch."""

import numpy as np
from tests.compiler.plan.executed import built

from jitney.compiler.plan import ir
from jitney.compiler.plan.analysis import plan_cost


def cost(body, *types):
    found = plan_cost(built(body, types)[1])
    return found["flops"], found["bytes accessed"]


def test_functions_count_for_each_element():
    assert cost("%1 = neg p0 : float32[8]\n%2 = mul %1, p0 : float32[8]", "float32[8]") == (16, 64)


def test_sums_of_products_are_two_operations():
    flops, moved = cost(
        "%2 = dot p0, p1 contract=((1,),(0,)) batch=((),()) : float32[3]",
        "float32[3,5]", "float32[5]",
    )  # fmt: skip
    assert flops >= 2 * 15 and moved == 4 * (15 + 5 + 3)


def test_products_by_blas():
    x, y, z = [ir.Buffer("arena", n) for n in (1000, 2000, 3000)]
    gemm = ir.Gemm(x, y, z, np.dtype(np.float32), 2, 3, 4, 5, False, False)
    found = plan_cost(ir.Plan("f", [gemm], (), ()))
    assert found == {"flops": 2 * 2 * 3 * 4 * 5, "bytes accessed": 6000}


def test_loops_count_as_one_iteration():
    x, y, flag = ir.Buffer("arena", 100), ir.Buffer("arena", 10), ir.Buffer("arena", 1)
    loop = ir.Loop([ir.Copy(flag, flag)], flag, [ir.Copy(x, y), ir.Copy(x, x)])
    found = plan_cost(ir.Plan("f", [loop], (), ()))
    assert found == {"flops": 0, "bytes accessed": 1 + 2 + 110 + 200}
