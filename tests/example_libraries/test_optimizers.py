"""`jax.example_libraries.optimizers` against real jax: steps, schedules, clipping, packing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.both import of_both
from tests.helpers.rule_checks import module

import jitney
from jitney.example_libraries import optimizers

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum, exponential_decay": lambda o: o.momentum(o.exponential_decay(0.1, 3, 0.5), 0.9),
    "nesterov": lambda o: o.nesterov(0.1, 0.9),
    "adagrad": lambda o: o.adagrad(0.1),
    "rmsprop, inverse_time_decay": lambda o: o.rmsprop(o.inverse_time_decay(0.1, 2, 0.3, True)),
    "rmsprop_momentum": lambda o: o.rmsprop_momentum(o.inverse_time_decay(0.1, 2, 0.3)),
    "adam, piecewise_constant": lambda o: o.adam(o.piecewise_constant([1, 2], [0.1, 0.2, 0.3])),
    "adamax, polynomial_decay": lambda o: o.adamax(o.polynomial_decay(0.1, 3, 0.01, 2.0)),
    "sm3": lambda o: o.sm3(0.1),
}
PARAMS = {"a": np.arange(6.0).reshape(2, 3).astype(np.float32), "b": np.ones(3, np.float32)}


def trained(package: Any, optimizer: Any, compiled: bool) -> Any:
    gradient = package.grad(lambda p: ((p["a"] @ p["b"]) ** 2).sum() * 0.01)

    def step(i, state):
        return optimizer.update_fn(i, gradient(optimizer.params_fn(state)), state)

    step = package.jit(step) if compiled else step
    state = optimizer.init_fn(package.tree.map(package.numpy.asarray, PARAMS))
    for i in range(4):
        state = step(i, state)
    return state


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_some_steps(name: str):
    make = OPTIMIZERS[name]

    def parameters(package: Any) -> list[Any]:
        optimizer = make(module(package, "example_libraries.optimizers"))
        # JAX's sm3 has shapes in its state, which jit cannot take.
        compiled = name != "sm3" or package is jitney
        return package.tree.leaves(optimizer.params_fn(trained(package, optimizer, compiled)))

    for one, other in zip(*of_both(parameters), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_states_are_unpacked_and_packed():
    state = optimizers.adam(0.1).init_fn(PARAMS)
    again = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
    assert jitney.tree.structure(again) == jitney.tree.structure(state)
    with pytest.raises(ValueError, match="JoinPoint"):
        optimizers.pack_optimizer_state(PARAMS)


def test_clipped_gradients():
    assert optimizers.l2_norm([3.0, 4.0]) == 5
    clipped = optimizers.clip_grads([np.float32(3), np.float32(4)], 1.0)
    np.testing.assert_allclose(clipped, [0.6, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(optimizers.clip_grads([np.float32(3)], 9.0), [3])


def test_wrong_arguments():
    init, update, _ = optimizers.sgd(0.1)
    with pytest.raises(
        TypeError, match="expected gradients with the pytree structure of the parameters"
    ):
        update(0, [1.0], init(PARAMS))
    with pytest.raises(TypeError, match="make_schedule"):
        optimizers.make_schedule([1.0])
    with pytest.raises(ValueError, match="one more value than boundaries"):
        optimizers.piecewise_constant([1, 2], [0.1])


def test_an_update_must_keep_the_structure_of_states():
    @optimizers.optimizer
    def growing():
        def update(i, g, state):
            return (state[0] - g, i) if isinstance(state, tuple) else (state - g, i)

        return (lambda x: x), update, (lambda state: state)

    init, update, _ = growing()
    with pytest.raises(TypeError, match="must not change the pytree structure of a state"):
        update(0, [1.0], init([2.0]))


def test_schedules_of_pieces_are_sequences():
    with pytest.raises(ValueError, match=r"one axis each, .* \(\) and \(2,\)"):
        optimizers.piecewise_constant(1.0, [1.0, 2.0])
    with pytest.raises(ValueError, match="one more value than boundaries"):
        optimizers.piecewise_constant([1.0, 2.0], [1.0, 2.0])
