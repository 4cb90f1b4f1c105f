"""`approx_max_k` and `approx_min_k`: values, sizes, types, programs and errors are JAX's."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import lax, numpy as jnp


@pytest.mark.parametrize("name", ["approx_max_k", "approx_min_k"])
def test_values_and_transformations(name):
    rng = np.random.default_rng(0)
    x = rng.permutation(60).reshape(5, 12).astype(np.float32)
    ours = getattr(lax, name)
    for axis in (0, -1):
        want = of_jax(lambda j, a=axis: getattr(j.lax, name)(x, 3, a))
        for got in (ours(x, 3, axis), jitney.jit(lambda x, a=axis: ours(x, 3, a))(x)):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(a, b)
                assert a.dtype == b.dtype
    np.testing.assert_array_equal(
        jitney.vmap(lambda x: ours(x, 2)[1], in_axes=1, out_axes=1)(x), ours(x, 2, 0)[1]
    )
    t = rng.normal(size=x.shape).astype(np.float32)
    values, tangents = jitney.jvp(lambda x: ours(x, 3)[0], (x,), (t,))
    np.testing.assert_array_equal(tangents, np.take_along_axis(t, np.asarray(ours(x, 3)[1]), 1))
    gradient = jitney.jit(jitney.grad(lambda x: ours(x, 3)[0].sum()))(x)
    np.testing.assert_array_equal(gradient, np.isin(x, values))


def test_special_values_and_nothing():
    x = jnp.array([1.0, -0.0, jnp.inf, 0.0, -jnp.inf])
    assert lax.approx_max_k(x, 5)[1].tolist() == [2, 0, 3, 1, 4]
    assert lax.approx_min_k(x, 5)[1].tolist() == [4, 1, 3, 0, 2]
    assert lax.approx_min_k(jnp.arange(4, dtype=jnp.bfloat16), 1)[0].dtype == jnp.bfloat16
    assert lax.approx_max_k(jnp.zeros((0, 3)), 2)[0].shape == (0, 2)
    assert lax.approx_min_k(jnp.zeros((2, 3)), 0)[0].shape == (2, 0)


@pytest.mark.parametrize(("shape", "k", "recall", "size"), [
    ((10_000,), 3, 0.95, -1), ((5000,), 3, 0.95, -1), ((5000,), 3000, 0.95, -1),
    ((1000,), 3, 0.95, -1), ((2, 1000), 3, 0.95, -1), ((2, 1000), 30, 0.99, -1),
    ((2, 5000), 30, 0.9, 20_000), ((2, 100), 3, 0.9, 20_000), ((2, 1000), 1, 0.5, -1),
    ((3000,), 1, 0.9, -1), ((2, 1000), 3, 1.0, -1),
])  # fmt: skip
def test_sizes_of_the_approximation(shape, k, recall, size):
    def sizes(module):
        return module.eval_shape(
            lambda x: module.lax.approx_max_k(
                x,
                k,
                recall_target=recall,
                reduction_input_size_override=size,
                aggregate_to_topk=False,
            ),
            module.ShapeDtypeStruct(shape, np.float32),
        )[0].shape

    assert sizes(jitney) == of_jax(sizes)


def test_program():
    x = np.ones((2, 4), np.float32)
    for batched in (False, True):

        def text(j, batched=batched):
            f = lambda x: j.lax.approx_min_k(x, 2)  # noqa: E731
            return str(j.make_jaxpr(j.vmap(f) if batched else f)(x))

        assert text(jitney) == of_jax(text)


@pytest.mark.parametrize(("error", "call"), [
    (ValueError, lambda lax, x: lax.approx_max_k(x, 30)),
    (ValueError, lambda lax, x: lax.approx_max_k(x.astype(np.int32), 3)),
    (TypeError, lambda lax, x: lax.approx_max_k(x[0], 1)),
])  # fmt: skip
def test_errors(error, call):
    x = np.arange(5, dtype=np.float32)
    assert of_jax(lambda j: call(j.lax, x)).is_a(error)
    with pytest.raises(error):
        call(lax, x)
    with pytest.raises(ValueError, match="recall_target"):
        lax.approx_max_k(x, 2, recall_target=2.0)
