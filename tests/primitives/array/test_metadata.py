"""Attributes for the compiler leave values, cotangents and batches alone."""

import numpy as np

import jitney
from jitney.primitives.array.metadata import xla_metadata_value_p

X = np.float32([[1, 2], [3, 4]])


def marked(x):
    return xla_metadata_value_p.bind(x, xla_metadata_kvs=(("key", "value"),))


def test_values_and_cotangents():
    for of in (marked, jitney.jit(marked), jitney.vmap(marked, 1, 1)):
        np.testing.assert_array_equal(of(X), X)
    y, pull = jitney.vjp(lambda x: marked(x * x), X)
    np.testing.assert_array_equal(y, X * X)
    np.testing.assert_array_equal(pull(X)[0], 2 * X * X)


def test_programs_record_the_attributes_of_cotangents_too():
    text = str(jitney.make_jaxpr(jitney.grad(lambda x: marked(x * x)))(1.0))
    assert text.count("xla_metadata_value[") == 2
    assert "(('key', 'value'),)" in text
