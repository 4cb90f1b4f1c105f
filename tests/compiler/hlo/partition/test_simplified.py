"""Programs are simplified before they are partitioned, without what users require, and after."""

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.partition import interpret
from jitney.compiler.hlo.partition.simplified import partition
from jitney.core.sharding.shardy import parse_tensor_sharding

X = ("x",)
V = np.arange(8, dtype=np.float32)


def test_constraints_survive_until_they_have_been_obeyed():
    b = Builder()
    x = b.parameter(0, ir.TensorType((8,), np.dtype(np.float32)))
    sharding = parse_tensor_sharding('<@mesh, [{"x"}]>')
    module = b.module("f", [x], [b.sharding_constraint(b.apply("neg", x), sharding)])
    program = partition(module, [((),)], {"x": 4})
    assert program.out_specs == ((X,),)
    nodes = traversal.topological_order(program.module.region.results)
    assert not any(isinstance(n, ir.ShardingConstraint) for n in nodes)
    np.testing.assert_array_equal(interpret.run(program, [V])[0], -V)


def test_both_sides_are_simplified():
    """A product with 1 is gone before it is divided, and a sum over one row of a shard after."""
    module = parse_module(
        "module f(p0: float32[8]) {\n  %1 = constant 1.0 : float32[]\n"
        "  %2 = broadcast %1 dims=() : float32[8]\n  %3 = mul p0, %2 : float32[8]\n  return %3\n}"
    )
    program = partition(module, [(X,)], {"x": 4})
    assert program.module.region.results == program.module.region.parameters
    assert program.module.region.parameters[0].shape == (2,)
    module = parse_module(
        "module f(p0: float32[4,3]) {\n  %1 = reduce p0 fn=max dims=(0,) : float32[3]\n  return %1\n}"
    )
    program = partition(module, [(X, ())], {"x": 4})
    nodes = traversal.topological_order(program.module.region.results)
    assert [type(n) for n in nodes] == [ir.Parameter, ir.Reshape, ir.Collective]


def test_collectives_along_axes_of_one_device_vanish():
    module = parse_module(
        "module f(p0: float32[8]) {\n  %1 = reduce p0 fn=add dims=(0,) : float32[]\n  return %1\n}"
    )
    program = partition(module, [(X,)], {"x": 1})
    nodes = traversal.topological_order(program.module.region.results)
    assert not any(isinstance(n, ir.Collective) for n in nodes)
    np.testing.assert_array_equal(interpret.run(program, [V])[0], 28)
