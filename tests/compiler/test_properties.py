"""Properties of the compiler's stages on random programs."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.compiler.programs import Chooser, program, programs, random_array
from tests.compiler.running import TARGETS, check, code_for, differs

from jitney.compiler import pipeline
from jitney.compiler.hlo import interpret
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.passes import simplify
from jitney.compiler.hlo.text import print_module
from jitney.compiler.hlo.verify import verify
from jitney.compiler.kernels import interpret as kernels
from jitney.compiler.kernels.ir import Kernel, Load, Store
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.schedule import collapse, ordered_axes
from jitney.compiler.kernels.text import print_kernel
from jitney.compiler.kernels.unroll import unroll
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.verify import verify_plan

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
quick = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
SEEDS = range(80)  # of larger programs, without Hypothesis


@quick
@given(programs())
def test_text_is_read_back(example):
    module, _, _ = example
    text = print_module(module, elide_above=10**9)
    again = parse_module(text)
    verify(again)
    assert print_module(again, elide_above=10**9) == text


def same_bits(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and (
        x.tobytes() == y.tobytes() or not differs(x, y)
    )  # fmt: skip


@quick
@given(programs())
def test_simplification_keeps_values(example):
    module, inputs, _ = example
    simplified = simplify.run(module)
    verify(simplified)
    want, got = interpret.run(module, inputs), interpret.run(simplified, inputs)
    assert all(same_bits(g, w) for g, w in zip(got, want, strict=True))


@quick
@given(programs())
def test_simplification_is_done_after_one_time(example):
    module, _, _ = example
    once = simplify.run(module)
    # Folding constants may leave others to reduction: two more times must settle.
    twice = simplify.run(simplify.run(once))
    assert print_module(simplify.run(twice)) == print_module(twice)


@quick
@given(programs())
def test_compiled_code_computes_what_the_interpreter_does(example):
    module, inputs, inexact = example
    check(module, inputs, inexact)


@pytest.mark.parametrize("target", TARGETS)
def test_larger_programs(target):
    with code_for(target):
        for seed in SEEDS:
            module, inputs, inexact = program(Chooser(seed), 16)
            check(module, inputs, inexact)


def launched(steps):
    """All kernels of a plan."""
    for step in steps:
        if isinstance(step, plans.Launch):
            yield step.kernel
        for block in plans.inner(step):
            yield from launched(block)


def buffers_for(kernel: Kernel, seed: int) -> list[np.ndarray]:
    """Flat buffers that are large enough for all indices without terms."""
    sizes = [1] * len(kernel.params)
    for s in (*[s for s in kernel.body if isinstance(s, Load)], *kernel.outputs):
        reach = s.index.offset + sum(
            max(c, 0) * (n - 1) for c, n in zip(s.index.coefficients, kernel.extents, strict=True)
        )
        sizes[s.param] = max(sizes[s.param], reach + 1)
    return [
        random_array(Chooser(seed + i), TensorType((n,), dtype))
        for i, (n, dtype) in enumerate(zip(sizes, kernel.params, strict=True))
    ]


def variants(kernel: Kernel) -> list[Kernel]:
    """Kernels that compute the same."""
    ordered = ordered_axes(kernel)
    short = [k for k, n in enumerate(kernel.parallel) if n <= 6 and k not in ordered]
    return [collapse(kernel), *[unroll(kernel, k) for k in short]]


def test_kernels_are_read_back_and_other_loops_compute_the_same():
    seen = loops = 0
    for seed in SEEDS:
        module, _, _ = program(Chooser(1000 + seed), 12)
        for kernel in launched(pipeline.plan(pipeline.optimize(module)).steps):
            text = print_kernel(kernel)
            assert print_kernel(parse_kernel(text)) == text
            indirect = any(
                s.index.terms for s in (*kernel.body, *kernel.outputs) if hasattr(s, "index")
            )
            if kernel.loop is not None:
                loops += 1
                continue  # loops over random values need not end
            if indirect or 0 in kernel.extents:
                continue
            seen += 1
            exact = all(isinstance(o, Store) for o in kernel.outputs)
            first = buffers_for(kernel, seed)
            with np.errstate(all="ignore"):
                kernels.run(kernel, first)
            for variant in variants(kernel):
                second = buffers_for(kernel, seed)
                with np.errstate(all="ignore"):
                    kernels.run(variant, second)
                for x, y in zip(first, second, strict=True):
                    assert not differs(x, y, inexact=not exact), text
    assert seen > 100 and loops > 10


def test_no_two_live_buffers_share_memory():
    for seed in SEEDS:
        module, _, _ = program(Chooser(2000 + seed), 25)
        verify_plan(pipeline.plan(pipeline.optimize(module)))
