"""The trace state."""

from jitney.core.tracing.trace import Trace, get_opaque_trace_state, set_current_trace


def _state_of(trace):
    with set_current_trace(trace):
        return get_opaque_trace_state()


def test_states_of_one_trace_are_equal():
    trace = Trace()
    assert _state_of(trace) == _state_of(trace)
    assert hash(_state_of(trace)) == hash(_state_of(trace))
    assert _state_of(trace) != _state_of(Trace())
    assert get_opaque_trace_state() == get_opaque_trace_state()


def test_states_of_traces_that_are_gone_differ():
    """A later trace may have the number of one that is gone, and both may be gone."""
    states = [_state_of(Trace()) for _ in range(20)]
    assert len(set(states)) == 20
    assert not any(a == b for i, a in enumerate(states) for b in states[:i])
