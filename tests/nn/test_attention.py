"""Attention against real jax: whole and by blocks, each limit, derivatives, batches, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.nn
from jitney.nn import attention

RNG = np.random.default_rng(0)
B, T, S, N, K, H = 2, 10, 7, 4, 2, 8
QUERY, KEY, VALUE = (
    RNG.standard_normal((B, length, heads, H)).astype(np.float32)
    for length, heads in ((T, N), (S, K), (S, K))
)
BIAS = RNG.standard_normal((1, N, T, S)).astype(np.float32)
MASK = RNG.random((B, 1, T, S)) > 0.3
MASK[0, 0, 2] = False  # a query that sees no key
LENGTHS = np.array([3, 7], np.int32)

LIMITS: dict[str, dict[str, Any]] = {
    "causal, residual": {"is_causal": True, "return_residual": True},
    "mask, scale": {"mask": MASK, "scale": 0.3},
    "bias, window": {"bias": BIAS, "local_window_size": (1, 3)},
    "lengths": {"key_value_seq_lengths": LENGTHS, "query_seq_lengths": LENGTHS},
    "broadcast bias, mask, causal": {"bias": BIAS[:, :1, :1], "mask": MASK, "is_causal": True},
}


@pytest.fixture(params=["whole", "by blocks"])
def way(request, monkeypatch):
    if request.param == "by blocks":
        monkeypatch.setattr(attention, "_WHOLE", 0)
        monkeypatch.setattr(attention, "_BLOCK", 8)
        monkeypatch.setattr(attention, "_LEAST_BLOCK", 4)


def value_and_gradient(package: Any, limits: dict[str, Any]) -> Any:
    def loss(operands):
        out = package.nn.dot_product_attention(*operands, **limits)
        return sum((x**2).sum() for x in package.tree.leaves(out)), out

    found = package.jit(package.value_and_grad(loss, has_aux=True))((QUERY, KEY, VALUE))
    return [np.asarray(x) for x in package.tree.leaves(found)]


@pytest.mark.parametrize("name", LIMITS)
def test_values_and_gradients(name: str, way: None):
    wanted = of_jax(value_and_gradient, LIMITS[name])
    for found, expected in zip(value_and_gradient(jitney, LIMITS[name]), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_other_derivatives_and_batches(way: None):
    def f(query, bias):
        return jitney.nn.dot_product_attention(query, KEY, VALUE, bias)

    step = 1e-2
    out, tangent = jitney.jit(lambda q, b: jitney.jvp(f, (q, b), (q, b)))(QUERY, BIAS)
    ahead, behind = (f(QUERY * (1 + s), BIAS * (1 + s)) for s in (step, -step))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), atol=2e-3)
    _, pull = jitney.vjp(f, QUERY, BIAS)
    np.testing.assert_allclose(
        sum((c * x).sum() for c, x in zip(pull(out), (QUERY, BIAS), strict=True)),
        (out * tangent).sum(),
        rtol=1e-3,
    )
    batched = jitney.jit(jitney.vmap(f, (0, None)))(np.stack([QUERY, 2 * QUERY]), BIAS)
    np.testing.assert_allclose(batched[1], f(2 * QUERY, BIAS), atol=1e-5)


def test_one_batch_without_an_axis(way: None):
    found = jitney.nn.dot_product_attention(QUERY[0], KEY[0], VALUE[0], BIAS)
    expected = jitney.nn.dot_product_attention(QUERY[:1], KEY[:1], VALUE[:1], BIAS)
    np.testing.assert_allclose(found, expected[0], atol=1e-6)


def test_half_precision_and_infinite_bias():
    import ml_dtypes

    half = [x.astype(ml_dtypes.bfloat16) for x in (QUERY, KEY, VALUE)]
    out, residual = jitney.nn.dot_product_attention(*half, return_residual=True)
    assert out.dtype == residual.dtype == ml_dtypes.bfloat16
    exact = jitney.nn.dot_product_attention(QUERY, KEY, VALUE)
    np.testing.assert_allclose(out.astype(np.float32), exact, atol=3e-2)
    bias = np.where(BIAS > 0, -np.inf, 0).astype(np.float32)
    bias[..., 0] = 0  # each query sees a key
    np.testing.assert_allclose(
        jitney.nn.dot_product_attention(QUERY, KEY, VALUE, bias),
        jitney.nn.dot_product_attention(QUERY, KEY, VALUE, mask=bias == 0),
        atol=1e-5,
    )


def test_no_array_of_queries_times_keys():
    long = jitney.ShapeDtypeStruct((1, 8192, 1, 16), np.float32)

    def loss(q, k, v):
        return jitney.nn.dot_product_attention(q, k, v, is_causal=True).sum()

    text = str(jitney.make_jaxpr(jitney.grad(loss, (0, 1, 2)))(long, long, long))
    assert "8192,8192" not in text


def test_keys_above_the_diagonal_are_left_out(monkeypatch):
    monkeypatch.setattr(attention, "_WHOLE", 0)
    monkeypatch.setattr(attention, "_BLOCK", 8)
    monkeypatch.setattr(attention, "_LEAST_BLOCK", 2)

    def attend(query, **limits):
        return jitney.nn.dot_product_attention(query, KEY, VALUE, is_causal=True, **limits)

    query = QUERY[:, :5, :K]
    text = str(jitney.make_jaxpr(attend)(query))
    assert all(f"f32[2,{seen},8]" in text or f"f32[{seen},8]" in text for seen in (2, 4, 6))
    # With a mask, a query may see no key; it averages all of them, as in JAX.
    mask = np.zeros((5, S), bool)
    expected = np.broadcast_to(VALUE.mean(1, keepdims=True), query.shape)
    np.testing.assert_allclose(attend(query, mask=mask), expected, atol=1e-5)


def test_limits_of_fewer_axes_and_no_promotion_of_ranks():
    with jitney.numpy_rank_promotion("raise"):
        for mask, bias in ((MASK[0, 0], BIAS[0]), (MASK[0, 0, 0], BIAS[0, 0, 0])):

            def attend(package, mask=mask, bias=bias):
                return package.nn.dot_product_attention(
                    QUERY, KEY, VALUE, bias, mask, is_causal=True, query_seq_lengths=LENGTHS,
                    key_value_seq_lengths=LENGTHS, local_window_size=2,
                )  # fmt: skip

            np.testing.assert_allclose(attend(jitney), of_jax(attend), atol=1e-5)


def test_empty_sequences():
    attend = jitney.nn.dot_product_attention
    assert attend(QUERY[:, :0], KEY, VALUE).shape == (B, 0, N, H)
    np.testing.assert_array_equal(attend(QUERY, KEY[:, :0], VALUE[:, :0]), np.zeros_like(QUERY))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mask": MASK.astype(np.int32)}, "mask must be boolean"),
        ({"value": VALUE[:, :3]}, "key and value must have the same shape"),
        ({"query": QUERY[:, :, :3]}, "head count of query must be a multiple"),
        ({"key": KEY.astype(np.float16)}, "equal dtypes"),
        ({"implementation": "other"}, "implementation must be"),
        ({"bias": BIAS[:, :3]}, r"bias must .* broadcast to .*\(2, 4, 10, 7\)"),
        ({"key_value_seq_lengths": LENGTHS[:1]}, "int32"),
        ({"query": QUERY[0]}, "length, heads, features"),
    ],
)
def test_wrong_arguments(change: dict[str, Any], message: str):
    arguments = {"query": QUERY, "key": KEY, "value": VALUE} | change
    with pytest.raises(ValueError, match=message):
        jitney.nn.dot_product_attention(**arguments)


def test_there_is_no_cudnn():
    with pytest.raises(RuntimeError, match="cuDNN"):
        jitney.nn.dot_product_attention(QUERY, KEY, VALUE, implementation="cudnn")
