"""Nodes and equations are traced back to the user's expressions."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.core.program.jaxpr import jaxprs_in_params
from jitney.inspection import sources
from jitney.inspection.sources import Source

X = np.ones(3, np.float32)


def f(x):
    y = jnp.sin(x)
    return (
        y
        * 2.5
    )  # fmt: skip


def equations(fun):
    todo, found = [jax.make_jaxpr(fun)(X).jaxpr], []
    for jaxpr in todo:
        found += jaxpr.eqns
        todo += [inner for eqn in jaxpr.eqns for inner in jaxprs_in_params(eqn.params)]
    return found


def test_equations_have_the_expression_that_recorded_them():
    sine, product = [sources.source_of_equation(eqn) for eqn in equations(f)]
    first = f.__code__.co_firstlineno
    assert (sine.file, sine.line, sine.end_line) == (__file__, first + 1, first + 1)
    assert sine.text == "jnp.sin(x)"
    assert (product.line, product.end_line) == (first + 3, first + 4)
    assert " ".join(product.text.split()) == "y * 2.5"


def test_unknown_sources():
    (eqn, _) = equations(f)
    assert sources.source_of_equation(eqn.replace(source_info=None)) is None
    assert Source("no file", 1, 0, 1, 5).text == ""


def test_transposed_equations_are_told_apart():
    def g(x):
        return jax.vjp(lambda x: jnp.sum(jnp.sin(x)), x)[1](np.float32(1))[0]

    known = {eqn.primitive.name: sources.is_transposed_by(eqn) for eqn in equations(g)}
    assert known["sin"] is None and known["mul"] is True
    recomputed = equations(lambda x: jax.grad(jax.checkpoint(lambda x: jnp.sin(x).sum()))(x))
    assert False in [sources.is_transposed_by(eqn) for eqn in recomputed]


def test_nodes_know_the_calls_that_they_were_inlined_from():
    module = jax.jit(lambda x: jax.jit(f)(x)).lower(X)._lowering.module
    (product,) = module.region.results
    names = [eqn.primitive.name for eqn in sources.equations_of(product)]
    assert names == ["mul", "jit"]
    assert sources.equation_of(product).primitive.name == "mul"
    source = sources.source_of(product)
    assert source.line == f.__code__.co_firstlineno + 3 and not source.is_transposed
    (parameter,) = module.region.parameters
    assert sources.source_of(parameter) is None
