"""`jax.profiler`: when parts of a program ran, as a file for trace viewers.

Between `start_trace` and `stop_trace` are recorded: the spans that the program annotates, in the thread
that they run in, and how long this package took to trace, lower and compile (`jax.monitoring`). The
file is in the Trace Event Format, which Perfetto (ui.perfetto.dev), chrome://tracing and TensorBoard
show. Without a trace going on, an annotation costs a test.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from jitney.core import monitoring
from jitney.core.lazy import listing, refusing

__all__ = [
    "StepTraceAnnotation", "TraceAnnotation", "annotate_function", "start_trace", "stop_trace",
    "trace",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # for whom all names would exist
    __getattr__ = refusing(__name__)

P = ParamSpec("P")
R = TypeVar("R")
Event = dict[str, object]


class _Recording:
    """A trace that is going on.

    Attributes:
      folder: of the files, given by the user.
      perfetto: whether a second file is wanted, of the name that Perfetto's users expect.
      events: what was recorded, appended to by all threads; times are in microseconds since `start`.
      threads: the names of these threads.
    """

    def __init__(self, folder: Path, perfetto: bool) -> None:
        self.folder = folder
        self.perfetto = perfetto
        self.events: list[Event] = []
        self.threads: dict[int, str] = {}
        self.start = time.perf_counter()

    def add(self, name: str, start: float, end: float, details: dict[str, str]) -> None:
        thread = threading.get_native_id()
        self.threads.setdefault(thread, threading.current_thread().name)
        event: Event = {
            "ph": "X", "name": name, "pid": os.getpid(), "tid": thread,
            "ts": (start - self.start) * 1e6, "dur": (end - start) * 1e6,
        }  # fmt: skip
        if details:
            event["args"] = details
        self.events.append(event)

    def add_duration(self, event: str, seconds: float, **metadata: str | int) -> None:
        """A listener of `jax.monitoring`: durations are told at their end."""
        end = time.perf_counter()
        self.add(event, end - seconds, end, {k: str(v) for k, v in metadata.items()})

    def write(self) -> None:
        """Writes the files."""
        names: list[Event] = [
            {"ph": "M", "name": "thread_name", "pid": os.getpid(), "tid": thread,
             "args": {"name": name}}
            for thread, name in self.threads.items()
        ]  # fmt: skip
        text = json.dumps({"displayTimeUnit": "ns", "traceEvents": [*names, *self.events]})
        folder = self.folder / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
        folder.mkdir(parents=True, exist_ok=True)
        files = [f"{platform.node() or 'localhost'}.trace.json.gz"]
        for file in [*files, "perfetto_trace.json.gz"] if self.perfetto else files:
            (folder / file).write_bytes(gzip.compress(text.encode()))


class _State:
    """The trace that is going on in this process, if any."""

    recording: _Recording | None = None
    lock = threading.Lock()


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: object = None,
) -> None:
    """Begins to record; `stop_trace` writes what was.

    Args:
      log_dir: a folder. The file goes to its `plugins/profile/<time>/`, where TensorBoard looks.
      create_perfetto_link: writes `perfetto_trace.json.gz`, too, to be opened at ui.perfetto.dev.
        Unlike in JAX, no server is started that hands it over.
      create_perfetto_trace: writes `perfetto_trace.json.gz`, too.
      profiler_options: accepted for compatibility.

    Raises:
      RuntimeError: if a trace is going on already.
    """
    with _State.lock:
        if _State.recording is not None:
            raise RuntimeError(
                "jax.profiler.start_trace: a trace is being recorded already, and there is one at a "
                "time; jax.profiler.stop_trace() ends it"
            )
        made = _Recording(Path(log_dir), create_perfetto_link or create_perfetto_trace)
        _State.recording = made
    monitoring.register_event_duration_secs_listener(made.add_duration)


def stop_trace() -> None:
    """Ends the trace that `start_trace` began, and writes its file.

    Raises:
      RuntimeError: if there is none.
    """
    with _State.lock:
        ended, _State.recording = _State.recording, None
    if ended is None:
        raise RuntimeError(
            "jax.profiler.stop_trace: no trace is being recorded; "
            "jax.profiler.start_trace(log_dir) begins one"
        )
    with suppress(AssertionError):  # all listeners may have been cleared meanwhile
        monitoring.unregister_event_duration_listener(ended.add_duration)
    ended.write()


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: object = None,
) -> Iterator[None]:
    """A context that is recorded: `start_trace` before it and `stop_trace` after it.

    Example:
      >>> import pathlib, tempfile
      >>> folder = tempfile.mkdtemp()
      >>> with jax.profiler.trace(folder):
      ...     with jax.profiler.TraceAnnotation("product"):
      ...         _ = jnp.ones((3, 3)) @ jnp.ones((3, 3))
      >>> len(list(pathlib.Path(folder).glob("plugins/profile/*/*.trace.json.gz")))
      1
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """A context whose time is recorded under a name, if a trace is going on when it begins and ends.

    Programs run while Python goes on: what is to be measured with them ends by `block_until_ready`.
    """

    def __init__(self, name: str, **kwargs: object) -> None:
        """A context called `name`; `kwargs` are shown with it."""
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
        """Adds to what is shown with the name."""
        self._details.update(kwargs)

    @staticmethod
    def is_enabled() -> bool:
        """Whether a trace is going on."""
        return _State.recording is not None


class StepTraceAnnotation(TraceAnnotation):
    """A context that is one step of many, say of training; `step_num` says which.

    Example:
      >>> weights = jnp.ones(3)
      >>> for epoch in range(2):
      ...     with jax.profiler.StepTraceAnnotation("epoch", step_num=epoch):
      ...         weights = weights * 0.5
    """


def annotate_function(
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: object
) -> Callable[P, R]:
    """`func`, whose calls are recorded as `TraceAnnotation` does.

    Args:
      func: any function.
      name: what its calls are called; its own name if None.
      **decorator_kwargs: shown with the name.

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
