"""Signals while programs run: no exception is lost, and no unwritten memory is read."""

from __future__ import annotations

import gc
import random
import signal
import threading
import time

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)


class Rung(Exception):
    """What the handler of the alarm raises."""


@pytest.fixture
def alarm():
    """Sets the handler of the alarm; stops the timer, and puts the handler back, afterwards.

    The garbage collector rests meanwhile: Python drops whatever a handler raises during one of
    `gc.callbacks` (Hypothesis leaves one there), as it does in destructors.
    """
    before = signal.getsignal(signal.SIGALRM)
    gc.disable()
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


def test_exceptions_of_handlers_are_never_lost(alarm):
    """Each signal raises in the caller, or its handler did not raise and the numbers are right."""
    scalar = jax.ShapeDtypeStruct((), np.float32)

    @jax.jit
    def f(x):
        return jax.lax.fori_loop(
            0, 300, lambda i, c: jax.pure_callback(lambda y: np.asarray(y) + 1, scalar, c), x
        )

    x = jnp.float32(0)
    assert f(x) == f(x) == 300
    raised: list[int] = []
    is_armed = False

    def handler(number, frame):
        if is_armed:
            raised.append(1)
            raise Rung

    alarm(handler)
    rng = random.Random(0)
    seen = wrong = 0
    until = time.monotonic() + 3
    while time.monotonic() < until:
        raised.clear()
        result = None
        try:
            is_armed = True
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 4e-3))
            result = f(x)
            is_armed = False
        except (Rung, jax.errors.JaxRuntimeError):
            is_armed = False
            seen += 1
            continue
        wrong += bool(raised) or float(result) != 300
    assert seen > 100
    assert wrong == 0


def test_an_endless_loop_around_a_callback_can_be_stopped(alarm):
    scalar = jax.ShapeDtypeStruct((), np.float32)

    @jax.jit
    def f(x):
        return jax.lax.while_loop(
            lambda c: c >= 0,
            lambda c: jax.pure_callback(lambda y: np.asarray(y) + 1, scalar, c),
            x,
        )

    def handler(number, frame):
        raise Rung

    alarm(handler)
    for _ in range(3):
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises((Rung, jax.errors.JaxRuntimeError)):
            f(jnp.float32(0))


def test_failures_of_several_threads_are_not_mixed_up():
    def fail(y):
        raise ValueError(f"of {int(y)}")

    scalar = jax.ShapeDtypeStruct((), np.float32)
    f = jax.jit(lambda x: jax.pure_callback(fail, scalar, x) + 1)
    found: dict[int, set[str]] = {}

    def work(i):
        found[i] = set()
        for _ in range(30):
            try:
                f(jnp.float32(i))
            except jax.errors.JaxRuntimeError as error:
                found[i].add(str(error).rpartition("ValueError: ")[2])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {i: {f"of {i}"} for i in range(4)}
