"""Contexts of `jax.extend` remember the previous setting, and can be entered again."""

from jitney.core.source import source_info
from jitney.core.source.name_stack import NameStack
from jitney.core.tracing import remembering
from jitney.core.tracing.trace import state


def test_the_previous_trace_is_remembered():
    outer = state.trace
    with remembering.set_current_trace(None) as value:
        assert state.trace is None
        assert value is None
    context = remembering.take_current_trace()
    with remembering.set_current_trace("trace"), context as taken:
        assert taken == context.prev == "trace"
        assert state.trace is state.eval_trace
    assert state.trace is outer


def test_scopes_are_extended_transformed_and_replaced():
    with remembering.set_name_stack(NameStack().extend("a")) as none:
        assert none is None
        context = remembering.extend_name_stack("b")
        with context as stack:
            assert str(stack) == str(source_info.current_name_stack()) == "a/b"
            assert str(context.prev.name_stack) == "a"
            with remembering.transform_name_stack("jvp") as transformed:
                assert str(transformed) == "a/b/jvp()"
        with context as again:
            assert again == stack
        assert context.name == "b"
        assert str(source_info.current_name_stack()) == "a"


def test_origins_are_set_and_restored():
    place = source_info.Place(test_origins_are_set_and_restored.__code__, 0)
    stack = NameStack().extend("a")
    with remembering.user_context(place, name_stack=stack) as none:
        assert none is None
        found = source_info.current()
        assert (found.code, str(found.name_stack)) == (place.code, "a")
        inner = remembering.user_context(None)
        with inner:
            assert source_info.scopes.origin is None
            assert source_info.current_name_stack() == stack
        assert inner.prev.traceback == place
    assert source_info.scopes.origin is None
