"""Profiles recorded by `jax.profiler`, in memory: planes of lines of events, as in JAX.

There is one plane, that of the host, with a line for each thread. Times are in nanoseconds since
the start of the recording. Files are read and written in the Trace Event Format.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from jitney.core.record import record

HOST = "/host:CPU"
_NS = 1_000  # ns per microsecond, the unit of the format


@record(frozen=True)
class ProfileEvent:
    """A named span of time.

    Attributes:
      name: what ran.
      start_ns, duration_ns: start and duration in nanoseconds.
      stats: (name, value) pairs.
    """

    name: str
    start_ns: float
    duration_ns: float
    stats: tuple[tuple[str, Any], ...] = ()

    @property
    def end_ns(self) -> float:
        return self.start_ns + self.duration_ns


class ProfileLine:
    """The events of one thread, in the order of their ends.

    Attributes:
      name: the name of the thread.
    """

    def __init__(self, name: str, events: Sequence[ProfileEvent]) -> None:
        self.name = name
        self._events = events

    @property
    def events(self) -> Iterator[ProfileEvent]:
        return iter(self._events)


class ProfilePlane:
    """The lines of one device.

    Attributes:
      stats: (name, value) pairs.
    """

    def __init__(self, name: str, lines: Sequence[ProfileLine], process: int) -> None:
        self._name = name
        self._lines = lines
        self._process = process

    @property
    def name(self) -> str:
        """The name of the device."""
        return self._name

    @property
    def lines(self) -> Iterator[ProfileLine]:
        return iter(self._lines)

    @property
    def stats(self) -> Iterator[tuple[str, object]]:
        return iter([("process_id", self._process)])


class ProfileData:
    """A recorded profile."""

    def __init__(self, text: str) -> None:
        """Reads a profile from a text in the Trace Event Format.

        Raises:
          ValueError: if the text is not in this format.
        """
        self._text = text
        recording: Any = json.loads(text)
        if not isinstance(recording, dict) or "traceEvents" not in recording:
            raise ValueError(
                "ProfileData: the data is JSON, but not a trace: 'traceEvents' is missing"
            )
        events = cast("dict[str, list[Mapping[str, Any]]]", recording)["traceEvents"]
        threads = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
        spans = [e for e in events if e["ph"] == "X"]
        lines = [
            ProfileLine(name, [_event(e) for e in spans if e["tid"] == thread])
            for thread, name in threads.items()
        ]
        process = next((e["pid"] for e in events), os.getpid())
        self._planes = [ProfilePlane(HOST, lines, process)]

    @property
    def planes(self) -> Iterator[ProfilePlane]:
        return iter(self._planes)

    def find_plane_with_name(self, name: str) -> ProfilePlane | None:
        """Returns the plane of that name; None if there is none."""
        return next((plane for plane in self._planes if plane.name == name), None)

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> ProfileData:
        """Reads a profile from a file written by `jax.profiler`, `....trace.json.gz`."""
        data = Path(path).read_bytes()
        is_packed = data[:2] == b"\x1f\x8b"  # the magic number of gzip
        return ProfileData((gzip.decompress(data) if is_packed else data).decode())

    def as_text(self) -> str:
        """Returns the profile in the Trace Event Format."""
        return self._text


def _event(fields: Mapping[str, Any]) -> ProfileEvent:
    stats = tuple(fields.get("args", {}).items())
    return ProfileEvent(fields["name"], fields["ts"] * _NS, fields["dur"] * _NS, stats)
