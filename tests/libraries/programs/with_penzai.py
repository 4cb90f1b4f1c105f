"""penzai: named arrays, a network of layers that is looked into and trained; treescope shows it."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import treescope
from penzai import pz
from penzai.models import simple_mlp
from penzai.toolshed import basic_training

rng = np.random.default_rng(0)
x = jnp.asarray(rng.uniform(-1, 1, (64, 2)), jnp.float32)
labels = jnp.asarray((np.asarray(x).prod(1) > 0).astype(np.float32))

mlp = simple_mlp.MLP.from_config(
    name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[2, 8, 1], activation_fn=jax.nn.gelu
)


def loss_fn(model, rng, state, points, targets):
    out = model(pz.nx.wrap(points, "batch", "features")).unwrap("batch", "features")[:, 0]
    loss = optax.sigmoid_binary_cross_entropy(out, targets).mean()
    return loss, state, {"loss": loss}


trainer = basic_training.StatefulTrainer.build(
    root_rng=jax.random.key(1), model=mlp, optimizer_def=optax.adam(0.05), loss_fn=loss_fn,
    initial_loss_fn_state=None,
)  # fmt: skip
losses = [trainer.step(points=x, targets=labels)["loss"] for _ in range(20)]

named = pz.nx.wrap(jnp.arange(24.0).reshape(2, 3, 4), "a", "b", "c")
normalized = pz.nx.nmap(lambda row: row - row.mean())(named.untag("c")).tag("c")
product = pz.nx.nmap(jnp.dot)(named.untag("c"), pz.nx.wrap(jnp.ones(4)))
frozen = pz.freeze_params(mlp)
layers = pz.select(frozen).at_instances_of(pz.nn.Linear).count()
doubled = (
    pz.select(frozen)
    .at_instances_of(pz.ParameterValue)
    .apply(lambda p: pz.ParameterValue(value=p.value * 2, label=p.label, metadata=p.metadata))
)
shown = treescope.render_to_text(named.unwrap("a", "b", "c"))

np.savez(
    sys.argv[1],
    losses=np.array(losses),
    out=mlp(pz.nx.wrap(x, "batch", "features")).unwrap("batch", "features"),
    doubled=doubled(pz.nx.wrap(x, "batch", "features")).unwrap("batch", "features"),
    normalized=normalized.unwrap("a", "b", "c"),
    product=product.unwrap("a", "b"),
    layers=layers,
    shown="float32[2, 3, 4]" in shown or "float32(2, 3, 4)" in shown,
)
