"""Callables of any kind under their names."""

import pytest

import jitney
from jitney.core.wraps import wraps


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
