"""A sink keeps what it is given in the program, through derivatives and batches."""

import jitney
from jitney.primitives.array.sinks import dce_sink


def double(x):
    dce_sink({"a": x * 3, "b": (x,)})
    return x * 2


def sinks(f):
    return str(jitney.make_jaxpr(f)(1.0)).count("dce_sink")


def test_values_and_derivatives_are_those_without():
    assert jitney.jit(double)(3.0) == 6
    assert jitney.grad(double)(3.0) == 2
    assert jitney.vmap(double)(jitney.numpy.arange(3.0)).tolist() == [0, 2, 4]


def test_every_leaf_stays_in_the_program_and_so_does_its_tangent():
    assert sinks(double) == 2
    assert sinks(lambda x: jitney.jvp(double, (x,), (1.0,))) == 4
    assert "mul" in str(jitney.make_jaxpr(lambda x: dce_sink(x * 3))(1.0))
