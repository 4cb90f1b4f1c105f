"""What a call reads stays as it was, whatever callbacks, other threads and users' containers do."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import tree_util

N = 40_000  # elements: memory of this size is used again at once


def after(act, x):
    """x * 2 + 1, computed after `act` has run in a callback."""
    zero = jax.pure_callback(
        lambda _: (act(), np.float32(0))[1], jax.ShapeDtypeStruct((), np.float32), x[0]
    )
    return (x + zero) * 2 + 1


def overwrite():
    """Takes what memory has just been freed, and writes to it."""
    return [np.full(N, 77, np.float32) for _ in range(20)]


def calls(f, make, times=3):
    """Results of the first call, by way of Python, and of native ones."""
    return [np.asarray(f(make())) for _ in range(times)]


@pytest.mark.parametrize("how", ["delete", "donate", "clear", "replace"])
def test_inputs_live_as_long_as_the_call(how):
    current = []
    give_away = jax.jit(lambda y: y + 1, donate_argnums=0)

    def act():
        box = current[-1]
        if not box:
            return
        match how:
            case "delete":
                box[0].delete()
            case "donate":
                give_away(box[0])
            case "clear":
                box.clear()
            case "replace":
                box[0] = jnp.zeros(3)
        overwrite()

    f = jax.jit(lambda box: after(act, box[0]))

    def make():
        box = [jnp.full(N, 1, jnp.float32)]
        current.append(box)
        return box

    for value in calls(f, make, 5):
        np.testing.assert_array_equal(value, np.full(N, 3, np.float32))


def test_arrays_of_the_caller_that_another_thread_drops():
    box = {"x": jnp.ones(N)}
    started, dropped = threading.Event(), threading.Event()

    def act():
        started.set()
        assert dropped.wait(20)

    f = jax.jit(lambda box: after(act, box["x"]))
    for _ in range(3):
        box["x"] = jnp.ones(N)
        started.clear()
        dropped.clear()

        def drop():
            assert started.wait(20)
            box["x"] = None
            overwrite()
            dropped.set()

        thread = threading.Thread(target=drop)
        thread.start()
        value = np.asarray(f(box))
        thread.join()
        np.testing.assert_array_equal(value, np.full(N, 3, np.float32))


def test_signatures_are_those_of_the_arguments_before_the_run():
    box = [jnp.ones(1000)]

    def shorten():
        box[0] = jnp.zeros(3)

    f = jax.jit(lambda box: after(shorten, box[0]))
    assert f(box).shape == (1000,)
    assert f(box).shape == (3,)
    assert f([jnp.zeros(3)]).shape == (3,)
    assert f([jnp.ones(1000)]).shape == (1000,)


# NumPy 2.5 deprecates what other code goes on to do for a while.
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_signatures_of_numpy_arrays_that_change_their_shape():
    n = np.ones(1000, np.float32)

    def reshape():
        n.shape = (10, 100)

    f = jax.jit(lambda x: after(reshape, x.reshape(-1)).reshape(x.shape))
    assert f(n).shape == (1000,)
    assert f(n).shape == (10, 100)


class Changing:
    """A static argument whose comparison changes a list."""

    def __init__(self, box):
        self.box = box
        self.is_on = False

    def __hash__(self):
        if self.is_on:
            self.box.clear()
        return 1

    def __eq__(self, other):
        if self.is_on:
            self.box.clear()
        return isinstance(other, Changing)


@tree_util.register_pytree_node_class
class Clearing:
    """A container that empties another one when it is taken apart."""

    def __init__(self, x, box, is_on=False):
        self.x, self.box, self.is_on = x, box, is_on

    def tree_flatten(self):
        if self.is_on:
            self.box.clear()
        return [self.x], None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(children[0], [])


def test_lists_that_change_while_they_are_compared():
    f = jax.jit(lambda box: sum(x.x if isinstance(x, Clearing) else x for x in box))
    for _ in range(3):
        box: list[object] = []
        box += [Clearing(jnp.ones(4), box), *(jnp.ones(4) for _ in range(20))]
        np.testing.assert_array_equal(f(list(box)), np.full(4, 21))
        np.testing.assert_array_equal(f(list(box)), np.full(4, 21))
        box[0].is_on = True
        with contextlib.suppress(TypeError, ValueError, IndexError):
            f(box)  # what is left of the list, but no memory of others


def test_dictionaries_that_change_while_they_are_compared():
    box: dict[str, object] = {}
    f = jax.jit(lambda box: sum(x.x if isinstance(x, Clearing) else x for x in box.values()))
    box |= {"a": Clearing(jnp.ones(4), box), "b": jnp.ones(4), "c": jnp.ones(4)}
    for _ in range(2):
        np.testing.assert_array_equal(f(dict(box)), np.full(4, 3))
    box["a"].is_on = True
    np.testing.assert_array_equal(f(box), 0)  # the sum of none


def test_static_arguments_that_change_others_when_compared():
    box: list[object] = [jnp.ones(4), jnp.ones(4)]
    static = Changing(box)
    f = jax.jit(lambda s, box: box[0] + box[1], static_argnums=0)
    for _ in range(2):
        np.testing.assert_array_equal(f(static, box), np.full(4, 2))
    static.is_on = True
    with pytest.raises((IndexError, KeyError, TypeError, ValueError)):
        f(Changing(box) if not box else static, box)
