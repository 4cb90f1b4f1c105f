"""Objects are made by the first call of a method, and their attributes stay hidden."""

import pytest

import jitney.numpy as jnp
from jitney.experimental.colocated_python.obj import colocated_python_class

made = []


@colocated_python_class
class Counter:
    """Counts."""

    def __init__(self, start, *, step=1):
        made.append(start)
        self.n, self.step = start, step

    def add(self, x):
        """Adds."""
        self.n += int(x) * self.step
        return jnp.asarray(self.n)


def test_the_first_call_makes_one_object():
    made.clear()
    counter = Counter(10, step=2)
    assert made == []
    assert counter.add(jnp.asarray(3)) == 16 and counter.add(jnp.asarray(1)) == 18
    assert made == [10]
    assert Counter(0).add(jnp.asarray(3)) == 3


def test_classes_and_methods_keep_their_names():
    assert Counter.__name__ == "Counter" and Counter.__doc__ == "Counts."
    method = Counter(0).add
    assert method.__name__ == "add" and method.__doc__ == "Adds."
    assert method.specialize(devices=())(jnp.asarray(1)) == 1


def test_attributes_are_not_accessible():
    counter = Counter(0)
    counter.add(jnp.asarray(1))
    with pytest.raises(AttributeError):
        counter.n  # noqa: B018
    with pytest.raises(ValueError, match="functions can take and return only arrays"):
        counter.add(1)
