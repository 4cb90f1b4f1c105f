"""Attributes of contexts are merged, overridden and removed; those of values are equations."""

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)


def attributes(f, *args):
    return [e.ctx.xla_metadata for e in jax.make_jaxpr(f)(*args).eqns]


def test_inner_contexts_override_and_remove():
    @set_xla_metadata(a=1, b=2)
    def f(x):
        x = jnp.sin(x)
        with set_xla_metadata(b=None, c=3):
            x = jnp.cos(x)
            with set_xla_metadata(a=None, c=None):
                x = jnp.tan(x)
        return jnp.exp(x)

    assert attributes(f, 1.0) == [{"a": 1, "b": 2}, {"a": 1, "c": 3}, None, {"a": 1, "b": 2}]


def test_attributes_end_with_their_context_even_by_an_error():
    with pytest.raises(ZeroDivisionError), fuse_limit():
        assert attributes(jnp.sin, 1.0) == [{"FUSE_LIMIT": True}]
        raise ZeroDivisionError
    assert attributes(jnp.sin, 1.0) == [None]


def test_attributes_of_values_are_sorted_by_name():
    closed = jax.make_jaxpr(lambda x: set_xla_metadata({"x": x, "y": x}, b=1, a=2))(1.0)
    assert [e.params["xla_metadata_kvs"] for e in closed.eqns] == [(("a", 2), ("b", 1))] * 2
    assert set_xla_metadata(jnp.arange(2), a=1).tolist() == [0, 1]
    with pytest.raises(TypeError, match="unhashable"):
        set_xla_metadata(a=[])


@pytest.mark.parametrize(
    ("decorate", "wanted"),
    [
        (must_fuse_call("sums"), {"MUST_FUSE": "sums"}),
        (xla_metadata_call(a=1), {"a": 1}),
        (xla_metadata_call2(metadata={"a": 2.5}), {"a": 2.5}),
        (xla_metadata_call2(), None),
    ],
)
def test_calls_are_single_equations_with_attributes(decorate, wanted):
    f = decorate(lambda x, *, y: (x * y) + 1)
    assert f(2.0, y=3.0) == 7
    assert attributes(lambda x: f(x, y=x), 1.0) == [wanted]


def test_values_are_strings_booleans_or_numbers():
    with pytest.raises(TypeError, match="but a is None of type"):
        xla_metadata_call2(abs, {"a": None})
