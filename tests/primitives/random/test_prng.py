"""Generators are found by their names, keys' dtypes and specifications."""

import numpy as np
import pytest

import jitney
from jitney.primitives.random.prng import PRNGImpl, PRNGSpec, register, resolve


def made(name="<unnamed>", tag="?"):
    def nothing(*_):
        return np.zeros(2, np.uint32)

    return PRNGImpl((2,), nothing, nothing, nothing, nothing, name=name, tag=tag)


@pytest.mark.parametrize("name", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_what_stands_for_a_generator(name):
    impl = resolve(name)
    assert impl.name == name
    key = jitney.random.key(0, impl=name)
    assert resolve(impl) is resolve(key.dtype) is resolve(PRNGSpec(impl)) is impl
    assert impl.key_dtype == key.dtype


def test_unnamed_generators_are_found_by_their_specification():
    impl = made(tag="own")
    spec = PRNGSpec(impl)
    assert resolve(spec) is impl
    assert (repr(spec), str(spec)) == ("PRNGSpec('<unnamed>')", "own")
    assert hash(impl) == hash(made(tag="own"))
    assert impl != made(tag="other")


def test_what_stands_for_none():
    with pytest.raises(ValueError, match='no PRNG implementation is named "thrice"; the names are'):
        resolve("thrice")
    with pytest.raises(TypeError, match=r"must be a name, .*but 3 has type <class 'int'>"):
        resolve(3)
    with pytest.raises(ValueError, match="'rbg' is already declared"):
        register(made("rbg"))
