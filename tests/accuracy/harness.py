"""Runs single scalar functions on arrays, and counts their errors in units in the last place.

    f = loop(lambda e, xs: table.emit(e, "exp", dtype, xs, dtype), [dtype], dtype)
    errors = ulps(f(x), reference)

Code goes through the passes that kernels go through: helpers are inlined, nothing else.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from jitney.compiler.codegen import outlined_functions
from jitney.compiler.codegen.program import joined
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target, host
from jitney.compiler.llvm.values import Value, kind_of, memory_bytes, type_text

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

Rule = Callable[[Emitter, list[Value]], Value]


def _text(
    rule: Rule, operands: Sequence[np.dtype], result: np.dtype, target: Target, lanes: int
) -> str:
    e = Emitter(target)

    def memory_kind(dtype: np.dtype) -> str:
        kind = kind_of(dtype)
        assert kind is not None
        return "i8" if kind == "i1" else kind

    args = []
    for i, dtype in enumerate(operands):
        kind = memory_kind(dtype)
        at = e.emit(f"getelementptr {type_text(kind)}, ptr %p{i}, i64 %i", "ptr")
        value = e.emit(f"load {type_text(kind, lanes)}, ptr {at.text}, align 1", kind, lanes)
        args.append(e.trunc(value, "i1") if dtype == np.bool_ else value)
    value = rule(e, args)
    assert value.kind == kind_of(result), f"{value} is no {result}"
    if value.kind == "i1":
        value = e.zext(value, "i8")
    at = e.emit(f"getelementptr {type_text(value.kind)}, ptr %out, i64 %i", "ptr")
    e.line(f"store {value!r}, ptr {at.text}, align 1")
    params = ", ".join(f"ptr noalias %p{i}" for i in range(len(operands)))
    body = "\n".join(e.lines)
    text = f"""
define void @main({params}, ptr noalias %out, i64 %n) {target.function_attributes} {{
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %head]
{body}
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %head, label %exit
exit:
  ret void
}}
{e.module_text()}"""
    return joined(text, *outlined_functions.texts(e.outlined))


class Loop:
    """A compiled loop over arrays; call it with arrays of one length."""

    def __init__(
        self,
        rule: Rule,
        operands: Sequence[Any],
        result: Any,
        target: Target | None = None,
        lanes: int | None = None,
    ):
        target = target or host()
        self.operands = [np.dtype(d) for d in operands]
        self.result = np.dtype(result)
        widest = max(memory_bytes(kind_of(d) or "i8") for d in [*self.operands, self.result])
        self.lanes = lanes or max(target.vector_bits // (8 * widest), 1)
        text = _text(rule, self.operands, self.result, target, self.lanes)
        machine = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.feature_text, opt=2
        )
        module = llvm.parse_assembly(text)
        module.verify()
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        passes.run(module, llvm.create_pass_builder(machine, options))
        self.text = text
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        signature = [ctypes.c_void_p] * (len(self.operands) + 1) + [ctypes.c_int64]
        self._call = ctypes.CFUNCTYPE(None, *signature)(self._engine.get_function_address("main"))

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        n = arrays[0].size
        full = -(-n // self.lanes) * self.lanes
        padded = [
            np.concatenate([np.asarray(x, d), np.repeat(np.asarray(x, d)[-1:], full - n)])
            for x, d in zip(arrays, self.operands, strict=True)
        ]
        out = np.empty(full, self.result)
        self._call(*[x.ctypes.data for x in padded], out.ctypes.data, full)
        return out[:n]

    def seconds_per_element(self, *arrays: np.ndarray) -> float:
        """The least time of some runs over `arrays` (lengths: multiples of the lanes)."""
        out = np.empty(arrays[0].size, self.result)
        addresses = [x.ctypes.data for x in arrays]
        best = float("inf")
        for _ in range(30):
            start = time.perf_counter()
            self._call(*addresses, out.ctypes.data, out.size)
            best = min(best, time.perf_counter() - start)
        return best / out.size


def apply(
    rule: Callable[..., Value],
    *arrays: np.ndarray,
    result: Any = None,
    target: Target | None = None,
) -> np.ndarray:
    """Computes rule(e, *values) of the elements of `arrays`; by default of the dtype of the last."""
    dtypes = [x.dtype for x in arrays]
    loop = Loop(
        lambda e, xs: rule(e, *xs), dtypes, dtypes[-1] if result is None else result, target
    )
    return loop(*arrays)


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Errors of `got` against a more precise `want`, in units of the last place of got's dtype.

    Infinite where one is NaN, where infinities or the signs of zeros differ.
    """
    dtype = got.dtype
    info = np.finfo(dtype) if dtype.kind == "f" else _bfloat_info()
    # Of narrower dtypes float64 has 29 bits more, and is several times as fast.
    exact = np.longdouble if dtype == np.float64 else np.float64
    with np.errstate(all="ignore"):
        rounded = want.astype(dtype)
        want = want.astype(exact)
        exponent = np.maximum(np.frexp(np.abs(want))[1] - 1, info.minexp)
        unit = np.ldexp(exact(1), exponent - info.nmant)
        error = np.abs(got.astype(exact) - want) / unit
        wide, rounded = got.astype(np.float64), rounded.astype(np.float64)
        error = np.where(wide == rounded, np.minimum(error, 0.5), error)
        nan, want_nan = np.isnan(wide), np.isnan(rounded)
        error = np.where(nan & want_nan, 0, np.where(nan != want_nan, np.inf, error))
        either = np.isinf(rounded) | np.isinf(wide)
        error = np.where(either, np.where(wide == rounded, 0, np.inf), error)
        zero_sign = (want == 0) & (np.signbit(wide) != np.signbit(rounded))
        return np.where(zero_sign & ~nan, np.inf, error).astype(float)


def _bfloat_info() -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(ml_dtypes.bfloat16)


def samples(dtype: Any, n: int, seed: int = 0) -> np.ndarray:
    """Special values, every exponent, and numbers of usual size."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    info = np.finfo(dtype)
    word = np.dtype(f"u{dtype.itemsize}")
    special = [0, 1, 0.5, 2, 3, 0.25, 0.75, 1.5, 10, 88.72283, 88.72284, 87.33655, 103.97208,
               103.9721, 709.782712893384, 709.782712893385, 745.1332, 708.4, np.pi, np.pi / 2,
               np.inf, np.nan, info.tiny, info.smallest_subnormal, info.max, info.eps]  # fmt: skip
    with np.errstate(over="ignore"):
        special = np.asarray(special).astype(dtype)
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), n // 2, dtype=word).view(dtype)
    usual = rng.normal(size=n // 4)
    near_one = np.exp(rng.normal(size=n // 16) * 0.3)
    medium = rng.uniform(-110, 110, n // 8)
    large = rng.uniform(-800, 800, n // 16)
    parts = [special, -special, bits, *(p.astype(dtype) for p in (usual, near_one, medium, large))]
    return np.concatenate(parts)
