"""Primitives of libraries that call programs: `jax.extend.core.create_call_primitive`."""

import importlib
from functools import partial

import pytest
from tests.helpers.both import Cases, check

import jitney
from jitney.extend import core

cases = Cases()


def part(jax, name):
    """A module of either package."""
    return importlib.import_module(f"{jax.__name__}.{name}")


def made(jax, jnp, name="marked"):
    """A primitive, and a function that calls a program by it."""
    primitive = part(jax, "extend.core").create_call_primitive(name)
    program = jax.make_jaxpr(lambda x, y: [jnp.sin(x) * y])(1.0, 2.0)
    return primitive, lambda x, y, **more: primitive.bind(x, y, call_jaxpr=program, **more)[0]


@cases
def results(jax, jnp):
    primitive, f = made(jax, jnp)
    ones = jnp.ones(2)
    loop = jax.lax.scan(lambda c, _: (f(c, c), None), 1.0, None, length=3)[0]
    return [
        primitive.multiple_results, f(1.0, 2.0), jax.jit(f)(1.0, 2.0), jax.vmap(f)(ones, ones), loop,
        jax.grad(f, (0, 1))(1.0, 2.0), jax.jit(jax.grad(f))(1.0, 2.0),
        jax.jvp(f, (1.0, 2.0), (3.0, 4.0)), jax.grad(jax.checkpoint(f))(1.0, 2.0),
    ]  # fmt: skip


@cases
def programs(jax, jnp):
    _, f = made(jax, jnp)
    ones = jnp.ones(2)
    return [
        str(jax.make_jaxpr(lambda x: f(x, x, kind=3))(1.0)),
        str(jax.make_jaxpr(jax.vmap(f))(ones, ones)),
        str(jax.make_jaxpr(jax.grad(f))(1.0, 2.0)),
    ]


@cases
def without_a_program(jax, jnp):
    primitive, _ = made(jax, jnp)
    return primitive.bind(1.0, 2.0)


@cases
def with_too_few_operands(jax, jnp):
    primitive, _ = made(jax, jnp)
    program = jax.make_jaxpr(lambda x, y: [x * y])(1.0, 2.0)
    return primitive.bind(1.0, call_jaxpr=program)


@cases
def transposition_of_the_library(jax, jnp):
    core = part(jax, "extend.core")
    seen = []

    def transpose(ct, *args, **params):
        seen.append((len(ct), len(args), sorted(params)))
        for x in args:
            if hasattr(x, "accum"):
                x.accum(ct[0] * 10)
                x.accum(ct[0])

    primitive = core.Primitive("own")
    primitive.multiple_results = True
    core.register_call_primitive_rules(primitive, "own", transpose)
    program = jax.make_jaxpr(lambda x, y: [jnp.sin(x) * y])(1.0, 2.0)
    grads = jax.grad(lambda x, y: primitive.bind(x, y, call_jaxpr=program)[0], (0, 1))(1.0, 2.0)
    return grads, seen


@cases
def programs_on_arrays(jax, jnp):
    hijax, pe = part(jax, "experimental.hijax"), part(jax, "interpreters.partial_eval")

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    class PairType(hijax.HiType):
        def __eq__(self, other):
            return type(other) is PairType

        def __hash__(self):
            return hash(PairType)

        def lo_ty(self):
            return [jax.typeof(0.0), jax.typeof(0.0)]

        def lower_val(self, pair):
            return [pair.a, pair.b]

        def raise_val(self, a, b):
            return Pair(a, b)

    hijax.register_hitype(Pair, lambda _: PairType())
    program = jax.make_jaxpr(lambda p, x: (p, x + 1))(Pair(1.0, 2.0), 3.0)
    return str(pe.lower_jaxpr2(program))


@pytest.mark.parametrize("case", cases.all, ids=cases.ids)
def test_calls(case):
    check(case)


def test_the_usual_transposition_within_that_of_a_library():
    primitive = core.Primitive("own")
    primitive.multiple_results = True
    core.register_call_primitive_rules(
        primitive, transpose_rule=partial(core.eval_jaxpr_transpose, primitive)
    )
    program = jitney.make_jaxpr(lambda x, y: [jitney.numpy.sin(x) * y])(1.0, 2.0)
    f = lambda x, y: primitive.bind(x, y, call_jaxpr=program)[0]  # noqa: E731
    _, g = made(jitney, jitney.numpy)
    assert jitney.grad(f, (0, 1))(1.0, 2.0) == jitney.grad(g, (0, 1))(1.0, 2.0)
