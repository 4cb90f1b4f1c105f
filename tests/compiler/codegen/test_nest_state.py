"""The body of a loop extends what is known outside of it, and nothing leaks out."""

from jitney.compiler.codegen.nest_state import State
from jitney.compiler.llvm.values import Value


def test_what_a_body_adds_is_unknown_outside():
    outer = State()
    x, y = Value("%x", "f32"), Value("%y", "i64")
    outer.values[0] = outer.splats[0] = x
    outer.addresses[1, 0] = outer.counters[0] = y
    outer.shared["pair"] = x
    inner = outer.copy()
    for name in State.__slots__:
        mine, copied = getattr(outer, name), getattr(inner, name)
        assert copied == mine and copied is not mine
        copied["new"] = x
        (key,) = mine
        copied[key] = None
        assert mine[key] is not None
