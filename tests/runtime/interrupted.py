"""Programs that do not end by themselves, stopped by an alarm, an interrupt, Ctrl-C. Run by a test.

Prints, for each, how late it was stopped, in seconds; "finished" if it was not.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

DELAY = 0.15

# Where the tests run in the background of a shell script, Ctrl-C is ignored from the start.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Rung(Exception):
    """What the handler of the alarm raises."""


def ring(number, frame):
    raise Rung


def alarm():
    signal.setitimer(signal.ITIMER_REAL, DELAY)


def interrupt():
    threading.Timer(DELAY, _thread.interrupt_main).start()


def control_c():
    threading.Timer(DELAY, os.kill, (os.getpid(), signal.SIGINT)).start()


def stop(name, f, *args, by=alarm):
    """Stops `f(*args)`, compiled before (on arguments that end it), and says how late it was."""
    by()
    begin = time.perf_counter()
    try:
        jax.block_until_ready(f(*args))
        print(name, "finished")
    except (Rung, KeyboardInterrupt):
        print(name, f"{time.perf_counter() - begin - DELAY:.3f}")


def endless(step):
    """A loop around `step` that ends at once where the second argument is 0."""

    def f(x, go_on):
        return lax.while_loop(lambda c: c[1] > 0, lambda c: (step(c[0]), c[1]), (x, go_on))[0]

    return f


def main():
    signal.signal(signal.SIGALRM, ring)
    steps = {
        "registers": (lambda c: c * 1.5 - 1, jnp.float32(1)),
        "kernels": (lambda c: jnp.sin(c) + jnp.roll(c, 1), jnp.ones(1000)),
        "large": (lambda c: jnp.sin(c) + jnp.roll(c, 1), jnp.ones(1_000_000)),
        "product": (lambda c: c @ c * 0.01, jnp.ones((150, 150))),
        "nested": (
            lambda c: lax.fori_loop(0, 20, lambda i, d: d + jnp.roll(d, 1) * 0.1, c),
            jnp.ones(100),
        ),
    }
    on, off = jnp.int32(1), jnp.int32(0)
    for name, (step, x) in steps.items():
        f = jax.jit(endless(step), donate_argnums=0)
        g = jax.jit(endless(step))
        assert np.array_equal(g(x, off), x)
        f(x + 0, off)
        for by in (alarm, interrupt, control_c) if name == "registers" else (alarm,):
            copy = x + 0
            stop(f"{name}, by {by.__name__}", f, copy, on, by=by)
            assert copy.is_deleted(), name
        # What was given away is gone: a result may have been written there. The program can be called.
        assert np.array_equal(f(x + 0, off), x), name
    counted = jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c ^ i, 1))
    assert counted(3) == 1 ^ 0 ^ 1 ^ 2
    stop("counted", counted, 2**31 - 1)
    lanes = jax.jit(jax.vmap(endless(lambda c: c * 1.5 - 1)))
    x = jnp.ones(100_000)
    lanes(x, jnp.zeros(100_000))
    stop("all lanes", lanes, x, jnp.ones(100_000))
    stop("one lane", lanes, x, jnp.zeros(100_000).at[99_999].set(1))
    few = jnp.linspace(0, 1, 7)
    lanes(few, few * 0)
    stop("few lanes", lanes, few, few)

    def pairs(y):
        return jnp.tanh(y[:, None] - y[None, :] * 1.1).sum(1)

    pairs, many = jax.jit(pairs), jnp.ones(300_000)
    pairs.lower(many).compile()  # the clock runs while it compiles
    stop("large kernel", pairs, many)

    @jax.jit
    def two_rows(y):
        z = y[:2, None, None] - y[None, :, None] + y[None, None, :]
        return jnp.exp(jnp.sin(z)).sum((1, 2))

    many = jnp.ones(60_000)
    two_rows.lower(many).compile()
    stop("kernel of two rows", two_rows, many)

    @jax.jit
    def straight(y):
        for k in range(60):
            y = jnp.tanh(y[:, None] * y[None, :] * (k * 0.01)).sum(1)
        return y

    straight(jnp.ones(2))  # compiled for other shapes
    y = jnp.ones(12_000)
    straight.lower(y).compile()
    stop("straight code", straight, y)

    @jax.jit
    def handled(x, go_on):
        return endless(lambda c: c + 1)(x, go_on)

    ran: list[int] = []

    def run(number, frame):
        ran.append(1)
        if len(ran) > 3:
            raise Rung
        signal.setitimer(signal.ITIMER_REAL, 0.01)

    signal.signal(signal.SIGALRM, run)  # handlers that do not raise run, too
    handled(0, off)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        handled(0, on)
    except Rung:
        print("handlers", 0.0 if len(ran) == 4 else "finished")


main()
