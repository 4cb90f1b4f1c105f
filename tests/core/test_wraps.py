"""Callables of any kind under their names."""

import functools
import pickle

import pytest

import jitney
from jitney.core.util.wraps import transformations_of, wraps


def test_names_of_functions_are_kept():
    def original(x: int) -> int:
        """What it does."""
        return x

    @wraps(original)
    def wrapper(*args):
        return original(*args)

    assert (wrapper.__name__, wrapper.__doc__) == ("original", "What it does.")
    assert wrapper.__annotations__ == original.__annotations__
    assert wrapper.__wrapped__ is original


@pytest.mark.parametrize("transform", [jitney.vmap, jitney.grad, jitney.jacfwd, jitney.checkpoint])
def test_names_that_are_no_text(transform):
    echo = type(
        "Named", (), {"__name__": 3, "__annotations__": None, "__call__": lambda _, x: x * 2}
    )
    x = jitney.numpy.ones(2) if transform is jitney.vmap else 1.0
    assert float(jitney.numpy.sum(transform(echo())(x))) in (2.0, 4.0)


def test_a_function_is_not_taken_for_a_transformed_one_that_is_gone():
    """The wrapper has the attributes of what it wraps, and may come to lie where that one was."""

    def plain(_):
        return lambda x: x

    for _ in range(5):
        gradient = jitney.grad(plain)
        attributes = {k: v for k, v in vars(gradient).items() if k != "__wrapped__"}
        del gradient
        functions = list(map(plain, range(20)))
        for function in functions:
            vars(function).update(attributes)
        assert [transformations_of(f) for f in functions] == [()] * 20


def test_attributes_of_transformed_functions_are_pickled():
    """As packages that send functions to other processes do."""
    attributes = {k: v for k, v in vars(jitney.grad(abs)).items() if k != "__wrapped__"}
    copied = pickle.loads(pickle.dumps(attributes))
    function = functools.update_wrapper(lambda x: x, jitney.grad(abs))
    del function.__wrapped__
    vars(function).update(copied)
    assert transformations_of(function) == ()
