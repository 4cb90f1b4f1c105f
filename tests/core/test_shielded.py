"""Work runs in threads of its own, and its errors are those of the caller."""

import threading

import pytest

from jitney.core.util import shielded


def test_results_are_in_order_and_of_other_threads():
    together = threading.Barrier(3)

    def work(k):
        together.wait(10)  # all have begun
        return k, threading.get_ident()

    found = shielded.call_all([lambda k=k: work(k) for k in range(3)])
    assert [k for k, _ in found] == [0, 1, 2]
    assert len({threading.get_ident(), *[thread for _, thread in found]}) == 4
    assert shielded.call_all([]) == []


def test_outside_of_the_main_thread_one_function_is_called_directly():
    seen = []

    def body():
        seen.append(shielded.call(threading.get_ident) == threading.get_ident())

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen == [True]
    assert shielded.call(threading.get_ident) != threading.get_ident()


def test_the_first_error_is_raised_after_all_have_ended():
    ended = []

    def fail(error):
        ended.append(error)
        raise error

    with pytest.raises(KeyError):
        shielded.call_all(
            [lambda: fail(KeyError()), lambda: ended.append(1), lambda: fail(OSError())]
        )
    assert len(ended) == 3
    assert not shielded._under_way


def test_work_is_called_once_or_canceled():
    calls = []
    work = shielded._Work(lambda: calls.append(1))
    work()
    work()
    work.wait()
    work.cancel()
    assert calls == [1]
    canceled = shielded._Work(lambda: calls.append(2))
    canceled.cancel()
    canceled()
    assert calls == [1]
    assert canceled.finished
    assert not canceled.begun
