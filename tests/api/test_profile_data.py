"""Traces in memory: `ProfileSession` and what it has recorded, as JAX 0.12 has them."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from jitney import profiler as own_profiler

profiler: Any = own_profiler  # has names by a table


def span(name: str, **details: object) -> None:
    with profiler.TraceAnnotation(name, **details):
        pass


def test_a_trace_in_memory():
    with profiler.trace() as session:
        assert session.is_running
        assert not session.profile_data
        span("first", size=3)
        other = threading.Thread(target=span, args=("second",), name="other thread")
        other.start()
        other.join()
    assert not session.is_running
    data: Any = session.profile_data
    (plane,) = data.planes
    assert plane.name == "/host:CPU" and dict(plane.stats)["process_id"] > 0
    assert data.find_plane_with_name("/host:CPU") is plane
    assert data.find_plane_with_name("/device") is None
    events = {line.name: {e.name: e for e in line.events} for line in plane.lines}
    first = events[threading.current_thread().name]["first"]
    assert first.stats == (("size", "3"),)
    assert first.end_ns == first.start_ns + first.duration_ns and first.duration_ns >= 0
    assert "second" in events["other thread"]
    span("late")
    assert "late" not in events[threading.current_thread().name]
    assert type(session.profile_data) is profiler.ProfileData
    assert {profiler.ProfileEvent, profiler.ProfileLine, profiler.ProfilePlane} >= {type(first)}


def test_what_is_written_can_be_read(tmp_path):
    session = profiler.start_trace(tmp_path / "begun", create_perfetto_trace=True)
    span("kept")
    profiler.stop_trace()
    assert len([*(tmp_path / "begun").rglob("*.json.gz")]) == 2
    profiler.export_profile_data(session, tmp_path / "later", session_id="run")
    profiler.export_profile_data(session.profile_data, tmp_path / "again", session_id="run")
    for folder in ("begun", "later", "again"):
        for file in (tmp_path / folder).rglob("*.json.gz"):
            data = profiler.ProfileData.from_file(file)
            names = [e.name for p in data.planes for line in p.lines for e in line.events]
            assert "kept" in names and file.parent.name != "" and data.as_text()
    assert (tmp_path / "later" / "plugins" / "profile" / "run").is_dir()
    plain = tmp_path / "plain.json"
    plain.write_text(session.profile_data.as_text())
    assert profiler.ProfileData.from_file(plain).find_plane_with_name("/host:CPU") is not None
    plain.write_text(json.dumps([1]))
    with pytest.raises(ValueError, match="not a trace"):
        profiler.ProfileData.from_file(plain)


def test_there_is_one_trace_at_a_time():
    session = profiler.ProfileSession()
    with pytest.raises(RuntimeError, match="nothing has been recorded"):
        session.export_profile_data("nowhere")
    with session:
        with pytest.raises(RuntimeError, match="one at a time"):
            profiler.ProfileSession().start()
        with pytest.raises(RuntimeError, match="not being recorded"):
            profiler.ProfileSession().stop()
    with pytest.raises(RuntimeError, match="not being recorded"):
        session.stop()
    with session:  # which can be used again
        span("again")
    names = [e.name for p in session.profile_data.planes for line in p.lines for e in line.events]
    assert names == ["again"]


def test_options():
    options = profiler.ProfileOptions()
    assert (options.host_tracer_level, options.python_tracer_level) == (2, 1)
    assert options.enable_hlo_proto is True and options.advanced_configuration == {}
    with pytest.raises(AttributeError):
        options.host_trace_level = 1
    options.host_tracer_level = 0
    with profiler.trace(profiler_options=options) as session:
        assert not profiler.TraceAnnotation.is_enabled()
        span("unseen")
    assert [line for plane in session.profile_data.planes for line in plane.lines] == []
