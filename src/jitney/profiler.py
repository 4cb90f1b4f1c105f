"""`jax.profiler`: records when parts of a program run, in files for trace viewers.

Between `start_trace` and `stop_trace`, two kinds of spans are recorded: those that the program
annotates, on the thread that runs them, and the durations of tracing, lowering and compilation
(`jax.monitoring`). Within `jitney.profile`, the steps of compiled functions are recorded as well.
Files are written in the Trace Event Format, which Perfetto (ui.perfetto.dev), chrome://tracing and
TensorBoard display. If no trace is being recorded, an annotation costs a single test.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, ParamSpec, TypeVar

from jitney.core.settings import monitoring
from jitney.core.util.lazy import listing, refusing

__all__ = [
    "ProfileOptions", "ProfileSession", "StepTraceAnnotation", "TraceAnnotation",
    "annotate_function", "export_profile_data", "register_subprocess", "start_server", "start_trace",
    "stop_server", "stop_trace", "trace",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

if TYPE_CHECKING:
    from jitney.core.profiling.profile_data import ProfileData

P = ParamSpec("P")
R = TypeVar("R")
Event = dict[str, object]

_TRACKS = 1 << 30  # ids of tracks that are not threads; no thread has such an id


class Recording:
    """A record of when parts of a program ran.

    Attributes:
      events: recorded events, appended by all threads; times are in microseconds since the start of
        the recording.
      threads: names of threads, and of tracks that are not threads.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.threads: dict[int, str] = {}
        self.start = time.perf_counter()

    def add(self, name: str, start: float, end: float, details: dict[str, str]) -> None:
        """Adds a span of the current thread; times are values of `time.perf_counter`."""
        thread = threading.get_native_id()
        self.threads.setdefault(thread, threading.current_thread().name)
        self._add(thread, name, start, end, details)

    def add_track(
        self, name: str, spans: Iterable[tuple[str, float, float, dict[str, str]]]
    ) -> None:
        """Adds a track of spans; each span is a tuple of the arguments of `add`.

        The spans must be nested or disjoint.
        """
        track = _TRACKS + len([number for number in self.threads if number >= _TRACKS])
        self.threads[track] = name
        for span in spans:
            self._add(track, *span)

    def _add(
        self, thread: int, name: str, start: float, end: float, details: dict[str, str]
    ) -> None:
        event: Event = {
            "ph": "X", "name": name, "pid": os.getpid(), "tid": thread,
            "ts": (start - self.start) * 1e6, "dur": (end - start) * 1e6,
        }  # fmt: skip
        if details:
            event["args"] = details
        self.events.append(event)

    def add_duration(self, event: str, seconds: float, **metadata: str | int) -> None:
        """Records a duration that ends now; this is a listener for `jax.monitoring`."""
        end = time.perf_counter()
        self.add(event, end - seconds, end, {k: str(v) for k, v in metadata.items()})

    def text(self) -> str:
        """Returns the recording in the Trace Event Format."""
        names: list[Event] = [
            {"ph": "M", "name": "thread_name", "pid": os.getpid(), "tid": thread,
             "args": {"name": name}}
            for thread, name in self.threads.items()
        ]  # fmt: skip
        return json.dumps({"displayTimeUnit": "ns", "traceEvents": [*names, *self.events]})


