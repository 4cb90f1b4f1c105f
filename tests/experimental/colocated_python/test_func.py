"""Colocated functions are called with arrays, and specialized once in each respect."""

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.colocated_python.func import Specialization, colocated_python


def test_a_field_is_specified_once():
    first = Specialization().update(devices=(), in_specs=None)
    assert first.devices == () and first.in_specs is None
    both = first.update(in_specs=[1])
    assert both.in_specs == [1] and both.devices == () and first.in_specs is None
    with pytest.raises(ValueError, match="specialize: devices already specified"):
        both.update(devices=())


def test_functions_keep_their_name_and_get_whole_trees():
    seen = []

    @colocated_python
    def swapped(pair, *, scale):
        seen.append(pair)
        return {"out": pair["b"] * scale}

    out = swapped({"a": jnp.ones(1), "b": jnp.arange(2)}, scale=jnp.int32(3))
    assert out["out"].tolist() == [0, 3] and swapped.__name__ == "swapped"
    assert isinstance(seen[0]["a"], jax.Array)


def test_functions_without_arrays_need_devices():
    f = colocated_python(lambda: jnp.ones(1))
    with pytest.raises(ValueError, match="devices of a function that is called without arrays"):
        f()
    somewhere = f.specialize(devices=jax.devices())
    assert somewhere().tolist() == [1]
    with pytest.raises(ValueError, match="devices already specified"):
        somewhere.specialize(devices=jax.devices())


def test_arguments_and_results_are_concrete_arrays():
    f = colocated_python(lambda x: float(x[0]))
    with pytest.raises(ValueError, match="but got <class 'float'>"):
        f(jnp.ones(1))
    with pytest.raises(ValueError, match="but got <class 'int'>"):
        f(1)
    with pytest.raises(ValueError, match="only with concrete arrays"):
        jax.make_jaxpr(f)(jnp.ones(1))
