"""Precision of contractions: the options, and their meaning on a CPU.

Precisions of matrix units (bfloat16, tensorfloat32, multiple passes) have no effect, since the CPU
computes at least as precisely. Only the presets for float16 and float64 change results.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, Union

import numpy as np

from jitney.core.settings import config
from jitney.core.types import dtypes

_NAMES = {
    "highest": 2, "float32": 2, "high": 1, "bfloat16_3x": 1, "tensorfloat32": 1, "default": 0,
    "bfloat16": 0, "fastest": 0, None: 0,
}  # fmt: skip


class Precision(enum.Enum):
    """Precision of a contraction, which on a CPU is always the full precision of its dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        if value is None or isinstance(value, str):
            return cls(_NAMES[value]) if value in _NAMES else None
        return None

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


class DotAlgorithm(NamedTuple):
    """An algorithm of a matrix unit: dtypes of operands and accumulation, and number of passes."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Named algorithms: dtypes of lhs, rhs and accumulation; X3 stands for three passes."""

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def accumulation_type(self) -> type[np.generic] | None:
        """The scalar type of accumulation, or None if it is that of the operands."""
        parts = self.name.removesuffix("_FAST_ACCUM").split("_X")[0].split("_")
        return _TYPES.get(parts[-1])


# A `Union`, as in JAX, because users may call `get_origin`.
PrecisionLike = Union[  # noqa: UP007
    str, Precision, DotAlgorithm, DotAlgorithmPreset, tuple[str | Precision, ...], None
]
"""Values of the option `precision`; a pair is for the left operand and the right operand."""

_TYPES = {
    "F16": np.float16, "BF16": dtypes.bfloat16, "F32": np.float32, "F64": np.float64
}  # fmt: skip
_ON_CPU = {
    DotAlgorithmPreset.DEFAULT: None,
    DotAlgorithmPreset.F16_F16_F16: np.dtype(np.float16),
    DotAlgorithmPreset.BF16_BF16_F32: None,
    DotAlgorithmPreset.BF16_BF16_F32_X3: None,
    DotAlgorithmPreset.BF16_BF16_F32_X6: None,
    DotAlgorithmPreset.F32_F32_F32: None,
    DotAlgorithmPreset.F64_F64_F64: np.dtype(np.float64),
}


def canonical_precision(
    precision: PrecisionLike,
) -> tuple[Precision, Precision] | DotAlgorithmPreset | DotAlgorithm | None:
    """Returns a pair of `Precision`, a preset, an algorithm or None, after applying the default.

    Raises:
      ValueError: if `precision` is none of these, nor the name of one of them.
    """
    if precision is None:
        precision = config.default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, DotAlgorithmPreset | DotAlgorithm):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    is_pair = isinstance(precision, list | tuple)
    pair: Any = precision if is_pair else (precision, precision)
    if len(pair) == 2 and all(isinstance(p, str | Precision) for p in pair):
        try:
            return (Precision(pair[0]), Precision(pair[1]))
        except ValueError:
            pass
    raise ValueError(
        f"`precision` must be None, a lax.Precision or its name (one of {list(_NAMES)}), a tuple "
        "with one of these for each operand, a lax.DotAlgorithmPreset or its name, or a "
        f"lax.DotAlgorithm, but is {precision}"
    )


def computation_dtype(precision: PrecisionLike, dtype: np.dtype) -> np.dtype:
    """Returns the dtype in which a contraction of operands of `dtype` is computed.

    Raises:
      ValueError: if `precision` is an algorithm that CPUs do not support.
    """
    if isinstance(precision, DotAlgorithm) or (
        isinstance(precision, DotAlgorithmPreset) and precision not in _ON_CPU
    ):
        raise ValueError(
            f"dot_general: products with the precision '{precision}' are not supported on CPUs"
        )
    wanted = _ON_CPU.get(precision) if isinstance(precision, DotAlgorithmPreset) else None
    if wanted is None or not dtypes.issubdtype(dtype, np.floating):
        return dtype
    return wanted
