"""`jax.profiler`: what a trace's file holds."""

import functools
import gzip
import json
import threading

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import profiler


def events_of(folder):
    (file,) = folder.glob("plugins/profile/*/*.trace.json.gz")
    return json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]


def test_spans_of_annotations_and_of_compilation(tmp_path):
    @profiler.annotate_function
    def outer():
        with profiler.StepTraceAnnotation("step", step_num=7):
            return jax.jit(lambda x: x * 2 + 1)(jnp.ones(3))

    with profiler.trace(tmp_path):
        outer()
        thread = threading.Thread(target=outer)
        thread.start()
        thread.join()
    profiler.annotate_function(outer, "afterwards")()

    spans = [event for event in events_of(tmp_path) if event["ph"] == "X"]
    steps = [event for event in spans if event["name"] == "step"]
    calls = [event for event in spans if event["name"].endswith("outer")]
    assert [event["args"] for event in steps] == [{"step_num": "7"}] * 2
    assert len({event["tid"] for event in steps}) == len(calls) == 2
    for step, call in zip(steps, calls, strict=True):
        assert step["tid"] == call["tid"]
        assert call["ts"] <= step["ts"]
        assert step["ts"] + step["dur"] <= call["ts"] + call["dur"]
    assert any(event["name"] == "/jax/core/compile/jaxpr_trace_duration" for event in spans)
    assert not any(event["name"] == "afterwards" for event in spans)


def test_one_trace_at_a_time(tmp_path):
    with pytest.raises(RuntimeError, match="no trace is being recorded"):
        profiler.stop_trace()
    annotation = profiler.TraceAnnotation("long", size=3)
    with annotation:
        profiler.start_trace(tmp_path, create_perfetto_trace=True)
        assert annotation.is_enabled()
        with pytest.raises(RuntimeError, match="a trace is already being recorded"):
            profiler.start_trace(tmp_path)
        jax.monitoring.clear_event_listeners()
    profiler.stop_trace()
    assert not annotation.is_enabled()
    (perfetto,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    assert json.loads(gzip.decompress(perfetto.read_bytes()))["traceEvents"] == events_of(tmp_path)


@pytest.mark.parametrize(
    "name, given",
    [("start_server", (9999, False)), ("stop_server", ()), ("register_subprocess", (1, 2))],
)
def test_there_is_no_server_but_its_functions(name, given):
    function = functools.partial(getattr(profiler, name), *given)  # as packages do when imported
    with pytest.raises(NotImplementedError, match=f"profiler.{name}: .*no trace server"):
        function()
