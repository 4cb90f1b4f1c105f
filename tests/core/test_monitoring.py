"""Listeners hear what is recorded, in the order of their registration."""

import pytest

from jitney.core.settings import monitoring


@pytest.fixture(autouse=True)
def listeners_of_this_test():
    kinds = (monitoring._events, monitoring._durations, monitoring._spans, monitoring._scalars)
    before = [kind.current for kind in kinds]
    yield
    for kind, current in zip(kinds, before, strict=True):
        kind.current = current


KINDS = {
    "event": (
        monitoring.register_event_listener,
        monitoring.unregister_event_listener,
        monitoring.record_event,
        ("/e",),
    ),
    "duration": (
        monitoring.register_event_duration_secs_listener,
        monitoring.unregister_event_duration_listener,
        monitoring.record_event_duration_secs,
        ("/e", 1.5),
    ),
    "span": (
        monitoring.register_event_time_span_listener,
        monitoring.unregister_event_time_span_listener,
        monitoring.record_event_time_span,
        ("/e", 1.0, 2.0),
    ),
    "scalar": (
        monitoring.register_scalar_listener,
        monitoring.unregister_scalar_listener,
        monitoring.record_scalar,
        ("/e", 3),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_listeners_hear_their_own_kind(kind):
    register, unregister, record, args = KINDS[kind]
    heard = []

    def first(*args, **metadata):
        heard.append((1, args, metadata))

    def second(*args, **metadata):
        heard.append((2, args, metadata))

    register(first)
    register(second)
    for name, (_, _, other, values) in KINDS.items():
        if name != kind:
            other(*values)
    record(*args, k="v")
    assert heard == [(1, args, {"k": "v"}), (2, args, {"k": "v"})]
    unregister(first)
    record(*args)
    assert heard[2:] == [(2, args, {})]
    with pytest.raises(AssertionError, match="is not registered"):
        unregister(first)


def test_a_listener_may_remove_itself_while_it_is_told():
    heard = []

    def once(event):
        heard.append(event)
        monitoring.unregister_event_listener(once)

    monitoring.register_event_listener(once)
    monitoring.register_event_listener(heard.append)
    monitoring.record_event("/a")
    monitoring.record_event("/b")
    assert heard == ["/a", "/a", "/b"]
    monitoring.clear_event_listeners()
    monitoring.record_event("/c")
    assert heard == ["/a", "/a", "/b"]
