"""Programs are linked with the addresses of their symbols, and may be used again."""

import ctypes

import numpy as np
import pytest
from tests.compiler.written import call, loaded

from jitney.compiler import library
from jitney.compiler.codegen import symbols
from jitney.compiler.codegen.linking import CompiledProgram, Links
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.input_output_alias import InputOutputAlias

PAIR = TensorType((2,), np.dtype(np.float64))
ENTRY = """define i32 @entry(ptr %call, ptr %out) {
  %x = load double, ptr @jt.c
  store double %x, ptr %out
  ret i32 1
}
@jt.c = external global double
"""
NEGATED = "(p0: float64[2]) {\n  %1 = neg p0 : float64[2]\n  return %1\n}"


def links(**given):
    fields = ("constants", "kernels", "library_calls", "procedures", "callbacks")
    return Links(**{"natives": (), **{name: {} for name in fields}, **given})


def test_constants_are_read_at_their_addresses():
    data = np.array([2.5, 1.0])
    found = links(constants={"jt.c": data})
    assert found.constant_bytes == 16
    out = np.zeros(1)
    code = loaded(ENTRY, known=found.addresses())
    assert call(code, "entry", np.zeros(1), out) == 1 and out[0] == 2.5


def test_functions_are_linked_by_the_cells_of_their_numbers(monkeypatch):
    monkeypatch.setattr(symbols, "_symbols", {"poll": 4321})
    mine = symbols.HostFunction(lambda x: (x,), [PAIR], [PAIR])
    routine = library.routine("reference.neg", region=NEGATED)
    found = links(
        natives=["poll"],
        library_calls={"jt.f": library.Call(routine, (PAIR,), (PAIR,))},
        callbacks={"jt.g": mine},
    )
    addresses = found.addresses()
    assert addresses["jitney.poll"] == 4321 and addresses["jt.g"] == mine.cell.ctypes.data
    number = ctypes.c_int64.from_address(addresses["jt.f"]).value
    x, out = np.array([1.0, -2.0]), np.zeros(2)
    slots = np.array([x.ctypes.data, out.ctypes.data], np.uintp)
    symbols.call_host(number, slots.ctypes.data)
    np.testing.assert_array_equal(out, -x)


def test_unknown_functions_are_an_error():
    call_ = library.Call(library.routine("nowhere.at_all"), (PAIR,), (PAIR,))
    with pytest.raises(ValueError, match=r"nowhere\.at_all"):
        links(library_calls={"jt.f": call_}).addresses()


def test_reused_programs_share_code_but_not_timings():
    found = links(constants={"jt.c": np.zeros(1)})
    code = loaded(ENTRY, known=found.addresses())
    alias = InputOutputAlias((), (0,), frozenset())
    program = CompiledProgram(code, found, 64, [], [PAIR], False, alias, [])
    program.timings["parse"] = 1.0
    again = program.reused(0.25)
    assert again.entry == program.entry == code.address("entry")
    assert again.timings == {"lookup": 0.25} and program.timings == {"parse": 1.0}
    assert again.outputs == (PAIR,) and again.code_bytes == code.size
