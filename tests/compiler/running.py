"""Compiled programs of the tensor IR, called on NumPy arrays; comparison with the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

from jitney.compiler.codegen import program as code
from jitney.compiler.codegen.linking import CompiledProgram
from jitney.compiler.hlo import interpret, ir
from jitney.compiler.llvm import engine, target as targets
from jitney.compiler.lower import optimization_level
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.verify import verify_plan
from jitney.core.settings import config
from jitney.core.types.avals import shaped_array
from jitney.core.util.record import replace
from jitney.runtime.compilation import lazy_compiler
from jitney.runtime.devices import client
from jitney.runtime.native._native import Program

# The host's own code, and code without masks, without fused multiply-add, with other vector widths.
TARGETS = ("host", "X86_AVX2", "X86_SSE2", "narrow")


@contextmanager
def code_for(name: str) -> Iterator[None]:
    """Within it, programs are compiled for a part of what the host's processor can do."""
    if name == "host":
        yield
        return
    lazy_compiler.compiler()  # waits for the thread that loads LLVM for the host
    own = targets.host()
    if name == "narrow":
        other = own.with_vector_bits(128)
    else:
        other = replace(getattr(targets, name), triple=own.triple)
        if not own.is_x86 or not other.features <= own.features | {"cx16", "64bit"}:
            pytest.skip("this processor cannot run the code")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "host", lambda: other)
        patch.setattr(engine, "host", lambda: other)
        patch.setattr(code, "_kernels", code._Kernels())
        engine.library.cache_clear()
        try:
            yield
        finally:
            engine.library.cache_clear()


def compiled(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results of `module`, compiled at the tests' level, with the result of every stage verified."""
    module = replace(module, optimization_level=optimization_level())
    with config.enable_checks(True):  # in this thread: tests call this from several
        built = lazy_compiler.compiler().compile_module(module)
    return run_program(built, inputs)


def run_plan(plan: plans.Plan, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results of `plan`, verified and compiled."""
    verify_plan(plan)
    plan = replace(plan, optimization_level=optimization_level())
    return run_program(code.compile_plan(plan), inputs)


def run_program(built: CompiledProgram, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results of a compiled program."""
    device = client.default_device()
    native = Program(
        built.entry,
        len(inputs),
        [(t.dtype, t.shape) for t in built.outputs],
        [shaped_array(t.shape, t.dtype) for t in built.outputs],
        built.arena_bytes,
        built.releases_gil,
        device,
        device.queue,
        None,
        None,
        built,
    )
    call = native.queue.enqueue(native.prepare(list(inputs)))
    return [np.asarray(x._value) for x in call.complete()]


def differs(got: np.ndarray, want: np.ndarray, inexact: bool = False) -> bool:
    """Whether values differ: at all, or, of inexact functions, by more than a few units."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return True
    if got.dtype.kind in "biu":
        return not np.array_equal(got, want)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    x, y = got.astype(wide), want.astype(wide)
    if not inexact:
        return not np.array_equal(x, y, equal_nan=True)
    with np.errstate(all="ignore"):
        unit = 2.0 ** {2: -7, 4: -20, 8: -48}[got.dtype.itemsize]
        return not np.allclose(x, y, rtol=unit, atol=unit * 1e-3, equal_nan=True)


def check(module: ir.Module, inputs: Sequence[np.ndarray], inexact: Sequence[bool] = ()) -> None:
    """Fails unless the compiled program computes what the interpreter does."""
    want = interpret.run(module, inputs)
    got = compiled(module, inputs)
    inexact = inexact or [False] * len(want)
    wrong = [
        i
        for i, (g, w, loose) in enumerate(zip(got, want, inexact, strict=True))
        if differs(g, w, loose)
    ]
    assert not wrong, (
        f"results {wrong}: {[got[i] for i in wrong]}, should be {[want[i] for i in wrong]}"
    )
