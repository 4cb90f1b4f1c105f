"""Shardings are shown to a callback for each array, at run time or when a program is made."""

import numpy as np

import jitney
from jitney.primitives.array.inspection import inspect_array_sharding
from jitney.sharding import NamedSharding, PartitionSpec as P

X = np.arange(4, dtype=np.float32)


def test_each_leaf_is_shown():
    seen = []
    inspect_array_sharding({"a": X, "b": [1.0, jitney.numpy.asarray(X)]}, callback=seen.append)
    assert len(seen) == 3
    assert all(len(s.device_set) == 1 for s in seen)


def test_a_program_shows_the_sharding_of_its_operand():
    seen = []
    place = NamedSharding(jitney.make_mesh((1,), ("x",)), P("x"))

    @jitney.jit
    def double(x):
        inspect_array_sharding(x, callback=seen.append)
        return 2 * x

    np.testing.assert_array_equal(double(jitney.device_put(X, place)), 2 * X)
    assert len(seen) == 1
    assert seen[0].is_equivalent_to(place, 1)


def test_transformations_keep_it():
    seen = []

    def double(x):
        inspect_array_sharding(x, callback=seen.append)
        return 2 * x

    assert jitney.grad(double)(1.0) == 2
    np.testing.assert_array_equal(jitney.vmap(double)(X), 2 * X)
    assert len(seen) == 2
