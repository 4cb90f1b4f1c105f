"""Python functions are called by number on views of a program's memory."""

import gc

import numpy as np
import pytest

from jitney.compiler import library
from jitney.compiler.codegen import symbols
from jitney.compiler.codegen.symbols import HostFunction, call_host
from jitney.compiler.hlo import node_calls as node_calls  # declares `reference.*`
from jitney.compiler.hlo.ir import TensorType

F64, I32 = np.dtype(np.float64), np.dtype(np.int32)
PAIR = TensorType((2,), F64)


def called(function, *arrays):
    slots = np.array([a.ctypes.data for a in arrays], np.uintp)
    call_host(int(function.cell[0]), slots.ctypes.data)


def test_results_are_copied_to_their_memory():
    def divmod_(x, y):
        assert x.shape == (2,) and y.shape == ()
        return np.floor(x / y), (x % y).astype(np.float32)

    function = HostFunction(divmod_, [PAIR, TensorType((), F64)], [PAIR, TensorType((2,), I32)])
    quotient, rest = np.zeros(2), np.zeros(2, np.int32)
    called(function, np.array([7.0, 9.0]), np.array(4.0), quotient, rest)
    np.testing.assert_array_equal([quotient, rest], [[1, 2], [3, 1]])


def test_functions_in_place_write_to_the_arrays_themselves():
    seen = []

    def scale(x, out):
        seen.append(out)
        np.multiply(x, 2, out=out)

    function = HostFunction(scale, [PAIR], [PAIR], in_place=True)
    x, outs = np.array([1.0, 2.0]), [np.zeros(2) for _ in range(20)]
    for out in (*outs, outs[0]):
        called(function, x, out)
        x += 1
    np.testing.assert_array_equal(outs[0], [42, 44])
    np.testing.assert_array_equal(outs[19], [40, 42])
    called(function, x, outs[0])
    assert seen[-1] is seen[-2]  # views of the same memory are kept


def test_arrays_without_elements_need_no_memory():
    empty = TensorType((0, 3), F64)
    function = HostFunction(lambda x: (x.sum(), x), [empty], [TensorType((), F64), empty])
    out = np.ones(())
    slots = np.array([0, out.ctypes.data, 0], np.uintp)
    call_host(function.number, slots.ctypes.data)
    assert out == 0


def test_errors_reach_the_caller():
    def fails(x):
        raise RuntimeError("no result")

    function = HostFunction(fails, [PAIR], [PAIR])
    with pytest.raises(RuntimeError, match="no result"):
        called(function, np.zeros(2), np.zeros(2))


def test_numbers_are_not_used_again():
    function = HostFunction(lambda: (), [], [])
    number = function.number
    assert HostFunction(lambda: (), [], []).number == number + 1
    del function
    gc.collect()
    with pytest.raises(KeyError):
        call_host(number, 0)


def test_functions_of_libraries_are_their_references():
    region = "(p0: float64[2]) {\n  %1 = neg p0 : float64[2]\n  return %1\n}"
    routine = library.routine("reference.neg", region=region)
    function = HostFunction.of_library(library.Call(routine, (PAIR,), (PAIR,)))
    out = np.zeros(2)
    called(function, np.array([1.0, -2.0]), out)
    np.testing.assert_array_equal(out, [-1, 2])
    unknown = library.Call(library.routine("nowhere.at_all"), (PAIR,), (PAIR,))
    with pytest.raises(ValueError, match=r"nowhere\.at_all"):
        HostFunction.of_library(unknown)


def test_symbols_are_looked_up_once(monkeypatch):
    monkeypatch.setattr(symbols, "_symbols", {})
    symbols.register_symbol("mine", 1234)
    assert symbols.symbol("mine") == 1234
    monkeypatch.setattr(library, "address", lambda name: 99)
    assert symbols.symbol("lapack.made_up") == symbols.symbol("lapack.made_up") == 99
    monkeypatch.setattr(library, "address", lambda name: 98)
    assert symbols.symbol("lapack.made_up") == 99
    with pytest.raises(KeyError):
        symbols.symbol("unknown")
