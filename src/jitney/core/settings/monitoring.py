"""Events, durations and scalars that a process reports: `jax.monitoring`.

Events have path-like names (`/jax/core/compile/...`). Listeners are called immediately, in the
recording thread and in the order of registration. Without listeners, recording costs next to
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Listener = TypeVar("Listener", bound=Callable[..., None])


class _Listeners(Generic[Listener]):
    """The listeners for one kind of record, copied on write so that threads may read them."""

    def __init__(self) -> None:
        self.current: tuple[Listener, ...] = ()

    def add(self, listener: Listener) -> None:
        self.current = (*self.current, listener)

    def remove(self, listener: Listener) -> None:
        if listener not in self.current:
            raise AssertionError(f"{listener} is not registered")
        place = self.current.index(listener)
        self.current = self.current[:place] + self.current[place + 1 :]

    def tell(self, *args: str | float, **metadata: str | int) -> None:
        for listener in self.current:
            listener(*args, **metadata)


_events: _Listeners[Callable[..., None]] = _Listeners()
_durations: _Listeners[Callable[..., None]] = _Listeners()
_spans: _Listeners[Callable[..., None]] = _Listeners()
_scalars: _Listeners[Callable[..., None]] = _Listeners()


def record_event(event: str, **metadata: str | int) -> None:
    """Records that an event has happened.

    Args:
      event: its name.
      **metadata: further information, which listeners receive as keyword arguments.

    Example:
      >>> heard = []
      >>> jax.monitoring.register_event_listener(lambda event, **metadata: heard.append(event))
      >>> jax.monitoring.record_event("/my/step")
      >>> jax.monitoring.clear_event_listeners()
      >>> heard
      ['/my/step']
    """
    _events.tell(event, **metadata)


def record_event_duration_secs(event: str, duration: float, **metadata: str | int) -> None:
    """Records that an event took `duration` seconds."""
    _durations.tell(event, duration, **metadata)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **metadata: str | int
) -> None:
    """Records the start and end of an event, in seconds since the epoch."""
    _spans.tell(event, start_time, end_time, **metadata)


def record_scalar(event: str, value: float, **metadata: str | int) -> None:
    """Records a scalar value."""
    _scalars.tell(event, value, **metadata)


def register_event_listener(callback: Callable[..., None]) -> None:
    """Registers `callback(event, **metadata)` for events."""
    _events.add(callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Registers `callback(event, seconds, **metadata)` for durations."""
    _durations.add(callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Registers `callback(event, start, end, **metadata)` for time spans."""
    _spans.add(callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Registers `callback(event, value, **metadata)` for scalars."""
    _scalars.add(callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Removes a listener added by `register_event_listener`.

    Raises:
      AssertionError: if `callback` is not registered.
    """
    _events.remove(callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Removes a listener added by `register_event_duration_secs_listener`.

    Raises:
      AssertionError: if `callback` is not registered.
    """
    _durations.remove(callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Removes a listener added by `register_event_time_span_listener`.

    Raises:
      AssertionError: if `callback` is not registered.
    """
    _spans.remove(callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Removes a listener added by `register_scalar_listener`.

    Raises:
      AssertionError: if `callback` is not registered.
    """
    _scalars.remove(callback)


def clear_event_listeners() -> None:
    """Removes all listeners of every kind."""
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.current = ()
