"""Primitives are found by their names in jaxprs, and unknown names are refused."""

import numpy as np
import pytest

import jitney as jax
from jitney.core.tracing.primitive import Primitive, registry
from jitney.extend.core import primitives


@pytest.mark.parametrize(
    "fun, name",
    [
        (lambda x: x + x, "add_p"),
        (lambda x: jax.lax.fori_loop(0, 2, lambda _, x: x, x), "scan_p"),
        (lambda x: jax.jit(lambda x: x)(x), "jit_p"),
        (lambda x: jax.lax.sort(x), "sort_p"),
    ],
)
def test_primitives_of_programs(fun, name):
    eqns = jax.make_jaxpr(fun)(np.float32([1, 2])).eqns
    todo = [eqn.primitive for eqn in eqns]
    assert getattr(primitives, name) in todo


def test_some_are_renamed_and_the_registered_name_is_not_one():
    assert primitives.add_jaxvals_p is registry["add_any"]
    assert not hasattr(primitives, "add_any_p")
    assert primitives.linear_solve_p is registry["custom_linear_solve"]


def test_all_are_listed():
    listed = primitives.__all__
    assert listed == sorted(listed) and set(listed) <= set(dir(primitives))
    assert all([isinstance(getattr(primitives, name), Primitive) for name in listed])
    assert len(listed) == len(registry)


def test_unknown_names():
    for name in ("no_such_p", "add", "_private_p"):
        with pytest.raises(AttributeError, match=name):
            getattr(primitives, name)
