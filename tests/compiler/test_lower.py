"""Jaxprs become nodes of the tensor IR: equations in order, constants copied, types of storage."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import lower as lowering
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.interpret import run, run_region
from jitney.compiler.lower import host_value, lower, optimization_level, scalar_region, tensor_type
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import abstract_token, shaped_array

F32 = np.dtype(np.float32)


def test_the_module_computes_what_the_jaxpr_does():
    table = np.arange(3, dtype=np.float32)
    closed = jax.make_jaxpr(lambda x, y: (x * table + 1, jnp.sort(y)))(table, table)
    module = lower(closed, "f")
    assert module.name == "f" and module.jaxpr is closed.jaxpr
    x, y = np.float32([1, 2, 3]), np.float32([3, 1, 2])
    found = run(module, [x, y])
    np.testing.assert_array_equal(found[0], x * table + 1)
    np.testing.assert_array_equal(found[1], [1, 2, 3])


def test_nodes_know_their_equation_and_the_call_around_it():
    inner = jax.jit(lambda x: jnp.sin(x) + 1)
    module = lower(jax.make_jaxpr(lambda x: jnp.cos(inner(x)))(np.float32(0)))
    nodes = traversal.topological_order(module.region.results)
    by_name = {n.fn: n.origin for n in nodes if isinstance(n, ir.Apply)}
    assert by_name["cos"][1] is None
    eqn, outer = by_name["sin"]
    assert eqn.primitive.name == "sin" and outer[0].primitive.name in ("jit", "pjit")


def test_scalar_regions_take_the_dtypes_they_are_given():
    region = scalar_region(
        jax.make_jaxpr(lambda x, y: x * y - x)(F32.type(0), F32.type(0)), [F32] * 2
    )
    assert [p.type for p in region.parameters] == [ir.TensorType((), F32)] * 2
    (found,) = run_region(region, [np.float32(3), np.float32(5)])
    assert found == 12


def test_tokens_are_stored_without_elements():
    assert tensor_type(abstract_token).size == 0
    assert tensor_type(shaped_array((2, 3), F32)) == ir.TensorType((2, 3), F32)
    key = jax.eval_shape(lambda: jax.random.key(0))
    stored = tensor_type(shaped_array(key.shape, key.dtype))
    assert stored.dtype == np.uint64 or stored.dtype.kind in "uV"


def test_later_writes_do_not_change_constants():
    mine = np.arange(4)
    held = host_value(mine)
    mine[:] = 9
    np.testing.assert_array_equal(held, np.arange(4))
    fixed = np.arange(4)
    fixed.setflags(write=False)
    assert host_value(fixed) is fixed
    assert host_value(np.ones((3, 2)).T).flags.c_contiguous


def test_primitives_without_a_rule_are_named():
    strange = Primitive("strange")
    strange.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="'strange' has no rule for compilation"):
        lower(jax.make_jaxpr(strange.bind)(np.float32(0)))


def test_programs_take_the_level_of_the_config():
    config = lowering.config
    assert optimization_level() in range(4)
    with config.optimization_level("O1"):
        assert optimization_level() == 1
        with config.disable_most_optimizations(True):
            assert optimization_level() == 0
