"""Emitted instructions compute what they say, on scalars and on vectors; code is written once."""

import numpy as np
import pytest
from tests.compiler.written import run, vector

from jitney.compiler.codegen.access import store_vector
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import NEON, X86_AVX512, X86_SSE2
from jitney.compiler.llvm.values import Value, constant

F = np.float32([1.5, -2.5, 0.0, -0.0, np.inf, np.nan, 3e9, -3e9])
G = np.float32([2.0, np.nan, -0.0, 0.0, 1.0, np.nan, 1.0, -1.0])
X, Y = np.int32([7, -7, 2**31 - 1, 5, 0, -1, 9, 3]), np.int32([2, 2, 1, 31, 4, 1, 3, 3])
U = X.view(np.uint32)
FLOATS = {
    "fadd": (F + G, np.add), "maximum": (None, np.maximum), "minimum": (None, np.minimum),
    "maxnum": (None, np.fmax), "minnum": (None, np.fmin), "copysign": (None, np.copysign),
}  # fmt: skip
ROUNDED = {"floor": np.floor, "ceil": np.ceil, "trunc_float": np.trunc, "roundeven": np.rint}
INTEGERS = {
    "add": X + Y, "sub": X - Y, "mul": X * Y, "xor": X ^ Y, "shl": (U << Y.view("u4")).view("i4"),
    "lshr": (U >> Y.view("u4")).view("i4"), "ashr": X >> Y,
    "sdiv": np.trunc(X / Y).astype(np.int32), "udiv": (U // Y.view("u4")).view("i4"),
    "srem": np.fmod(X, Y), "urem": (U % Y.view("u4")).view("i4"),
}  # fmt: skip


def written(kinds, names, lanes=8):
    """Results of two-operand methods of the emitter `names`, in one function."""
    out = np.zeros((len(names), 8), np.float32 if kinds == "f32" else np.int32)
    a, b = (F, G) if kinds == "f32" else (X, Y)

    def write(e, pa, pb, pout):
        for begin in range(0, 8, lanes):
            at = [e.emit(f"getelementptr i32, {p!r}, i64 {begin}", "ptr") for p in (pa, pb)]
            x, y = [vector(e, p, kinds, lanes) for p in at]
            for k, name in enumerate(names):
                made = getattr(e, name)(x) if name in ROUNDED else getattr(e, name)(x, y)
                to = e.emit(f"getelementptr i32, {pout!r}, i64 {8 * k + begin}", "ptr")
                store_vector(e, made, to, None)

    assert run(write, a, b, out) == 1
    return out


@pytest.mark.parametrize("lanes", [1, 8])
def test_integers_wrap_and_divide_toward_zero(lanes):
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(written("i32", [*INTEGERS], lanes), [*INTEGERS.values()])


def test_floats_are_those_of_ieee():
    """-0 is less than 0 in extremes; `maxnum` and `minnum` prefer numbers to NaN."""
    names = [*FLOATS, *ROUNDED]
    found = dict(zip(names, written("f32", names), strict=True))
    with np.errstate(all="ignore"):
        for name in names:
            meaning = ROUNDED.get(name) or FLOATS[name][1]
            expected = meaning(F) if name in ROUNDED else meaning(F, G)
            np.testing.assert_array_equal(found[name], expected, err_msg=name)
    np.testing.assert_array_equal(np.signbit(found["maximum"][2:4]), [False, False])
    np.testing.assert_array_equal(np.signbit(found["minimum"][2:4]), [True, True])


def test_conversions_saturate_and_branches_keep_lanes_apart():
    signed, unsigned, rare, sums = [np.zeros(8, np.int32) for _ in range(4)]

    def write(e, pf, px, *outs):
        f, x = vector(e, pf, "f32", 8), vector(e, px, "i32", 8)
        negative = e.icmp("slt", x, e.const(0, x))
        found = [
            e.fptosi_sat(f, "i32"),
            e.fptoui_sat(f, "i32"),
            e.where_rare("test.square", negative, x, [x], lambda e, xs: e.mul(xs[0], xs[0])),
            e.where_any("test.flip", negative, x, [x], lambda e, xs: e.not_(xs[0])),
        ]
        for value, out in zip(found, outs, strict=True):
            store_vector(e, value, out, None)

    run(write, F, X, signed, unsigned, rare, sums)
    top, low = 2**31 - 1, -(2**31)
    np.testing.assert_array_equal(signed, [1, -2, 0, 0, top, 0, top, low])
    np.testing.assert_array_equal(unsigned.view("u4"), [1, 0, 0, 0, 2**32 - 1, 0, 3_000_000_000, 0])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(rare, np.where(X < 0, X * X, X))
    np.testing.assert_array_equal(sums, np.where(X < 0, ~X, X))


def test_loops_carry_several_values():
    """Euclid's algorithm."""
    out = np.int64([252, 198, 0])

    def write(e, p):
        a, b = [e.element(p, "i64", constant(k, "i64")) for k in (0, 1)]

        def step(state):
            a, b = state
            rest = e.urem(a, b)
            return [b, rest], e.icmp("ne", rest, constant(0, "i64"))

        (divisor, _) = e.repeat([a, b], step)
        at = e.emit(f"getelementptr i64, {p!r}, i64 2", "ptr")
        e.line(f"store {divisor!r}, {at!r}")

    run(write, out)
    assert out[2] == 18


def test_helpers_are_written_once_for_equal_types():
    e = Emitter(X86_AVX512)
    x, wide = Value("%x", "f32"), Value("%w", "f32", 16)
    for value in (x, x, wide):
        e.helper("twice", [value], "f32", lambda e, xs: e.fadd(xs[0], xs[0]))
    assert [*e.functions] == ["twice.f32", "twice.v16f32"]
    text = e.module_text()
    assert text.count("define internal") == 2 and len(e.lines) == 3
    other = Emitter(X86_AVX512, shared=e)
    assert other.functions is e.functions and not other.lines


def test_outlined_functions_are_shared_by_emitters_of_one_target():
    found = []
    for target in (X86_AVX512, X86_AVX512, X86_SSE2):
        e = Emitter(target)
        e.outline("test.once", [Value("%x", "f64")], "f64", lambda e, xs: e.fneg(xs[0]))
        found.append(e.outlined["test.once.f64"])
    assert found[0] is found[1] is not found[2]
    assert "declare double @test.once.f64(double) noinline" in e.module_text()


def test_multiplications_are_fused_where_the_target_can():
    x = Value("%x", "f64")
    for target, expected in ((NEON, "llvm.fma"), (X86_SSE2, "fadd")):
        e = Emitter(target)
        e.fma(x, x, x)
        assert expected in e.lines[-1]


def test_splats_of_constants_are_constants():
    e = Emitter(X86_SSE2)
    assert e.splat(constant(3, "i32"), 4).text == "splat (i32 3)" and not e.lines
    assert e.splat(x := Value("%x", "i32"), 1) is x
    assert e.splat(x, 4).lanes == 4 and len(e.lines) == 2
    with pytest.raises(AssertionError, match="bitcast of f32 to i64"):
        e.bitcast(Value("%f", "f32"), "i64")
