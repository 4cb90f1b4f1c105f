"""Results are memoized as long as the object that they depend on lives."""

import gc
import weakref

from jitney.core.program.memo import memoize_by_identity
from jitney.core.settings import config
from jitney.core.tracing.trace import extend_axis_env


class Key:
    def __init__(self, number=0):
        self.number = number


calls = []


@memoize_by_identity
def described(key, *args):
    calls.append(args)
    return [key.number, *args]


@memoize_by_identity
def same(key):
    calls.append("same")
    return key


def test_results_depend_on_identity_and_further_arguments():
    calls.clear()
    key, other = Key(1), Key(1)
    assert described(key, 2) is described(key, 2)
    assert described(key, 3) == [1, 3]
    assert described(other, 2) == [1, 2]
    assert described(other, 2) is not described(key, 2)
    assert calls == [(2,), (3,), (2,)]


def test_settings_and_axes_in_scope_are_part_of_the_key():
    calls.clear()
    key = Key()
    described(key)
    with config.option("jax_enable_x64")(True):
        described(key)
    with extend_axis_env(("i", 2)):
        described(key)
    described(key)
    assert len(calls) == 3


def test_entries_end_with_their_key():
    key = Key()
    reference = weakref.ref(key)
    assert same(key) is same(key) is key
    del key
    gc.collect()
    assert reference() is None
    assert same.__name__ == "same"
