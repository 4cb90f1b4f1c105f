"""Profiles recorded by `jax.profiler`: planes, which contain lines of events, as in JAX.

A profile recorded by this package has one plane, for the host, with a line for each thread. Its
times are in nanoseconds since the start of the recording. Files are written in the Trace Event
Format. Files in this format and XSpaces, the format of JAX's files, can be read
(`core.profiling.xspace`).
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from jitney.core.profiling import xspace
from jitney.core.util.protobuf import Message
from jitney.core.util.record import record

HOST = "/host:CPU"
_NS = 1_000  # ns per microsecond, the unit of the format
_PS = 1_000  # ps per ns, the unit of JAX's files


@record(frozen=True)
class ProfileEvent:
    """A named span of time.

    Attributes:
      name: the name of the function or operation that ran.
      start_ns, duration_ns: start and duration in nanoseconds.
      stats: (name, value) pairs.
    """

    name: str
    start_ns: float
    duration_ns: float
    stats: tuple[tuple[str | None, Any], ...] = ()

    @property
    def end_ns(self) -> float:
        return self.start_ns + self.duration_ns


class ProfileLine:
    """The events of one thread, in the order in which they ended.

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

    def __init__(
        self, name: str, lines: Sequence[ProfileLine], stats: Sequence[tuple[str | None, Any]]
    ) -> None:
        self._name = name
        self._lines = lines
        self._stats = stats

    @property
    def name(self) -> str:
        """The name of the device."""
        return self._name

    @property
    def lines(self) -> Iterator[ProfileLine]:
        return iter(self._lines)

    @property
    def stats(self) -> Iterator[tuple[str | None, object]]:
        return iter(self._stats)


class ProfileData:
    """A recorded profile."""

    def __init__(self, text: str) -> None:
        """Reads a profile from a text in the Trace Event Format.

        Raises:
          ValueError: if the text is not in this format.
        """
        self._text: str | None = text
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
        self._planes = [ProfilePlane(HOST, lines, [("process_id", process)])]

    @property
    def planes(self) -> Iterator[ProfilePlane]:
        return iter(self._planes)

    def find_plane_with_name(self, name: str) -> ProfilePlane | None:
        """Returns the plane with the name `name`; None if there is none."""
        return next((plane for plane in self._planes if plane.name == name), None)

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> ProfileData:
        """Reads a profile from a file `*.trace.json.gz` written by `jax.profiler`.

        Files `*.xplane.pb` written by JAX can be read as well.

        Raises:
          RuntimeError: if the file has neither format.
        """
        data = Path(path).read_bytes()
        is_packed = data[:2] == b"\x1f\x8b"  # the magic number of gzip
        if is_packed or data.lstrip()[:1] in (b"{", b"["):
            return ProfileData((gzip.decompress(data) if is_packed else data).decode())
        return ProfileData.from_serialized_xspace(data)

    @staticmethod
    def from_serialized_xspace(serialized_xspace: bytes) -> ProfileData:
        """Reads a profile from a serialized XSpace, the contents of a file `*.xplane.pb` of JAX.

        Raises:
          TypeError: if `serialized_xspace` is not bytes.
          RuntimeError: if the bytes do not encode an XSpace.
        """
        given: Any = serialized_xspace  # unchecked, from the user
        if not isinstance(given, bytes):
            raise TypeError(
                "ProfileData.from_serialized_xspace takes bytes, but got "
                f"{type(serialized_xspace).__name__}"
            )
        try:
            return ProfileData._of_xspace(xspace.decode(serialized_xspace))
        except ValueError as error:
            raise RuntimeError(f"ProfileData.from_serialized_xspace: {error}") from error

    @staticmethod
    def from_text_proto(text_proto: str) -> ProfileData:
        """Reads a profile from an XSpace in the text form of protocol buffers.

        Raises:
          ValueError: if the text does not have this form.

        Example:
          >>> from jax.profiler import ProfileData
          >>> data = ProfileData.from_text_proto('planes { name: "host" }')
          >>> [plane.name for plane in data.planes]
          ['host']
        """
        return ProfileData._of_xspace(xspace.parse(text_proto))

    @staticmethod
    def text_proto_to_serialized_xspace(text_proto: str) -> bytes:
        """Converts an XSpace from the text form of protocol buffers to the binary form.

        Raises:
          ValueError: if the text does not have this form.
        """
        return xspace.encode(xspace.parse(text_proto))

    @staticmethod
    def _of_xspace(space: Message) -> ProfileData:
        data = object.__new__(ProfileData)
        data._text = None
        data._planes = [_plane(plane) for plane in space.get("planes", ())]
        return data

    def as_text(self) -> str:
        """Returns the profile in the Trace Event Format."""
        if self._text is None:
            self._text = json.dumps({"traceEvents": list(_trace_events(self._planes))})
        return self._text


def _event(fields: Mapping[str, Any]) -> ProfileEvent:
    stats = tuple(fields.get("args", {}).items())
    return ProfileEvent(fields["name"], fields["ts"] * _NS, fields["dur"] * _NS, stats)


# --- of JAX's files -------------------------------------------------------------------------------


def _named(entries: Sequence[Message]) -> dict[int, str]:
    """Returns the names in a metadata map by their numbers."""
    return {e.get("key", 0): e.get("value", {}).get("name", "") for e in entries}


def _plane(plane: Message) -> ProfilePlane:
    names = _named(plane.get("stat_metadata", ()))
    events = _named(plane.get("event_metadata", ()))
    lines = [
        ProfileLine(
            line.get("name", ""),
            [
                _span(event, line.get("timestamp_ns", 0), events, names)
                for event in line.get("events", ())
            ],
        )
        for line in plane.get("lines", ())
    ]
    return ProfilePlane(plane.get("name", ""), lines, _stats(plane, names))


def _span(
    event: Message, start: int, events: Mapping[int, str], names: Mapping[int, str]
) -> ProfileEvent:
    """Returns an event of a line that starts at `start`, in nanoseconds."""
    return ProfileEvent(
        events.get(event.get("metadata_id", 0), ""),
        float(start + int(event.get("offset_ps", 0) / _PS)),
        float(int(event.get("duration_ps", 0) / _PS)),
        _stats(event, names),
    )


def _stats(holder: Message, names: Mapping[int, str]) -> tuple[tuple[str | None, Any], ...]:
    """Returns the (name, value) pairs of a plane or an event; (None, None) for unknown names."""
    pairs: list[tuple[str | None, Any]] = []
    for stat in holder.get("stats", ()):
        name = names.get(stat.get("metadata_id", 0))
        kind = next((k for k in stat if k != "metadata_id"), None)
        value = None if kind is None or name is None else stat[kind]
        if kind == "ref_value" and name is not None:
            value = names.get(stat[kind])
        elif isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        pairs.append((name, value))
    return tuple(pairs)


def _trace_events(planes: Sequence[ProfilePlane]) -> Iterator[dict[str, Any]]:
    """Yields the events of planes in the Trace Event Format, with times in microseconds."""
    thread = 0
    for process, plane in enumerate(planes):
        for line in plane.lines:
            thread += 1
            head = {"pid": process, "tid": thread}
            name = f"{plane.name} {line.name}".strip()
            yield {"ph": "M", "name": "thread_name", "args": {"name": name}, **head}
            for event in line.events:
                details = {str(key): value for key, value in event.stats}
                yield {
                    "ph": "X", "name": event.name, "ts": event.start_ns / _NS,
                    "dur": event.duration_ns / _NS, "args": details, **head,
                }  # fmt: skip
