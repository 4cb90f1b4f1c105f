"""What `jax.profiler` has recorded, in memory: planes of lines of events, as JAX has them.

There is one plane, of the host, with a line for each thread. Times are in nanoseconds since the
recording began. Files are read back in the Trace Event Format, which they are written in.
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
_NS = 1_000  # in a microsecond, the unit of the format


@record(frozen=True)
class ProfileEvent:
    """A span of time with a name.

    Attributes:
      name: of what ran.
      start_ns, duration_ns: nanoseconds.
      stats: pairs of a name and a value.
    """

    name: str
    start_ns: float
    duration_ns: float
    stats: tuple[tuple[str, Any], ...] = ()

    @property
    def end_ns(self) -> float:
        return self.start_ns + self.duration_ns


class ProfileLine:
    """The events of one thread, in the order in which they ended.

    Attributes:
      name: of the thread.
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
      stats: pairs of a name and a value.
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
    def stats(self) -> Iterator[tuple[str, Any]]:
        return iter([("process_id", self._process)])


class ProfileData:
    """A recording."""

    def __init__(self, text: str) -> None:
        """The recording that `text` has in the Trace Event Format.

        Raises:
          ValueError: if it is none.
        """
        self._text = text
        recording: Any = json.loads(text)
        if not isinstance(recording, dict) or "traceEvents" not in recording:
            raise ValueError("ProfileData: this is JSON, but not a trace: it has no 'traceEvents'")
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
        """Returns the recording in a file that `jax.profiler` has written, `....trace.json.gz`."""
        data = Path(path).read_bytes()
        is_packed = data[:2] == b"\x1f\x8b"  # the magic number of gzip
        return ProfileData((gzip.decompress(data) if is_packed else data).decode())

    def as_text(self) -> str:
        """Returns the recording in the Trace Event Format."""
        return self._text


def _event(fields: Mapping[str, Any]) -> ProfileEvent:
    stats = tuple(fields.get("args", {}).items())
    return ProfileEvent(fields["name"], fields["ts"] * _NS, fields["dur"] * _NS, stats)
