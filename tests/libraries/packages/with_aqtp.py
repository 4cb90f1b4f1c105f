"""aqtp: layers whose matrix products are quantized to eight bits, forward and backward."""

import sys

import aqt.jax.v2.config as aqt_config
import aqt.jax.v2.flax.aqt_flax as aqt
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from aqt.jax.v2 import aqt_quantizer, calibration, utils as aqt_utils
from aqt.jax.v2.numerics import int_numerics


class MlpBlock(nn.Module):
    config: aqt_config.DotGeneral | None

    @nn.compact
    def __call__(self, inputs):
        dot_general = aqt.AqtDotGeneral(self.config)
        x = nn.Dense(dot_general=dot_general, features=inputs.shape[-1] * 4)(inputs)
        x = nn.relu(x)
        return nn.Dense(dot_general=dot_general, features=inputs.shape[-1])(x)


inputs = np.random.default_rng(0).normal(size=(3, 4))
results = {}
for name, config in (
    ("full", None),
    ("int8", aqt_config.fully_quantized(fwd_bits=8, bwd_bits=8)),
):
    block = MlpBlock(config)
    params = block.init(jax.random.PRNGKey(0), inputs)

    def loss(params, block=block):
        out = block.apply(params, inputs, rngs={"params": jax.random.key(0)})
        return jnp.sum(out**2), out

    slopes, out = jax.grad(loss, has_aux=True)(params)
    results[name] = out
    results[f"{name}_slope"] = slopes["params"]["Dense_1"]["kernel"]

quantizer = aqt_quantizer.Quantizer(
    numerics=int_numerics.IntSymmetric(
        bits=4,
        preserve_zero=True,
        preserve_max_val=True,
        clip=True,
        clip_gradient=True,
        round=True,
        noise_fn=None,
    ),
    calib_shared_axes=-1,
    scale_stop_grad=True,
    calibration=calibration.AbsMaxCalibration,
    context=aqt_utils.Context(key=jax.random.PRNGKey(0), train_step=0),
)
quantizer.init_calibration()
quantized, _ = quantizer.quant(jnp.linspace(-10, 10, 10), calibration_axes=-1)

np.savez(sys.argv[1], qvalue=quantized.qvalue, **results)
