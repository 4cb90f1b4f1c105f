"""Threads that run at the same time, as far as the interpreter lets them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

LIMIT = 300.0  # seconds; what threads do here takes some


def in_threads(n: int, work: Callable[[int], object]) -> None:
    """Runs `work(i)` in `n` threads that start together; raises what one of them raised.

    Raises:
      AssertionError: if a thread has not ended after `LIMIT` seconds.
    """
    barrier = threading.Barrier(n, timeout=LIMIT)
    errors: list[BaseException] = []

    def run(i):
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(n)]
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
    finally:
        sys.setswitchinterval(old)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), f"threads run on after {LIMIT} s"
