"""rlax: an agent for a chain of states trained by Q-learning, returns, policy gradients, MPO."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import rlax

rng = np.random.default_rng(0)
states = jnp.eye(6)


def q_values(params, state):
    return jnp.tanh(state @ params["w1"]) @ params["w2"]


def move(state, action):
    """Right or left on the chain; a reward at its right end."""
    following = jnp.clip(state + 2 * action - 1, 0, 5)
    return following, (following == 5).astype(jnp.float32)


@jax.jit
def train(params, key):
    def loss(params, before, action, reward, after):
        error = rlax.double_q_learning(
            q_values(params, states[before]), action, reward, 0.9 * (reward == 0),
            q_values(params, states[after]), q_values(params, states[after]),
        )  # fmt: skip
        return rlax.l2_loss(error)

    def step(carry, key):
        params, state = carry
        action = rlax.epsilon_greedy(0.3).sample(key, q_values(params, states[state]))
        after, reward = move(state, action)
        value, grads = jax.value_and_grad(loss)(params, state, action, reward, after)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return (params, jnp.where(reward > 0, 0, after)), value

    return jax.lax.scan(step, (params, jnp.int32(0)), jax.random.split(key, 60))


params = {name: jnp.asarray(0.3 * rng.normal(size=shape), jnp.float32)
          for name, shape in (("w1", (6, 8)), ("w2", (8, 2)))}  # fmt: skip
(params, _), losses = train(params, jax.random.key(0))
rewards = jnp.asarray(rng.normal(size=8), jnp.float32)
values = jnp.asarray(rng.normal(size=9), jnp.float32)
logits = jnp.asarray(rng.normal(size=(8, 3)), jnp.float32)
actions = jnp.asarray(rng.integers(0, 3, size=8))
ones = jnp.ones(8)
vtrace = rlax.vtrace_td_error_and_advantage(
    values[:-1], values[1:], rewards, 0.9 * ones, jnp.exp(0.1 * rewards)
)
np.savez(
    sys.argv[1],
    losses=losses,
    q=jax.vmap(q_values, (None, 0))(params, states),
    returns=rlax.lambda_returns(rewards, 0.9 * ones, values[1:], 0.8),
    advantages=rlax.truncated_generalized_advantage_estimation(rewards, 0.9 * ones, 0.95, values),
    vtrace=vtrace.errors,
    policy_gradient=jax.grad(
        lambda x: (
            rlax.policy_gradient_loss(x, actions, rewards, ones) + 0.1 * rlax.entropy_loss(x, ones)
        )
    )(logits),
    categorical=rlax.categorical_l2_project(
        jnp.linspace(-1, 1, 5), jax.nn.softmax(values[:5]), jnp.linspace(-2.0, 2.0, 7)
    ),
    two_hot=rlax.twohot_pair(-300.0, 300.0, 31).apply(rewards[:3]),
    signed=rlax.signed_hyperbolic(values),
    actions=jax.vmap(lambda k: rlax.softmax(0.5).sample(k, logits[0]))(
        jax.random.split(jax.random.key(3), 6)
    ),
)
