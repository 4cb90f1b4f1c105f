"""Functions of libraries by name: their registry, their calls in programs, nodes as such calls."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
from tests.compiler.programs import Chooser, program
from tests.compiler.running import differs

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import blas, library, pipeline
from jitney.compiler.codegen import symbols
from jitney.compiler.hlo import interpret, ir, node_calls, traversal, verify
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.text import print_module
from jitney.compiler.library import LibraryFunction, NativeCode
from jitney.compiler.tensor_type import TensorType, parse_type
from jitney.core.types.avals import shaped_array
from jitney.core.util.declarations import Table
from jitney.runtime.execution.executable import Lowering

FLOAT32 = np.dtype(np.float32)


@pytest.fixture
def registry(monkeypatch):
    """Declarations of a test are forgotten after it."""
    functions = Table("library function")
    functions.update(library._functions)
    monkeypatch.setattr(library, "_functions", functions)
    yield
    for name in [name for name in symbols._symbols if name.startswith("test.")]:
        del symbols._symbols[name]


def same_type(x, **_):
    return [x]


def compiled(module, *inputs):
    region = module.region
    avals = [[shaped_array(x.shape, x.dtype) for x in xs]
             for xs in (region.parameters, region.results)]  # fmt: skip
    return [np.asarray(x) for x in Lowering(module, *avals).compile().run(inputs)]


def calling(name, params, shape, dtype=FLOAT32):
    b = Builder()
    x = b.parameter(0, TensorType(shape, np.dtype(dtype)))
    return b.module("f", [x], b.library_call(name, params, [x]))


def lines(module):
    text = pipeline.as_text(module, "kernels")
    return [line.strip() for line in text.splitlines() if "_call " in line]


# --- declarations ---------------------------------------------------------------------------------


def test_a_declaration_is_all_that_a_program_needs(registry):
    def scale(x, *, by, name):
        assert name == "a, {b}"
        return [x * np.float32(by)]

    library.declare(LibraryFunction("test.scale", same_type, scale))
    module = calling("test.scale", (("by", 2.5), ("name", "a, {b}")), (3,))
    verify.verify(module)
    text = print_module(module)
    assert "library_call p0 name=test.scale params={by=2.5, name='a, {b}'}" in text
    assert print_module(parse_module(text)) == text
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(pipeline.interpret(module, [x])[0], x * 2.5)
    np.testing.assert_array_equal(compiled(module, x)[0], x * 2.5)
    assert lines(module) == [
        "library_call test.scale{by=2.5, name='a, {b}'}(input0) -> (output0)",
    ]


def test_names_are_unique_and_known(registry):
    declared = LibraryFunction("test.once", same_type, lambda x: [x])
    assert library.declare(declared) is library.find("test.once") is declared
    with pytest.raises(ValueError, match=r"'test\.once' is already declared"):
        library.declare(declared)
    with pytest.raises(ValueError, match=r"unknown library function test\.never"):
        library.find("test.never")
    with pytest.raises(ValueError, match=r"test\.once has no machine code"):
        library.address("test.once.float32")


def test_errors_of_a_reference_implementation_reach_the_caller(registry):
    def fail(x):
        raise ZeroDivisionError("not today")

    library.declare(LibraryFunction("test.fail", same_type, fail))
    with pytest.raises(ZeroDivisionError, match="not today"):
        compiled(calling("test.fail", (), (2,)), np.zeros(2, np.float32))


@ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int64,
    ctypes.c_int64,
)
def reverse_rows(call, slots, begin, end):
    """Rows reversed, by way of the workspace."""
    n = ctypes.cast(slots[0], ctypes.POINTER(ctypes.c_int64))[0]
    x, out, workspace = (ctypes.cast(slots[i], ctypes.POINTER(ctypes.c_float)) for i in (1, 2, 3))
    for row in range(begin, end):
        for i in range(n):
            workspace[row * n + i] = x[row * n + n - 1 - i]
        for i in range(n):
            out[row * n + i] = workspace[row * n + i]
    return 1


@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 2), (0, 3), (500, 2)])
def test_machine_code_with_options_and_workspace(shape, registry):
    native = NativeCode(
        address=lambda dtype: blas.address(reverse_rows),
        computes=lambda x, n: x.dtype == FLOAT32,
        options=lambda n: [n],
        rank=1,
        workspace=lambda x, n: 4 * n,
    )
    library.declare(
        LibraryFunction(
            "test.reverse", same_type, lambda x, n: [np.flip(x, -1)], native, lambda x, n: n
        )
    )
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):  # of the second there is no machine code
        x = rng.normal(size=shape).astype(dtype)
        module = calling("test.reverse", (("n", shape[-1]),), shape, dtype)
        np.testing.assert_array_equal(compiled(module, x)[0], x[..., ::-1])
        plan = pipeline.plan(pipeline.optimize(module))
        calls = [s for s in plan.steps if type(s).__name__ == "LibraryCall"]
        assert [c.native is not None for c in calls] == ([dtype == np.float32] if x.size else [])
        assert plan.arena_bytes >= (x.nbytes if dtype == np.float32 else 0)


# --- parameters and types as text -------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, True, -3, 2.5, float("inf"), -float("inf"), 1e300, 2j, 1 - 2j, "", "a 'b' \"c\" \\ }", "1",
     (), (1,), (1, (2.0, "x, y"), None), (3j,), ((1 + 2j),)],
)  # fmt: skip
def test_parameters_are_read_back(value, registry):
    library.declare(LibraryFunction("test.any", same_type, lambda x, value, last: [x]))
    module = calling("test.any", (("value", value), ("last", 1)), (2,))
    verify.verify(module)
    again = parse_module(print_module(module))
    (call,) = [n for n in traversal.topological_order(again.region.results)
               if isinstance(n, ir.LibraryCall)]  # fmt: skip
    assert call.params == (("value", value), ("last", 1))
    assert type(call.params[0][1]) is type(value)


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "uint8", "bfloat16", "float8_e4m3fn", "complex128"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3, 4)])
def test_types_are_read_back(dtype, shape):
    type_ = TensorType(shape, np.dtype(getattr(ml_dtypes, dtype, dtype)))
    assert parse_type(str(type_)) == type_
    for text in ("float32", "float32[3", "nothing[3]", "float32[x]"):
        with pytest.raises((TypeError, ValueError)):
            parse_type(text)


# --- nodes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_a_call_of_a_node_computes_what_the_node_does(seed):
    module, inputs, _ = program(Chooser(seed), steps=12)
    region = module.region
    env = dict(zip(region.parameters, inputs, strict=True))
    with np.errstate(all="ignore"):
        for node in traversal.topological_order(traversal.roots(region)):
            if node not in env:
                env[node] = interpret.evaluate(node, env)
            operands = traversal.operands(node)
            if isinstance(node, ir.Parameter | ir.Project) or not operands:
                continue
            call = node_calls.call_of(node)
            assert call.args == tuple(x.tensor_type for x in operands)
            read_back = library.Call(call.routine, call.args, call.results)
            expected = env[node] if isinstance(node.type, tuple) else [env[node]]
            for each in (call, read_back):
                found = library.implementation(each)(*[env[x] for x in operands])
                assert len(found) == len(expected) == len(call.results)
                for x, y, t in zip(found, expected, call.results, strict=True):
                    assert (x.shape, x.dtype) == (t.shape, t.dtype)
                    assert not differs(np.asarray(x), np.asarray(y))


def rare(x):
    """Operations without kernels, by the names of the calls that compute them."""
    return {
        "sort": jnp.sort(x),  # of many
        "reduce_region": lax.reduce(
            x.reshape(-1, 3),
            np.float32(0),
            lambda a, b: lax.cond(b > 0, lambda: a / 2 + b, lambda: a),
            (0,),
        ),
    }


def test_what_has_no_kernels_is_called_by_name():
    x = np.random.default_rng(0).normal(size=3000).astype(np.float32)
    text = jitney.jit(rare).lower(x).as_text("kernels")
    called = {line.split()[1].partition("(")[0] for line in text.splitlines() if "_call " in line}
    assert called >= {f"reference.{name}" for name in rare(x)}
    assert "host_call" not in text
    for name, value in jitney.jit(rare)(x).items():
        np.testing.assert_allclose(value, rare(x)[name], rtol=1e-5)


def test_host_calls_are_those_of_users():
    def doubled(x):
        return jitney.pure_callback(lambda x: 2 * x, x, x)

    x = np.arange(4, dtype=np.float32)
    text = jitney.jit(doubled).lower(x).as_text("kernels")
    assert "host_call pure_callback(input0) -> (output0)" in text and "library_call" not in text

    def summed(x):  # a user's function within a node
        return lax.reduce(x, np.float32(0), lambda a, b: a + doubled(b), (0,))

    text = jitney.jit(summed).lower(x).as_text("kernels")
    assert "host_call pure_callback(" in text and "library_call" not in text
    assert jitney.jit(summed)(x) == 2 * x.sum()


def test_reference_implementations_of_programs_are_given_up_with_them():
    f = jitney.jit(lambda x: jnp.sort(x))
    x = np.random.default_rng(0).normal(size=3000).astype(np.float32)
    before = len(symbols._host_functions)
    lowered = f.lower(x).compile()
    assert len(symbols._host_functions) == before + 1
    del lowered, f
    jitney.clear_caches()
    import gc

    gc.collect()
    assert len(symbols._host_functions) <= before


def test_calls_in_place_make_arrays_once_for_the_same_addresses():
    seen = []

    def doubled(x, result):
        seen.append((x, result))
        result[...] = 2 * x

    types = [TensorType((3,), np.dtype(np.float32))]
    function = symbols.HostFunction(doubled, types, types, in_place=True)

    def call(x, result):
        slots = np.array([x.ctypes.data, result.ctypes.data])
        symbols.call_host(function.number, slots.ctypes.data)

    arrays = [np.full((2, 3), k, np.float32) for k in range(20)]
    for both in arrays:  # more than are kept
        for _ in range(2):
            call(*both)
            assert (both[1] == 2 * both[0]).all()
            both += 1
    assert seen[0][1] is seen[1][1] and seen[1][1] is not seen[2][1]

    empty = [TensorType((0, 3), np.dtype(np.float32))]
    function = symbols.HostFunction(doubled, empty, empty, in_place=True)
    call(*np.zeros((2, 0, 3), np.float32))
    assert seen[-1][1].shape == (0, 3)
