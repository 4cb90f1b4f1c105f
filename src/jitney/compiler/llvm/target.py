"""The capabilities of target machines: vector widths, number of registers, ISA extensions.

A `Target` is plain data. Only `host()` needs LLVM. Predefined targets, such as `X86_AVX512` and
`NEON`, are used by tests and to print code on any machine.
"""

from __future__ import annotations

from functools import lru_cache

from jitney.compiler.llvm import binding
from jitney.compiler.llvm.values import BITS
from jitney.core.util import shielded
from jitney.core.util.record import record, replace


@record(frozen=True)
class Target:
    """The properties of a processor that affect code generation.

    Attributes:
      triple: the LLVM target triple.
      cpu: LLVM's name of the processor; "" for the baseline of the architecture.
      features: the names of the features that the processor has.
      vector_bits: the width in bits of the vectors that kernels use.
      absent: the names of features that it lacks although processors of this name can have them.
        For example, some hypervisors mask AVX-512.
    """

    triple: str
    cpu: str
    features: frozenset[str]
    vector_bits: int
    absent: frozenset[str] = frozenset()

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith(("x86_64", "i686", "amd64"))

    @property
    def is_arm64(self) -> bool:
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def vector_registers(self) -> int:
        """The number of architectural vector registers, which bounds unrolling and fusion."""
        return 32 if self.is_arm64 or "avx512f" in self.features else 16

    @property
    def has_fma(self) -> bool:
        """Whether fused multiply-add is a single instruction."""
        return self.is_arm64 or "fma" in self.features

    @property
    def has_rounding(self) -> bool:
        """Whether floor, ceil, trunc and round-to-even are single instructions."""
        return self.is_arm64 or "sse4.1" in self.features

    @property
    def has_half_conversion(self) -> bool:
        """Whether conversions between float16 and float32 are single instructions."""
        return self.is_arm64 or "f16c" in self.features

    @property
    def has_half_arithmetic(self) -> bool:
        """Whether float64 is converted to float16 by one instruction, with one rounding."""
        return self.is_arm64 or "avx512fp16" in self.features

    @property
    def has_nan_minmax(self) -> bool:
        """Whether llvm.maximum and llvm.minimum (NaN propagates, -0 < 0) are one instruction."""
        return self.is_arm64

    @property
    def has_masks(self) -> bool:
        """Whether masked loads and stores of all lane widths are single instructions."""
        return "avx512bw" in self.features and "avx512vl" in self.features

    @property
    def has_gather(self) -> bool:
        """Whether gathers, vector loads from per-lane addresses, are fast enough to be used."""
        return "avx512f" in self.features or "avx2" in self.features

    def lanes(self, kind: str) -> int:
        """Returns the number of lanes of a full vector register of elements of `kind`.

        Predicates (`i1`) count as bytes, as in memory.
        """
        return max(self.vector_bits // max(BITS[kind], 8), 1)

    @property
    def feature_text(self) -> str:
        """The features in the format of LLVM, such as "+avx2,-avx512f"."""
        has = [f"+{name}" for name in sorted(self.features)]
        return ",".join([*has, *(f"-{name}" for name in sorted(self.absent))])

    @property
    def function_attributes(self) -> str:
        """The function attributes that make LLVM use vectors of this target's width."""
        attributes = "nounwind"
        if self.is_x86 and self.vector_bits >= 256:
            bits = self.vector_bits
            # Without these attributes, LLVM splits 512-bit vectors on processors tuned for 256
            # bits.
            attributes += f' "min-legal-vector-width"="{bits}" "prefer-vector-width"="{bits}"'
        return attributes

    def with_vector_bits(self, bits: int) -> Target:
        """Returns the same processor with kernels restricted to vectors of `bits` bits."""
        return replace(self, vector_bits=bits)


def _vector_bits(triple: str, features: frozenset[str]) -> int:
    if triple.startswith(("x86_64", "i686", "amd64")):
        if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features:
            return 512
        # AVX without AVX2 lacks the 256-bit integer arithmetic that all math functions need.
        return 256 if "avx2" in features else 128
    return 128


@lru_cache(maxsize=1)
def host() -> Target:
    """Returns the processor that this process runs on."""
    return shielded.call(_host)


def _host() -> Target:
    triple = binding.process_triple()
    found = binding.cpu_features()
    features = frozenset(name for name, has in found.items() if has)
    return Target(
        triple,
        binding.cpu_name(),
        features,
        _vector_bits(triple, features),
        frozenset(found) - features,
    )


_SSE2 = frozenset(("sse", "sse2", "cx8", "fxsr", "mmx", "64bit", "cmov"))
_SSE4 = _SSE2 | {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16"}
_AVX2 = _SSE4 | {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}

_LINUX = "x86_64-unknown-linux-gnu"
X86_SSE2 = Target(_LINUX, "x86-64", _SSE2, 128)
X86_SSE4 = Target(_LINUX, "x86-64-v2", _SSE4, 128)
X86_AVX2 = Target(_LINUX, "x86-64-v3", _AVX2, 256)
X86_AVX512 = Target(_LINUX, "x86-64-v4", _AVX512, 512)
NEON = Target("aarch64-unknown-linux-gnu", "", frozenset(("neon", "fp-armv8")), 128)
