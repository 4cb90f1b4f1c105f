"""gymnax: environments stepped in batches, and a policy trained by REINFORCE."""

import sys

import gymnax
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
env, env_params = gymnax.make("CartPole-v1")
params = {
    "w1": jnp.asarray(0.5 * rng.normal(size=(4, 8)), jnp.float32),
    "w2": jnp.asarray(0.5 * rng.normal(size=(8, 2)), jnp.float32),
}


def logits(params, x):
    return jnp.tanh(x @ params["w1"]) @ params["w2"]


def rollout(params, key):
    """Observations, actions, rewards of 20 steps."""

    def step(carry, key):
        x, state = carry
        choose, move = jax.random.split(key)
        action = jax.random.categorical(choose, logits(params, x))
        following, state, reward, done, *_ = env.step(move, state, action, env_params)
        return (following, state), (x, action, reward, done)

    first, rest = jax.random.split(key)
    return jax.lax.scan(step, env.reset(first, env_params), jax.random.split(rest, 20))[1]


@jax.jit
def update(params, key):
    x, actions, rewards, done = jax.vmap(rollout, (None, 0))(params, jax.random.split(key, 8))
    returns = jnp.cumsum(rewards[:, ::-1] * 1.0, axis=1)[:, ::-1]

    def loss(params):
        log_probs = jax.nn.log_softmax(logits(params, x))
        chosen = jnp.take_along_axis(log_probs, actions[..., None], -1)[..., 0]
        return -jnp.mean(chosen * (returns - returns.mean()))

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), (value, done.sum())


losses, ends = [], []
for i in range(4):
    params, (loss, done) = update(params, jax.random.key(i))
    losses.append(loss)
    ends.append(done)

others = {}
for name in ("Pendulum-v1", "MountainCar-v0", "Catch-bsuite", "Breakout-MinAtar"):
    other, other_params = gymnax.make(name)
    x, state = other.reset(jax.random.key(1), other_params)
    action = other.action_space(other_params).sample(jax.random.key(2))
    x, state, reward, *_ = jax.jit(other.step)(jax.random.key(3), state, action, other_params)
    others[name] = jnp.append(jnp.ravel(x), reward)
np.savez(sys.argv[1], losses=np.stack(losses), ends=np.stack(ends), **others)
