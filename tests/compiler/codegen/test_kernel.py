"""Kernels as functions give the interpreter's bits, for any part of their outermost loop."""

import numpy as np
import pytest
from tests.compiler.written import call, loaded

from jitney.compiler.codegen.kernel import KernelWriter
from jitney.compiler.codegen.kernel_key import ANY_RANGE, Range
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import interpret
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.schedule import outer_extent
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX2, X86_AVX512, host
from jitney.compiler.llvm.values import register_kind

LONG = COSTS.accumulators_above + 7
KERNELS = {
    "elementwise": """kernel k(p0: float32, p1: int32, p2: float32) for i < 37 {
  %0 = load p0[i] : float32
  %1 = load p1[i*-1 + 36] : int32
  %2 = convert %1 : float32
  %3 = mul %0, %2 : float32
  %4 = float32 0.0
  %5 = gt %3, %4 : bool
  store p2[i] <- %3 where %5
}""",
    # The condition is also true for what lanes past the end compute.
    "guarded": """kernel k(p0: float32, p1: int32) for i < 37 {
  %0 = load p0[i] : float32
  %1 = float32 5.0
  %2 = lt %0, %1 : bool
  %3 = index i : int32
  store p1[i] <- %3 where %2
}""",
    "transposed": """kernel k(p0: float64, p1: float64, p2: float64) for i < 9, for j < 21 {
  %0 = load p0[i + j*9] : float64
  %1 = load p1[i] : float64
  %2 = sub %0, %1 : float64
  store p2[i*21 + j] <- %2
}""",
    "indirect": """kernel k(p0: float32, p1: int32, p2: float32) for i < 30 {
  %0 = load p1[i] : int32
  %1 = load p0[%0*2 + 1] : float32
  %2 = index i*3 + 5 : int32
  %3 = convert %2 : float32
  %4 = add %1, %3 : float32
  store p2[i] <- %4
}""",
    "rows": """kernel k(p0: int32, p1: int32, p2: int32) for i < 5, reduce j < 50 {
  %0 = load p0[i*50 + j] : int32
  %1 = load p1[j] : int32
  reduce add p2[i] <- %0 * %1
  reduce max p2[i + 5] <- %0
}""",
    "long rows": f"""kernel k(p0: int32, p1: int32, p2: int32) for i < 2, reduce j < {LONG} {{
  %0 = load p0[i*{LONG} + j] : int32
  reduce xor p2[i] <- %0
}}""",
    "columns": """kernel k(p0: int32, p1: int32, p2: int32) for i < 50, reduce j < 5 {
  %0 = load p0[i + j*50] : int32
  reduce min p2[i] <- %0
}""",
    "no axis": """kernel k(p0: float32, p1: int32, p2: float32) {
  %0 = load p0[3] : float32
  %1 = sqrt %0 : float32
  store p2[1] <- %1
}""",
}
RNG = np.random.default_rng(0)


def compiled(kernel, bounds):
    shared = Emitter(host())
    writer = KernelWriter(kernel, host(), "k", shared, bounds)
    text = writer.text()
    assert set(writer.natives()) <= {"poll"}  # others are not linked here
    return loaded(f"{text}\n{shared.module_text()}", shared.outlined)


def memory(kernel):
    inputs = [RNG.integers(0, 14, max(300, 2 * LONG)).astype(d) for d in kernel.params[:-1]]
    return [*inputs, np.full(300, 77, kernel.params[-1])]


@pytest.mark.parametrize("name", KERNELS)
def test_parts_of_the_outermost_loop_make_the_whole(name):
    kernel = parse_kernel(KERNELS[name])
    code, buffers = compiled(kernel, ANY_RANGE), memory(kernel)
    expected = [b.copy() for b in buffers]
    interpret.run(kernel, expected)
    pointers = np.array([b.ctypes.data for b in buffers])
    n = outer_extent(kernel)
    for begin, end in ((0, 1), (1, 1), (1, n)) if n > 1 else ((0, n),):
        assert call(code, "k", np.zeros(1), pointers, numbers=(begin, end)) == 1
    for found, want in zip(buffers, expected, strict=True):
        np.testing.assert_array_equal(found, want)


def text(kernel, target, bounds=ANY_RANGE):
    return KernelWriter(kernel, target, "k", Emitter(target), bounds).text()


def test_tails_are_masked_or_single_lanes():
    kernel = parse_kernel(KERNELS["transposed"])
    assert "llvm.masked.store" in text(kernel, X86_AVX512)
    without = text(kernel, X86_AVX2)
    assert "<4 x double>" in without and "fsub double" in without
    assert "llvm.masked.store" not in without


def test_code_is_written_for_what_is_known_of_bounds():
    kernel = parse_kernel(
        "kernel k(p0: float32, p1: float32) for i < 64 {\n  %0 = load p0[i] : float32\n"
        "  %1 = neg %0 : float32\n  store p1[i] <- %1\n}"
    )
    assert "masked" in text(kernel, X86_AVX512)
    whole = text(kernel, X86_AVX512, Range(64))
    assert "masked" not in whole and "fneg <16 x float>" in whole and "fneg float" not in whole
    short = text(kernel, X86_AVX512, Range(is_short=True))
    assert "fneg float" in short and "<" not in short.split("{", 1)[1]


def test_addresses_are_computed_in_the_outermost_loop_they_are_known_in():
    kernel = parse_kernel(KERNELS["transposed"].replace("%1 = load p1[i]", "%1 = load p1[7]"))
    lines = text(kernel, X86_AVX512).splitlines()
    first_loop = next(k for k, line in enumerate(lines) if line.startswith("head."))
    loads = [k for k, line in enumerate(lines) if " = load double," in line]
    assert loads and loads[0] < first_loop
    assert register_kind(kernel.params[1]) == "f64"
