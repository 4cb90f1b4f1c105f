"""What a processor can do follows from its architecture and its features."""

import pytest

from jitney.compiler.llvm.engine import _Library
from jitney.compiler.llvm.target import (
    _AVX2,
    _LINUX,
    NEON,
    X86_AVX2,
    X86_AVX512,
    X86_SSE2,
    X86_SSE4,
    Target,
    _vector_bits,
    host,
)
from jitney.core.util.record import replace

PREDEFINED = (X86_SSE2, X86_SSE4, X86_AVX2, X86_AVX512, NEON)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("is_x86", (True, True, True, True, False)),
        ("is_arm64", (False, False, False, False, True)),
        ("has_fma", (False, False, True, True, True)),
        ("has_rounding", (False, True, True, True, True)),
        ("has_half_conversion", (False, False, True, True, True)),
        ("has_half_arithmetic", (False, False, False, False, True)),
        ("has_nan_minmax", (False, False, False, False, True)),
        ("has_masks", (False, False, False, True, False)),
        ("has_gather", (False, False, True, True, False)),
        ("vector_registers", (16, 16, 16, 32, 32)),
    ],
)
def test_capabilities(name, expected):
    assert tuple([getattr(target, name) for target in PREDEFINED]) == expected


@pytest.mark.parametrize("target", PREDEFINED)
def test_widths_are_those_of_the_features(target):
    assert _vector_bits(target.triple, target.features) == target.vector_bits
    assert _vector_bits("i686-pc-windows-msvc", target.features) in (target.vector_bits, 128)


def test_vectors_need_integers_and_masks_of_their_width():
    assert _vector_bits(X86_AVX2.triple, X86_AVX2.features - {"avx2"}) == 128
    assert _vector_bits(X86_AVX512.triple, X86_AVX512.features - {"avx512vl"}) == 256


def test_lanes_fill_a_register():
    assert [X86_AVX512.lanes(kind) for kind in ("f64", "f32", "bf16", "i8", "i1")] == [
        8,
        16,
        32,
        64,
        64,
    ]
    assert X86_SSE2.lanes("f64") == 2 and NEON.lanes("i128") == 1
    narrow = X86_AVX512.with_vector_bits(64)
    assert narrow.lanes("i128") == 1 and narrow.features == X86_AVX512.features


def test_attributes_keep_wide_vectors_whole():
    assert '"prefer-vector-width"="512"' in X86_AVX512.function_attributes
    assert X86_SSE4.function_attributes == NEON.function_attributes == "nounwind"


def test_features_are_sorted():
    assert NEON.feature_text == "+fp-armv8,+neon"
    assert (
        replace(NEON, absent=frozenset(("sve", "aes"))).feature_text == "+fp-armv8,+neon,-aes,-sve"
    )


SELECT = """
define float @select(float %a, float %b, i1 %c) {
  %d = select i1 %c, float %a, float %b
  ret float %d
}
"""


@pytest.mark.parametrize("masked", [False, True])
def test_no_instruction_is_used_that_a_virtual_machine_masks(masked):
    own = host()
    if not own.is_x86:
        pytest.skip("this processor has no vectors of x86")
    absent = frozenset(name for name in host().absent | own.features if name.startswith("avx512"))
    target = Target(_LINUX, "znver4", _AVX2, 256, absent if masked else frozenset())
    assembly = _Library(target).assembly(SELECT, level=2)
    assert ("kmov" in assembly) is not masked


def test_the_host_is_known():
    own = host()
    assert own is host() and own.is_x86 != own.is_arm64
    assert own.vector_bits == _vector_bits(own.triple, own.features)
