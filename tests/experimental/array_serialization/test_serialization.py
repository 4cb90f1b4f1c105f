"""A thread waits for writes and then runs a callback; its errors are raised later, once."""

import threading
from concurrent.futures import Future

import pytest

from jitney.experimental.array_serialization import serialization
from jitney.experimental.array_serialization.serialization import (
    AsyncManager,
    GlobalAsyncCheckpointManager,
    get_tensorstore_spec,
)


def test_the_callback_runs_when_all_writes_are_finished():
    manager, events, futures = AsyncManager(), [], [Future(), Future()]
    manager._add_futures(futures)
    manager._start_async_commit(lambda: events.append(threading.current_thread().name))
    assert events == []
    for future in futures:
        future.set_result(None)
    manager.wait_until_finished()
    assert events == ["jitney-commit"]
    manager.wait_until_finished()


def test_errors_of_writes_are_raised_once_and_stop_the_callback():
    manager, events, future = AsyncManager(), [], Future()
    future.set_exception(OSError("no space"))
    manager._add_futures([future])
    manager._start_async_commit(lambda: events.append("committed"))
    with pytest.raises(OSError, match="no space"):
        manager.wait_until_finished()
    manager.check_for_errors()
    assert events == []


def test_errors_of_the_callback_are_raised_by_the_next_check():
    manager = AsyncManager()

    def fail():
        raise KeyError("folder")

    manager._start_async_commit(fail)
    with pytest.raises(KeyError, match="folder"):
        manager.wait_until_finished()


def test_every_array_has_a_spec():
    with pytest.raises(ValueError, match="must have equal lengths, but got 1 and 0"):
        GlobalAsyncCheckpointManager().serialize([1.0], [])


def test_paths_are_arrays_of_their_own_here():
    spec = get_tensorstore_spec("relative/x")
    assert spec == {"driver": "zarr", "kvstore": {"driver": "file", "path": "relative/x"}}


def test_trees_of_arrays_are_paired_with_their_specs():
    found = serialization._paired(
        lambda x, spec: (x, spec), {"a": 1, "b": [2]}, {"a": {}, "b": [3]}
    )
    assert found == [(1, {}), (2, 3)]
    with pytest.raises(ValueError):
        serialization._paired(lambda x, spec: (x, spec), [1, 2], [{}])