class ProfileOptions:
    """Options of a recording.

    Other attributes exist for compatibility with JAX, and have no effect.

    Attributes:
      host_tracer_level: 0 records nothing; all other levels are equivalent.
    """

    __slots__ = (
        "advanced_configuration", "duration_ms", "enable_hlo_proto", "host_tracer_level",
        "include_dataset_ops", "python_tracer_level", "raise_error_on_start_failure",
        "repository_path", "session_id", "start_timestamp_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.advanced_configuration: dict[str, bool | int | str] = {}
        self.duration_ms = 0
        self.enable_hlo_proto = True
        self.host_tracer_level = 2
        self.include_dataset_ops = True
        self.python_tracer_level = 1
        self.raise_error_on_start_failure = False
        self.repository_path = ""
        self.session_id = ""
        self.start_timestamp_ns = 0


class _State:
    """The trace that is being recorded in this process, if any."""

    session: ProfileSession | None = None
    recording: Recording | None = None  # None also if the session records nothing
    lock = threading.Lock()


class ProfileSession:
    """A recording of a trace, such as `jax.profiler.trace()` yields; also a context manager.

    Args:
      log_dir: folder of the file that is written at the end; if None, no file is written.
      create_perfetto_link: whether to write `perfetto_trace.json.gz` as well.
      create_perfetto_trace: whether to write `perfetto_trace.json.gz` as well.
      profiler_options: see `ProfileOptions`.

    Example:
      >>> with jax.profiler.ProfileSession() as session:
      ...     with jax.profiler.TraceAnnotation("product"):
      ...         _ = jnp.ones((3, 3)) @ jnp.ones((3, 3))
      >>> (plane,) = session.profile_data.planes
      >>> "product" in [event.name for line in plane.lines for event in line.events]
      True
    """

    def __init__(
        self,
        log_dir: os.PathLike[str] | str | None = None,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: ProfileOptions | None = None,
    ) -> None:
        self.log_dir = log_dir
        self.create_perfetto_link = create_perfetto_link
        self.create_perfetto_trace = create_perfetto_trace
        self.profiler_options = profiler_options
        self._recording: Recording | None = None
        self._data: ProfileData | None = None

    @property
    def is_running(self) -> bool:
        return _State.session is self

    @property
    def profile_data(self) -> ProfileData | None:
        """The recorded data, once the trace has ended."""
        if self._data is None and self._recording is not None and not self.is_running:
            # This module is not needed to write files.
            from jitney.core.profiling.profile_data import ProfileData

            self._data = ProfileData(self._recording.text())
        return self._data

    def start(self) -> ProfileSession:
        """Starts recording; returns this session.

        Raises:
          RuntimeError: if a trace is already being recorded.
        """
        options = self.profiler_options
        with _State.lock:
            if _State.session is not None:
                raise RuntimeError(
                    "jax.profiler.start_trace: a trace is already being recorded, and there can "
                    "be only one at a time; call jax.profiler.stop_trace() first"
                )
            self._recording, self._data = Recording(), None
            _State.session = self
            if getattr(options, "host_tracer_level", 1):
                _State.recording = self._recording
        monitoring.register_event_duration_secs_listener(self._recording.add_duration)
        return self

    def stop(self) -> None:
        """Stops recording, and writes the file if `log_dir` was given.

        Raises:
          RuntimeError: if this session is not being recorded.
        """
        with _State.lock:
            if _State.session is not self or self._recording is None:
                raise RuntimeError("ProfileSession.stop: this trace is not being recorded")
            _State.session = _State.recording = None
        with suppress(AssertionError):  # all listeners may have been cleared in the meantime
            monitoring.unregister_event_duration_listener(self._recording.add_duration)
        if self.log_dir is not None:
            self.export_profile_data(self.log_dir)

    def export_profile_data(
        self,
        log_dir: os.PathLike[str] | str,
        create_perfetto_link: bool | None = None,
        create_perfetto_trace: bool | None = None,
        session_id: str | None = None,
    ) -> None:
        """Writes the recorded data to a folder; see `start_trace`.

        Raises:
          RuntimeError: if nothing has been recorded.
        """
        if self._recording is None:
            raise RuntimeError("ProfileSession.export_profile_data: nothing has been recorded yet")
        asked = (create_perfetto_link, create_perfetto_trace)
        own = (self.create_perfetto_link, self.create_perfetto_trace)
        wants = any([b if a is None else a for a, b in zip(asked, own, strict=True)])
        _write(self._recording.text(), log_dir, wants, session_id)

    def __enter__(self) -> ProfileSession:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _write(
    text: str, log_dir: os.PathLike[str] | str, perfetto: bool, session_id: str | None = None
) -> None:
    """Writes the files of a trace."""
    folder = Path(log_dir) / "plugins" / "profile"
    folder /= session_id or time.strftime("%Y_%m_%d_%H_%M_%S")
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{platform.node() or 'localhost'}.trace.json.gz"]
    for file in [*files, "perfetto_trace.json.gz"] if perfetto else files:
        (folder / file).write_bytes(gzip.compress(text.encode()))


def export_profile_data(
    profile_data: ProfileData | ProfileSession,
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    session_id: str | None = None,
) -> None:
    """Writes recorded data to a folder.

    Args:
      profile_data: recorded data, or a session that has ended.
      log_dir: as in `start_trace`.
      create_perfetto_link: as in `start_trace`.
      create_perfetto_trace: as in `start_trace`.
      session_id: name of the folder in `plugins/profile`; the current time by default.
    """
    wants = create_perfetto_link or create_perfetto_trace
    if isinstance(profile_data, ProfileSession):
        profile_data.export_profile_data(
            log_dir, create_perfetto_link, create_perfetto_trace, session_id
        )
    else:
        _write(profile_data.as_text(), log_dir, wants, session_id)


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> ProfileSession:
    """Starts recording a trace; `stop_trace` writes it.

    Args:
      log_dir: folder for traces. The file is written to its subfolder `plugins/profile/<time>/`,
        where TensorBoard searches for it.
      create_perfetto_link: whether to write `perfetto_trace.json.gz` as well, which ui.perfetto.dev
        can open. Unlike in JAX, no server is started to provide this file.
      create_perfetto_trace: whether to write `perfetto_trace.json.gz` as well.
      profiler_options: see `ProfileOptions`.

    Returns: the session; its `profile_data` holds the recorded data once the session has ended.

    Raises:
      RuntimeError: if a trace is already being recorded.
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    return session.start()


def stop_trace() -> None:
    """Stops the trace that `start_trace` started, and writes its file.

    Raises:
      RuntimeError: if no trace is being recorded.
    """
    session = _State.session
    if session is None:
        raise RuntimeError(
            "jax.profiler.stop_trace: no trace is being recorded; call "
            "jax.profiler.start_trace(log_dir) first"
        )
    session.stop()


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[ProfileSession]:
    """Returns a context manager that records a trace, and writes it if `log_dir` is given.

    It yields a `ProfileSession`, whose `profile_data` holds the recorded data once the session has
    ended. See `start_trace` for the arguments.

    Example:
      >>> import pathlib, tempfile
      >>> folder = tempfile.mkdtemp()
      >>> with jax.profiler.trace(folder):
      ...     with jax.profiler.TraceAnnotation("product"):
      ...         _ = jnp.ones((3, 3)) @ jnp.ones((3, 3))
      >>> len(list(pathlib.Path(folder).glob("plugins/profile/*/*.trace.json.gz")))
      1
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    with session:
        yield session


def going_on() -> Recording | None:
    """Returns the current recording, or None."""
    return _State.recording


class TraceAnnotation:
    """A context manager that records its duration under a name.

    The duration is recorded if a trace is being recorded both when the context is entered and when
    it is left. Compiled programs run asynchronously; call `block_until_ready` within the context to
    include their execution.
    """

    def __init__(self, name: str, **kwargs: object) -> None:
        """Creates a context named `name`; `kwargs` are metadata that are shown with the name."""
        self._name = name
        self._details = kwargs
        self._start: float | None = None

    def __enter__(self) -> TraceAnnotation:
        self._start = None if _State.recording is None else time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        recording = _State.recording
        if recording is not None and self._start is not None:
            details = {k: str(v) for k, v in self._details.items()}
            recording.add(self._name, self._start, time.perf_counter(), details)

    def set_metadata(self, **kwargs: object) -> None:
        """Adds metadata that is shown with the name."""
        self._details.update(kwargs)

    @staticmethod
    def is_enabled() -> bool:
        """Returns whether a trace is being recorded."""
        return _State.recording is not None


class StepTraceAnnotation(TraceAnnotation):
    """A context manager that records one step of a loop, such as a training loop.

    `step_num` is the index of the step.

    Example:
      >>> weights = jnp.ones(3)
      >>> for epoch in range(2):
      ...     with jax.profiler.StepTraceAnnotation("epoch", step_num=epoch):
      ...         weights = weights * 0.5
    """


def annotate_function(
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: object
) -> Callable[P, R]:
    """Returns a function that calls `func` within a `TraceAnnotation`.

    Args:
      func: function to annotate.
      name: name of its calls; the name of the function if None.
      **decorator_kwargs: metadata that are shown with the name.

    Example:
      >>> @jax.profiler.annotate_function
      ... def double(x):
      ...     return 2 * x
      >>> double(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """
    shown = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


# Packages import these names, and call the functions only on request.


def start_server(port: int, requires_backend: bool = True) -> NoReturn:
    """Raises NotImplementedError, since there is no server from which viewers can fetch traces.

    Args:
      port: ignored.
      requires_backend: ignored.

    Raises:
      NotImplementedError: always.
    """
    raise _no_server("start_server")


def stop_server() -> NoReturn:
    """Raises NotImplementedError, since `start_server` does not start a server.

    Raises:
      NotImplementedError: always.
    """
    raise _no_server("stop_server")


def register_subprocess(pid: int, port: int) -> NoReturn:
    """Raises NotImplementedError, since servers in other processes are not supported.

    Args:
      pid: ignored.
      port: ignored.

    Raises:
      NotImplementedError: always.
    """
    raise _no_server("register_subprocess")


def _no_server(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"jax.profiler.{name}: jitney has no trace server; use jax.profiler.trace to write a file "
        "for trace viewers"
    )
