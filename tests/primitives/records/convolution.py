"""Records of convolutions: layouts, strides, dilations, groups, empty axes, any number of axes."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import (
    BOOL,
    F32,
    FLOATS,
    INTEGERS,
    NUMERIC,
    Operands,
    Record,
    random,
    small,
)

NHWC = ("NHWC", "HWIO", "NHWC")

# (shape of the operand, of the window, arguments)
CONVOLUTIONS = [
    ((2, 3, 7), (4, 3, 3), {"window_strides": (1,), "padding": "SAME"}),
    ((2, 3), (4, 3), {"window_strides": (), "padding": "VALID"}),
    ((2, 3, 5, 6), (4, 3, 3, 2), {"window_strides": (1, 2), "padding": "VALID"}),
    ((2, 3, 5, 6), (4, 3, 3, 2), {"window_strides": (2, 1), "padding": ((-1, 2), (0, 3))}),
    ((2, 9, 8, 17), (3, 3, 17, 20),
     {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": NHWC}),
    ((1, 14, 15, 3), (3, 5, 3, 33),
     {"window_strides": (2, 1), "padding": "SAME", "rhs_dilation": (2, 1),
      "dimension_numbers": NHWC}),
    ((3, 8, 2, 7), (2, 4, 3, 3),
     {"window_strides": (1, 1), "padding": ((1, 1), (0, 2)), "lhs_dilation": (2, 3),
      "dimension_numbers": ("HNCW", "IOWH", "CWHN")}),
    ((2, 6, 5), (9, 2, 2),
     {"window_strides": (1,), "padding": "SAME_LOWER", "feature_group_count": 3}),
    ((4, 6, 5), (6, 6, 2), {"window_strides": (1,), "padding": "VALID", "batch_group_count": 2}),
    ((2, 9, 9, 5), (3, 3, 1, 5),
     {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 5,
      "dimension_numbers": NHWC}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"window_strides": (1, 2, 1), "padding": "SAME"}),
    ((1, 2, 3, 4, 3, 4), (2, 2, 2, 1, 2, 3),
     {"window_strides": (1, 1, 1, 2), "padding": "VALID"}),
    ((1, 1, 300), (1, 1, 5), {"window_strides": (1,), "padding": "VALID"}),
    ((1, 1, 70), (1, 1, 40), {"window_strides": (1,), "padding": ((39, 39),)}),
    ((0, 3, 7), (4, 3, 3), {"window_strides": (1,), "padding": "SAME"}),
    ((2, 0, 7), (4, 0, 3), {"window_strides": (1,), "padding": "SAME"}),
    ((2, 3, 2), (4, 3, 3), {"window_strides": (1,), "padding": "VALID"}),
    ((2, 3, 7), (0, 3, 3), {"window_strides": (1,), "padding": "VALID"}),
]  # fmt: skip


def operands(make):
    def cases(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        xs = [make(rng, dtype, shape) for shape, _, _ in CONVOLUTIONS]
        ws = [make(rng, dtype, shape) for _, shape, _ in CONVOLUTIONS]
        return [(*xs, *ws)]

    return cases


def convolved(**options):
    def fn(lax, *values):
        half = len(values) // 2
        out = []
        for x, w, (_, _, kwargs) in zip(values[:half], values[half:], CONVOLUTIONS, strict=True):
            out.append(lax.conv_general_dilated(x, w, **kwargs, **options))
        return out

    return fn


ULP = {None: 16, "float16": 2, "bfloat16": 2}

RECORDS = [
    Record(
        "conv_general_dilated_exact", convolved(), operands(small), (BOOL, *NUMERIC),
        signed_zeros=False,
    ),
    Record(
        "conv_general_dilated", convolved(), operands(random), NUMERIC, ulp=ULP, jit_ulp=ULP,
        floor=300.0,
    ),
    Record(
        "conv_general_dilated_f32", convolved(preferred_element_type=F32), operands(small),
        (*FLOATS[:3], *INTEGERS[:3]), signed_zeros=False,
    ),
    Record(
        "conv_general_dilated_i32", convolved(preferred_element_type=np.int32), operands(random),
        INTEGERS[:2],
    ),
]  # fmt: skip
