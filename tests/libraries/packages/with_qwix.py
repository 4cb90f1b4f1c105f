"""qwix: a network quantized after its training, and trained as if quantized."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import qwix
from flax import linen as nn


class MLP(nn.Module):
    dhidden: int
    dout: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(self.dhidden, use_bias=False)(x))
        return nn.Dense(self.dout, use_bias=False)(x)


model = MLP(32, 8)
x = jax.random.uniform(jax.random.key(0), (8, 16))
params = model.init(jax.random.key(1), x)["params"]
fp8 = jnp.float8_e4m3fn  # in integers, the largest are at a half
rules = [qwix.QuantizationRule(module_path=".*", weight_qtype=fp8, act_qtype=fp8)]
after = qwix.quantize_model(model, qwix.PtqProvider(rules))
shapes = jax.eval_shape(after.init, jax.random.key(0), x)["params"]
quantized = qwix.quantize_params(params, shapes)
aware = qwix.quantize_model(model, qwix.QtProvider(rules))
slope = jax.grad(lambda p: jnp.sum(aware.apply({"params": p}, x) ** 2))(params)

np.savez(
    sys.argv[1],
    full=model.apply({"params": params}, x),
    after=after.apply({"params": quantized}, x),
    kernel=quantized["Dense_0"]["kernel"].array.qvalue.astype(jnp.float32),
    slope=slope["Dense_0"]["kernel"],
)
