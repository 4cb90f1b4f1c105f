"""flax.nnx: a CNN with batch norm and dropout, layers by vmap and scan, split and merge."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

rng = np.random.default_rng(0)
images = jnp.asarray(rng.normal(size=(8, 8, 8, 1)), jnp.float32)
labels = jnp.asarray(rng.integers(0, 3, size=8))
rows = jnp.asarray(rng.normal(size=(16, 2)), jnp.float32)
wide = jnp.concatenate([rows, rows**2 - 1], axis=1)
targets = jnp.sin(rows @ jnp.ones((2, 3)))


# --- the example of the README ---


class MLP(nnx.Module):
    def __init__(self, din, dmid, dout, *, rngs):
        self.linear = nnx.Linear(din, dmid, rngs=rngs)
        self.dropout = nnx.Dropout(rate=0.1, rngs=rngs)
        self.bn = nnx.BatchNorm(dmid, rngs=rngs)
        self.linear_out = nnx.Linear(dmid, dout, rngs=rngs)

    def __call__(self, x):
        x = nnx.gelu(self.dropout(self.bn(self.linear(x))))
        return self.linear_out(x)


model = MLP(2, 16, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1, momentum=0.9), wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss


mlp_losses = [train_step(model, optimizer, rows, targets) for _ in range(10)]
graph, params, rest = nnx.split(model, nnx.Param, ...)
copy = nnx.merge(graph, jax.tree.map(lambda x: 2 * x, params), rest)
copy.eval()


# --- a CNN with metrics ---


class CNN(nnx.Module):
    def __init__(self, *, rngs):
        self.conv1 = nnx.Conv(1, 4, kernel_size=(3, 3), use_bias=False, rngs=rngs)
        self.bn = nnx.BatchNorm(4, momentum=0.9, rngs=rngs)
        self.conv2 = nnx.Conv(4, 8, kernel_size=(3, 3), rngs=rngs)
        self.linear = nnx.Linear(32, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.bn(self.conv1(x))), (2, 2), (2, 2))
        x = nnx.avg_pool(nnx.relu(self.conv2(x)), (2, 2), (2, 2))
        return self.linear(self.dropout(x.reshape(len(x), -1)))


cnn = CNN(rngs=nnx.Rngs(params=1, dropout=2))
adam = nnx.Optimizer(cnn, optax.adamw(0.005), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))


@nnx.jit
def cnn_step(model, optimizer, metrics):
    def loss_of(model):
        logits = model(images)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits

    (loss, logits), grads = nnx.value_and_grad(loss_of, has_aux=True)(model)
    metrics.update(loss=loss, logits=logits, labels=labels)
    optimizer.update(model, grads)
    return loss


cnn_losses = [cnn_step(cnn, adam, metrics) for _ in range(8)]


# --- layers by vmap, applied by scan, rematerialized ---


class Block(nnx.Module):
    def __init__(self, width, *, rngs):
        self.linear = nnx.Linear(width, width, rngs=rngs)
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.calls = nnx.Variable(jnp.zeros((), jnp.int32))

    @nnx.remat
    def __call__(self, x):
        self.calls[...] += 1
        return x + jnp.tanh(self.norm(self.linear(x)))


@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=0, out_axes=0)
def make_blocks(rngs):
    return Block(4, rngs=rngs)


@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(block, x):
    return block(x)


blocks = make_blocks(nnx.Rngs(3))
gradient = nnx.jit(nnx.grad(lambda blocks: (forward(blocks, wide) ** 2).sum()))(blocks)

# --- variables that are references, and variables that are values of a type of their own ---


@jax.jit
def count(variable, x):
    def body(total, row):
        variable[...] += row
        return total + row, variable[...]

    return jax.lax.scan(body, 0.0, x)[1]


counters = [nnx.Variable(jnp.float32(1.0), **kind) for kind in ({"ref": True}, {"hijax": True})]
counted = [count(variable, wide[:, 0]) for variable in counters for _ in range(2)]

gru = nnx.RNN(nnx.GRUCell(2, 4, rngs=nnx.Rngs(4)))
attention = nnx.MultiHeadAttention(2, 2, 4, decode=False, rngs=nnx.Rngs(5))

np.savez(
    sys.argv[1],
    mlp_losses=np.stack(mlp_losses),
    doubled=copy(rows),
    running_mean=model.bn.mean[...],
    cnn_losses=np.stack(cnn_losses),
    running_var=cnn.bn.var[...],
    **{name: np.asarray(value) for name, value in metrics.compute().items()},
    blocks=forward(blocks, wide),
    calls=blocks.calls[...],
    kernels=gradient["linear"]["kernel"][...],
    counted=np.stack(counted),
    counters=np.stack([variable[...] for variable in counters]),
    recurrent=gru(rows[None]),
    attended=attention(rows[None]),
    structure=str(jax.tree.map(jnp.shape, nnx.to_pure_dict(nnx.state(cnn, nnx.Param)))),
    shapes=str(nnx.to_pure_dict(nnx.state(nnx.eval_shape(lambda: MLP(2, 4, 1, rngs=nnx.Rngs(0)))))),
)
