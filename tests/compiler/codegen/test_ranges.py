"""Kernels are written for what is known of their bounds: whole vectors, few lanes, or any number."""

import re

import numpy as np
import pytest
from tests.compiler.running import TARGETS, code_for

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.codegen.kernel_key import Range, range_of
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.llvm import engine


def _kernel(extent: int) -> str:
    """The code of an elementwise kernel over `extent` numbers."""
    f = jax.jit(lambda x: jnp.exp(x) * 3.5)
    text = f.lower(jnp.ones(extent, jnp.float32)).as_text("llvm")
    return text[text.index("@k0(") : text.index("@entry(")]


def _loops(code: str) -> int:
    return len(re.findall(r" = phi i64 ", code))


def test_bounds_that_whole_vectors_divide_leave_no_tail():
    code = _kernel(COSTS.lane_chunk)
    assert _loops(code) == 1 and "x float>" in code


def test_few_lanes_are_scalars():
    code = _kernel(3)
    assert _loops(code) == 1 and "x float>" not in code


@pytest.mark.parametrize("target", TARGETS)
def test_other_extents_have_vectors(target):
    """Then a masked one, or single lanes where the target has no masks."""
    with code_for(target):
        code = _kernel(101)
        has_masks = engine.host().has_masks
    assert re.search(r"fmul <\d+ x float>", code)
    assert ("fmul float" in code) == (not has_masks)


def test_all_other_extents_share_code():
    assert _kernel(101) == _kernel(67)
    assert "x float>" in _kernel(101)


@pytest.mark.parametrize(
    ("extent", "bounds"),
    [
        (0, Range()), (3, Range(is_short=True)), (4, Range(4)), (10, Range()), (24, Range(8)),
        (1000, Range(8)), (4096, Range(COSTS.lane_chunk)),
    ],
)  # fmt: skip
def test_what_is_known_of_an_extent(extent, bounds):
    kernel = parse_kernel(
        f"kernel k(p0: float32, p1: float32) for i < {extent} {{\n"
        "  %0 = load p0[i] : float32\n"
        "  store p1[i] <- %0\n"
        "}"
    )
    assert range_of(kernel) == bounds


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32, np.float64, np.complex64])
def test_every_extent_gives_the_same_numbers(dtype):
    values = np.arange(1, 140).astype(dtype)
    f = jax.jit(lambda x: x * x - x)
    with jax.enable_x64(True):
        for extent in (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33, 63, 64, 65, 96, 128, 139):
            x = values[:extent]
            np.testing.assert_array_equal(f(x), x * x - x, err_msg=str(extent))
