"""orbax: a flax TrainState and sharded arrays saved and restored, in one step and by a manager."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training import checkpoints, train_state
from jax.experimental.array_serialization import serialization
from jax.sharding import NamedSharding, PartitionSpec as P, SingleDeviceSharding

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(16, 5)), jnp.float32)
y = jnp.sin(x.sum(axis=1, keepdims=True))
found = {}


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.tanh(nn.Dense(8)(x)))


net = Network()


@jax.jit
def step(state):
    def loss_of(params):
        return jnp.mean((state.apply_fn({"params": params}, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=grads), loss


optimizer = optax.adam(0.01)
apply = net.apply


def fresh(seed):
    params = net.init(jax.random.key(seed), x)["params"]
    return train_state.TrainState.create(apply_fn=apply, params=params, tx=optimizer)


def note(name, tree):
    for i, leaf in enumerate(jax.tree.leaves(tree)):
        value = np.asarray(leaf)
        found[f"{name}{i}"] = value.astype(np.float32) if value.dtype == jnp.bfloat16 else value


def places(tree):
    return str([str(leaf.sharding.spec) for leaf in jax.tree.leaves(tree)])


# Training goes on from the state of a checkpoint as if it had never stopped.
state = fresh(0)
for _ in range(5):
    state, _ = step(state)
with ocp.StandardCheckpointer() as checkpointer:
    checkpointer.save(folder / "state", state)
    checkpointer.wait_until_finished()
    restored = checkpointer.restore(folder / "state", fresh(1))
    abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, state)
    again = checkpointer.restore(folder / "state", abstract)
    plain = checkpointer.restore(folder / "state")
assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), state, restored))
assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), restored, again))
note("restored", restored)
found["names"] = str(sorted(jax.tree_util.keystr(p) for p, _ in jax.tree.leaves_with_path(plain)))
for _ in range(3):
    restored, loss = step(restored)
note("continued", (restored.params, loss))

# Some of many steps are kept, with metrics.
options = ocp.CheckpointManagerOptions(
    max_to_keep=2, best_fn=lambda m: m["loss"], best_mode="min", save_interval_steps=2
)
state, losses = fresh(2), {}
with ocp.CheckpointManager(folder / "steps", options=options) as manager:
    for i in range(8):
        state, loss = step(state)
        losses[i] = float(loss)
        manager.save(i, args=ocp.args.StandardSave(state), metrics={"loss": float(loss)})
    manager.wait_until_finished()
    found["steps"] = np.asarray(manager.all_steps())
    found["best"] = np.asarray([manager.latest_step(), manager.best_step()])
    best = manager.restore(manager.best_step(), args=ocp.args.StandardRestore(fresh(3)))
note("best_state", best)

# Several items in one step, one of them JSON; a step that is not there.
with ocp.CheckpointManager(folder / "items", item_names=("params", "config")) as manager:
    args = ocp.args.Composite(
        params=ocp.args.StandardSave(state.params), config=ocp.args.JsonSave({"depth": 2})
    )
    manager.save(3, args=args)
    manager.wait_until_finished()
    items = manager.restore(3)
    note("items", items["params"])
    found["config"] = str(items["config"])
    try:
        manager.restore(4)
    except Exception as error:
        found["absent"] = type(error).__name__

# Sharded arrays come back where they were, or where somebody else wants them.
mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def on(*axes):
    return NamedSharding(mesh, P(*axes))


tree = {
    "rows": jax.device_put(jnp.arange(64.0).reshape(8, 8), on("a")),
    "both": jax.device_put(jnp.arange(32, dtype=jnp.int32).reshape(4, 8), on("b", "a")),
    "half": jax.device_put(jnp.arange(8, dtype=jnp.bfloat16), on(("a", "b"))),
    "whole": jax.device_put(jnp.asarray(3.5), on()),
    "key": jax.random.key_data(jax.random.key(7)),
    "number": 17,
    "array": np.arange(3.0),
}
with ocp.PyTreeCheckpointer() as checkpointer:
    checkpointer.save(folder / "tree", tree)
    as_saved = checkpointer.restore(folder / "tree")
    wanted = {
        "rows": ocp.ArrayRestoreArgs(sharding=on(None, "b"), dtype=jnp.float16),
        "both": ocp.ArrayRestoreArgs(
            mesh=mesh, mesh_axes=P("a"), global_shape=(6, 8), strict=False
        ),
        "half": ocp.ArrayRestoreArgs(sharding=on("b"), dtype=jnp.float32),
        "whole": ocp.RestoreArgs(restore_type=np.ndarray),
        "key": ocp.ArrayRestoreArgs(sharding=SingleDeviceSharding(jax.devices()[3])),
        "number": ocp.RestoreArgs(restore_type=float),
        "array": ocp.RestoreArgs(restore_type=np.ndarray),
    }
    moved = checkpointer.restore(
        folder / "tree", args=ocp.args.PyTreeRestore(item=tree, restore_args=wanted)
    )
    metadata = checkpointer.metadata(folder / "tree").item_metadata.tree
note("as_saved", as_saved)
note("moved", {k: jnp.asarray(v, jnp.float32) if k != "key" else v for k, v in moved.items()})
found["kinds"] = str(
    {k: [type(v).__name__, str(v.dtype)] for k, v in moved.items() if k != "number"}
)  # fmt: skip
found["as_saved_places"] = places([as_saved[k] for k in ("rows", "both", "half", "whole")])
found["moved_places"] = places([moved[k] for k in ("rows", "both", "half")])
found["device"] = np.asarray([d.id for d in moved["key"].devices()])
found["shapes"] = str(
    {k: [str(v.shape), str(v.dtype)] for k, v in metadata.items() if k != "number"}
)


# A train state over a mesh, restored where an abstract one says.
def by_columns(v):
    return on(*(None,) * (v.ndim - 1), "b") if v.shape[-1] % 2 == 0 else on()


params = jax.tree.map(
    lambda v: jax.device_put(v, on("a") if v.shape[0] % 2 == 0 else on()), state.params
)
with ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler()) as checkpointer:
    checkpointer.save(folder / "params", args=ocp.args.StandardSave(params))
    checkpointer.wait_until_finished()
    target = jax.tree.map(
        lambda v: jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=by_columns(v)), params
    )
    spread = checkpointer.restore(folder / "params", args=ocp.args.StandardRestore(target))
note("spread", spread)
found["spread_places"] = places(spread)

# JAX's own functions, below orbax, and flax's above it.
manager = serialization.GlobalAsyncCheckpointManager()
arrays = [tree["rows"], tree["half"]]
names = [str(folder / "own" / name) for name in ("rows", "half")]
done = []
manager.serialize_with_paths(arrays, names, on_commit_callback=lambda: done.append(1))
manager.wait_until_finished()
own = manager.deserialize_with_paths([on("b", "a"), on()], names, [(12, 8), (8,)])
note("own", [own[0], own[1], len(done)])
found["files"] = str(sorted(p.name for p in Path(names[0]).iterdir()))
checkpoints.save_checkpoint(folder / "flax", state, 5, keep=2)
note("flax", checkpoints.restore_checkpoint(folder / "flax", fresh(4)))

np.savez(sys.argv[1], **found)
