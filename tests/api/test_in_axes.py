"""`in_axes` and `out_axes` of `vmap` are prefixes of trees, in which None is an axis."""

import numpy as np
import pytest
from tests.helpers.both import check

import jitney
import jitney.numpy as jnp


def of_its_own(jax):
    """A class whose arrays are children and whose other attributes are static, told by their types."""

    @jax.tree_util.register_pytree_node_class
    class Layer:
        def __init__(self, name, weights):
            self.name, self.weights = name, weights

        def tree_flatten(self):
            values = (self.name, self.weights)
            is_child = [isinstance(x, jax.Array) or type(x) is object for x in values]
            children = [x if c else None for x, c in zip(values, is_child, strict=True)]
            return children, [None if c else x for x, c in zip(values, is_child, strict=True)]

        @classmethod
        def tree_unflatten(cls, static, children):
            layer = object.__new__(cls)
            layer.name, layer.weights = (
                c if s is None else s for c, s in zip(children, static, strict=True)
            )
            return layer

    return Layer


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_classes_that_tell_leaves_from_static_data(axis):
    def total(jax, jnp):
        layer = of_its_own(jax)("dense", jnp.arange(6.0).reshape(2, 3))
        return jax.vmap(lambda layer: layer.weights.sum(), in_axes=axis)(layer)

    check(total)


CASES = {
    "a tree": (({"a": 0, "b": None},), lambda jnp: ({"a": jnp.arange(3.0), "b": jnp.ones(2)},)),
    "none for a tree": ((0, None), lambda jnp: (jnp.arange(3.0), {"a": 1.0, "b": (2.0, 3.0)})),
    "a value that is None": ((0, 0), lambda jnp: (jnp.arange(3.0), (None, jnp.ones((3, 2))))),
    "none for None": (((0, None),), lambda jnp: ((jnp.arange(3.0), None),)),
}


@pytest.mark.parametrize("case", CASES)
def test_prefixes(case):
    axes, make = CASES[case]

    def mapped(jax, jnp):
        def f(*args):
            return [jnp.sum(x) for x in jax.tree.leaves(args)]

        return jax.vmap(f, in_axes=axes)(*make(jnp))

    check(mapped)


def test_what_is_no_prefix_is_refused():
    x = {"a": jnp.ones(3), "b": jnp.ones(3)}
    with pytest.raises(ValueError, match=r"in_axes has to be a tree prefix"):
        jitney.vmap(lambda x: x["a"], in_axes=({"a": 0},))(x)
    np.testing.assert_array_equal(
        jitney.vmap(lambda x: x["a"], in_axes=({"a": 0, "b": 0},))(x), np.ones(3)
    )
