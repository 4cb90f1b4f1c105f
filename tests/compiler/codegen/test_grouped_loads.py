"""Adjacent and strided elements are loaded by whole vectors, and shared between statements."""

import numpy as np
import pytest
from tests.compiler.written import run

from jitney.compiler.codegen.access import store_vector
from jitney.compiler.codegen.grouped_loads import GroupedLoads, mask_of_several
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX512, host
from jitney.compiler.llvm.values import Value, constant


def kernel(*places, store="store p1[i] <- %0"):
    loads = [f"  %{k} = load {place} : float32\n" for k, place in enumerate(places)]
    return parse_kernel(
        f"kernel k(p0: float32, p1: float32) for i < 99 {{\n{''.join(loads)}  {store}\n}}"
    )


def grouped(*places, target=X86_AVX512):
    k = kernel(*places)
    loads = GroupedLoads(k, 0, [True] * len(places), target)
    return [(s.param, s.index) in loads for s in k.body]


def test_which_loads_are_grouped():
    assert grouped("p0[i*2]", "p0[i*2 + 1]", "p0[i]") == [True, True, False]
    assert grouped("p0[i*3 + 1]", "p0[i*3]", "p0[i*-1 + 98]") == [True] * 3
    assert grouped("p0[i*1000]", "p0[7]") == [False, False]


def test_what_the_kernel_writes_is_not_grouped():
    assert grouped("p1[i*2]", "p1[i*2 + 1]") == [False, False]


@pytest.mark.parametrize("remaining", [None, 5])
@pytest.mark.parametrize("factors", [(2, (0, 1)), (3, (0, 2)), (-1, (0,)), (-2, (0, 1))])
def test_each_lane_gets_its_element(factors, remaining):
    stride, offsets = factors
    first = 20 if stride < 0 else 0
    places = [f"p0[i*{stride} + {first + k}]" for k in offsets]
    k = kernel(*places)
    loads = GroupedLoads(k, 0, [True] * len(places), host())
    if remaining is not None and not host().has_masks:
        pytest.skip("this processor has no masks")
    x = np.arange(40, dtype=np.float32)
    found = np.zeros((len(places), 8), np.float32)

    def write(e, px, *outs):
        shared, left = {}, None if remaining is None else constant(remaining, "i64")

        def pointer(index: Affine):
            return e.emit(f"getelementptr float, {px!r}, i64 {index.offset}", "ptr")

        for s, out in zip(k.body, outs, strict=True):
            place = (s.param, s.index)
            store_vector(e, loads.load(e, shared, place, s.dtype, pointer, 8, left), out, None)

    run(write, x, *found)
    lanes = np.arange(8 if remaining is None else remaining)
    for row, offset in zip(found, offsets, strict=True):
        np.testing.assert_array_equal(row[: lanes.size], first + offset + stride * lanes)


def test_masks_are_computed_once():
    e, shared = Emitter(X86_AVX512), {}
    left = Value("%left", "i64")
    first = mask_of_several(e, shared, left, 2, 16)
    count = len(e.lines)
    assert mask_of_several(e, shared, left, 2, 16) is first and len(e.lines) == count
    assert first.lanes == 32
    assert mask_of_several(e, shared, None, 2, 16) is None
