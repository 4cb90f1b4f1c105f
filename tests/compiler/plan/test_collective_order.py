"""Collectives next to what they are for: gathers before their use, reduce-scatters after their sum."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.verify import verify_plan
from jitney.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

MESH = AbstractMesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
BOTH = P(("x", "y"))


def tensor(shape, spec):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, spec))


def plan_of(f, *args):
    """The plan of a device, verified; memory of its operands, results and all between; of the whole."""
    module = jax.jit(f, out_shardings=NamedSharding(MESH, BOTH)).lower(*args).compiler_ir()
    specs = [(("x", "y"), *[()] * (x.ndim - 1)) for x in args]
    program = pipeline.partition(
        module, specs, dict(MESH.shape), [(("x", "y"), ())] * len(module.region.results)
    )
    plan = pipeline.plan(pipeline.optimize(program.module))
    verify_plan(plan)
    return plan, pipeline.plan(pipeline.optimize(module))


def memory_ratio(plan, whole):
    """What a device takes, in terms of an eighth of the whole program's operands, results, arena."""
    given = sum([t.nbytes for t in (*plan.inputs, *plan.outputs)])
    return (given + plan.arena_bytes) / (given + whole.arena_bytes / 8)


def loss(w1, w2, x):
    return ((jnp.tanh(x @ w1) @ w2) ** 2).sum()


def test_a_training_step_with_divided_weights_takes_its_share():
    args = tensor((1024, 4096), BOTH), tensor((4096, 1024), BOTH), tensor((16384, 1024), BOTH)
    plan, whole = plan_of(jax.grad(loss, (0, 1)), *args)
    assert memory_ratio(plan, whole) < 1.1
    kinds = [s.node.kind for s in plans.all_steps(plan.steps) if isinstance(s, plans.Collective)]
    assert sorted(kinds) == ["all_gather"] * 2 + ["reduce_scatter"] * 2


def test_gathers_and_scatters_stand_next_to_what_they_are_for():
    args = tensor((1024, 4096), BOTH), tensor((4096, 1024), BOTH), tensor((16384, 1024), BOTH)
    plan, _ = plan_of(jax.grad(loss, (0, 1)), *args)
    for i, step in enumerate(plan.steps):
        if isinstance(step, plans.Collective):
            neighbour = plan.steps[i + (1 if step.node.kind == "all_gather" else -1)]
            own = {*step.args, step.result}
            assert own & {*plans.all_touched(neighbour)}


def test_products_of_matrices_that_are_divided_both_ways_take_their_share():
    def f(x, y):
        return x @ y

    sharding = NamedSharding(MESH, P("x", "y"))
    x = jax.ShapeDtypeStruct((4096, 4096), np.float32, sharding=sharding)
    module = jax.jit(f).lower(x, x).compiler_ir()
    spec = (("x",), ("y",))
    program = pipeline.partition(module, [spec, spec], {"x": 4, "y": 2}, [spec])
    plan = pipeline.plan(pipeline.optimize(program.module))
    verify_plan(plan)
    assert memory_ratio(plan, pipeline.plan(pipeline.optimize(module))) < 1.1
