"""`jax.experimental.rnn` against JAX's reference implementation, which needs no GPU."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import RealModule, answer, jax

import jitney
from jitney.experimental import rnn

B, T, INPUTS, H, LAYERS = 2, 5, 3, 4, 2
oracle = RealModule("jax.experimental.rnn")

LENGTHS = np.array([5, 3], np.int32)


def operands(bidirectional):
    count = LAYERS * (2 if bidirectional else 1)
    shapes = (B, T, INPUTS), (count, B, H), (count, B, H)
    rng = np.random.default_rng(0)
    weights = rnn.get_num_params_in_lstm(INPUTS, H, LAYERS, bidirectional)
    return [rng.normal(size=s).astype(np.float32) for s in (*shapes, (weights,))]


@pytest.mark.parametrize("bidirectional", [False, True])
def test_values_and_gradients(bidirectional):
    sizes = INPUTS, H, LAYERS, 0.0, bidirectional
    x, h, c, weights = operands(bidirectional)

    def theirs(x, h, c, weights):
        parts = oracle.unpack_lstm_weights(weights, INPUTS, H, LAYERS, bidirectional)
        return oracle.lstm_ref(x, h, c, *parts, LENGTHS, *sizes)

    def ours(x, h, c, weights):
        return rnn.lstm(x, h, c, weights, jitney.numpy.asarray(LENGTHS), *sizes)

    def loss(f):
        def call(*operands):
            out = f(*operands)
            return sum((y**2).sum() for y in out), out

        return call

    def expected():
        gradient = jax.value_and_grad(loss(theirs), (0, 1, 2, 3), has_aux=True)
        (_, want), slopes = jax.jit(gradient)(x, h, c, weights)
        return [*want, *slopes]

    (_, got), found = jitney.value_and_grad(loss(ours), (0, 1, 2, 3), has_aux=True)(
        x, h, c, weights
    )
    for a, b in zip((*got, *found), answer(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def shapes_of(parts):
    return [{k: v.shape for k, v in part.items()} for part in parts]


@pytest.mark.parametrize("bidirectional", [False, True])
def test_weights(bidirectional):
    sizes = INPUTS, H, LAYERS, bidirectional
    ours = rnn.init_lstm_weight(jitney.random.key(3), *sizes)

    def expected():
        weights = oracle.init_lstm_weight(jax.random.key(3), *sizes)
        shapes = shapes_of(oracle.unpack_lstm_weights(weights, *sizes))
        return weights, shapes, oracle.swap_lstm_gates(weights, *sizes)

    theirs, shapes, theirs_swapped = answer(expected)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert shapes_of(rnn.unpack_lstm_weights(ours, *sizes)) == shapes
    swapped = rnn.swap_lstm_gates(ours, *sizes)
    np.testing.assert_allclose(swapped, theirs_swapped, rtol=1e-6)
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, *sizes), ours)
    mine, before = rnn.unpack_lstm_weights(swapped, *sizes), rnn.unpack_lstm_weights(ours, *sizes)
    np.testing.assert_array_equal(mine[3][1][2 * H : 3 * H], before[3][1][3 * H :])


def test_what_is_refused():
    x, h, c, weights = operands(False)
    for lengths, dropout in ((LENGTHS.astype(np.int8), 0.0), (LENGTHS, 0.5)):
        with pytest.raises(NotImplementedError):
            rnn.lstm(x, h, c, weights, lengths, INPUTS, H, LAYERS, dropout, False)


@pytest.mark.parametrize("precision", [None, "highest"])
def test_passes_are_those_of_the_function(precision):
    sizes = INPUTS, H, LAYERS, 0.0, True
    values = [jitney.numpy.asarray(x) for x in operands(True)]
    lengths = jitney.numpy.asarray(LENGTHS)
    outs, residuals = rnn.lstm_fwd(*values, lengths, *sizes, precision)
    expected, pullback = jitney.vjp(lambda *xs: rnn.lstm(*xs, lengths, *sizes), *values)
    for a, b in zip(outs, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    *found, none = jitney.jit(lambda r, y: rnn.lstm_bwd(*sizes, precision, r, y))(residuals, outs)
    for a, b in zip(found, pullback(outs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert none is None


def test_types_of_the_passes():
    names = "input_size", "hidden_size", "num_layers", "dropout", "bidirectional"
    sizes = dict(zip(names, (INPUTS, H, LAYERS, 0.0, True), strict=True))
    avals = [jitney.typeof(jitney.numpy.asarray(x)) for x in (*operands(True), LENGTHS)]
    y, h, c, space = rnn.rnn_abstract_eval(*avals, **sizes, cudnn_allow_tf32=True)
    assert y.shape == (B, T, 2 * H) and (h, c) == tuple(avals[1:3]) and space.shape == (0,)
    types = y, h, c, *avals[:4], y, space, avals[4]
    assert rnn.rnn_bwd_abstract_eval(*types, **sizes, cudnn_allow_tf32=True) == tuple(avals[:4])
    program = jitney.make_jaxpr(
        lambda *xs: rnn.rnn_fwd_p.bind(*xs, **sizes, cudnn_allow_tf32=True)
    )(*operands(True), LENGTHS)
    assert [eqn.primitive for eqn in program.eqns] == [rnn.rnn_fwd_p]
    assert tuple(program.out_avals) == (y, h, c, space)
