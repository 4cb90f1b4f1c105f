"""brainstate: stateful networks, transformed and trained."""

import sys

import brainstate as bst
import jax.numpy as jnp
import numpy as np

bst.random.seed(0)
x = jnp.linspace(-1, 1, 16)[:, None]
y = jnp.sin(3 * x)


class Net(bst.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = bst.nn.Linear(1, 16)
        self.second = bst.nn.Linear(16, 1)

    def __call__(self, x):
        return self.second(jnp.tanh(self.first(x)))


net = Net()
weights = net.states(bst.ParamState)


def loss():
    return jnp.mean((net(x) - y) ** 2)


@bst.transform.jit
def step():
    slopes, value = bst.transform.grad(loss, weights, return_value=True)()
    for name, slope in slopes.items():
        old = weights[name].value
        weights[name].value = {k: v - 0.1 * slope[k] for k, v in old.items()}
    return value


losses = [step() for _ in range(5)]
np.savez(sys.argv[1], losses=np.stack(losses), out=net(x))
