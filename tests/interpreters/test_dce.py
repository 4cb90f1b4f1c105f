"""Pruning of programs to what their wanted results need, against real jax."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.helpers.both import of_both
from tests.helpers.oracle import RealModule, answer, jax

import jitney
from jitney.interpreters import partial_eval

jax_partial_eval = RealModule("jax.interpreters.partial_eval")


def shifting(j):
    """Each carry depends on itself and the one to its left."""

    def f(a, b, c):
        def body(carry, x):
            a, b, c = carry
            return (a * 2, a + b, b + c), (a, j.numpy.sin(b) * x)

        return j.lax.scan(body, (a, b, c), np.arange(3.0, dtype=np.float32))

    return f


def branching(j):
    def f(x, y, z):
        def sines(x, y, z):
            return j.numpy.sin(x), j.numpy.sin(y), z

        def swapped(x, y, z):
            return j.numpy.cos(x), x * y, z * 2

        return j.lax.cond(x > 0, sines, swapped, x, y, z)

    return f


def users_jvp(j):
    @j.custom_jvp
    def f(x, y):
        return j.numpy.sin(x), x + j.numpy.cos(y)

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), (2 * j.numpy.cos(x) * dx, 1.5 * dx - 0.5 * j.numpy.sin(y) * dy)

    return f


def users_vjp(j):
    f = j.custom_vjp(lambda x, y: (j.numpy.sin(x), x + j.numpy.cos(y)))
    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda res, cts: (2 * j.numpy.cos(res[0]) * cts[0] + 3 * cts[1], 5 * cts[1] * res[1]),
    )
    return f


CASES = [
    (shifting, 3, [True, False, False, False, False]),
    (shifting, 3, [False, True, False, False, False]),
    (shifting, 3, [False, False, False, False, True]),
    (branching, 3, [True, False, False]),
    (branching, 3, [False, True, False]),
    (branching, 3, [False, False, True]),
    (users_jvp, 2, [True, False]),
    (users_jvp, 2, [False, True]),
    (users_vjp, 2, [True, False]),
    (users_vjp, 2, [False, True]),
]


def primitives(jaxpr):
    """Names of all equations, those of inner programs after their own."""
    names = []
    for eqn in jaxpr.eqns:
        names.append(eqn.primitive.name)
        for value in eqn.params.values():
            for inner in value if isinstance(value, tuple) else (value,):
                if hasattr(inner, "jaxpr"):
                    names += primitives(inner.jaxpr)
    return names


@pytest.mark.parametrize("make, count, used", CASES)
def test_pruned_programs(make, count, used):
    args = [np.float32(v) for v in (0.5, 1.5, -2.0)[:count]]

    def pruned_by_jax():
        pruned, _ = jax_partial_eval.dce_jaxpr(jax.make_jaxpr(make(jax))(*args).jaxpr, used)
        return primitives(pruned)

    closed = jitney.make_jaxpr(make(jitney))(*args)
    ours, needed = partial_eval.dce_jaxpr(closed.jaxpr, used)
    assert primitives(ours) == answer(pruned_by_jax)

    def pruned(*args):
        given = [x for x, n in zip(args, needed, strict=True) if n]
        return jitney.core.eval_jaxpr(ours, closed.consts, *given)

    def whole(*args):
        leaves = jitney.tree.leaves(make(jitney)(*args))
        return [x for x, u in zip(leaves, used, strict=True) if u]

    for got, want in zip(pruned(*args), whole(*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    for i in range(count):
        slopes = [
            jitney.grad(lambda *a, f=f: sum(v.sum() for v in f(*a)), i)(*args)
            for f in (pruned, whole)
        ]
        np.testing.assert_allclose(*slopes, rtol=1e-5)


def loops(jaxpr):
    """Lengths of the groups of operands and results of each scan, and how they print."""
    trees = [
        (e.params["ft_in"], e.params["ft_out"]) for e in jaxpr.eqns if e.primitive.name == "scan"
    ]
    return [([len(part) for part in t.unpack()], repr(t)) for pair in trees for t in pair]


def test_groups_of_operands_remain_groups():
    """Those of a loop backwards are a list of lists; it is pruned twice."""

    def backwards(x, y, z):
        def loop(*given):
            return shifting(jitney)(*given)[0]

        return jitney.vjp(loop, x, y, z)[1]((jitney.numpy.ones(()),) * 3)

    jaxpr = jitney.make_jaxpr(backwards)(1.0, 2.0, 3.0).jaxpr
    assert loops(jaxpr)[-2][0] == [0, 3, 0], loops(jaxpr)
    whole, _ = partial_eval.dce_jaxpr(jaxpr, [True] * 3)
    assert loops(whole)[-2:] == loops(jaxpr)[-2:]
    some, _ = partial_eval.dce_jaxpr(jaxpr, [False, True, True])
    assert loops(some)[-2][0] == [0, 2, 0] and loops(some)[-1][0] == [2, 0]
    one, _ = partial_eval.dce_jaxpr(some, [False, True])
    assert loops(one)[-2][0] == [0, 1, 0] and loops(one)[-1][0] == [1, 0]


def test_constants_are_pruned_as_well():
    kept, dropped = np.arange(3.0, dtype=np.float32), np.ones(3, np.float32)
    closed = jitney.make_jaxpr(lambda x, y: (x * kept, y * dropped))(1.0, 2.0)
    pruned, constants, arguments = partial_eval.dce_jaxpr_consts(closed.jaxpr, [True, False])
    assert (constants, arguments) == ([True, False], [True, False])
    (product,) = jitney.core.eval_jaxpr(pruned, closed.consts[:1], 2.0)
    np.testing.assert_array_equal(product, 2 * kept)
    both = partial_eval.dce_jaxpr_consts(closed.jaxpr, [True, False], instantiate=True)
    assert both[1:] == ([True, False], [True, True])


@pytest.mark.parametrize("used", [[True, False], [False, True], [False, False]])
def test_calls_are_pruned(used):
    closed = jitney.make_jaxpr(lambda x, y: (jitney.numpy.sin(x), y * 2.0))(1.0, 3.0)
    (call,) = jitney.make_jaxpr(
        lambda x, y: jitney.extend.core.primitives.call_p.bind(x, y, call_jaxpr=closed)
    )(1.0, 3.0).eqns
    needed, pruned = partial_eval.dce_jaxpr_closed_call_rule(used, [True, True], call)
    assert needed == used
    if not any(used):
        assert pruned is None
    else:
        assert len(pruned.invars) == len(pruned.outvars) == 1
        program = pruned.params["call_jaxpr"]
        (out,) = jitney.core.eval_jaxpr(program.jaxpr, program.consts, 3.0)
        np.testing.assert_allclose(out, np.sin(3.0) if used[0] else 6.0, rtol=1e-6)


def stores(j):
    """Programs that write to references, with their arguments."""
    jnp = j.numpy
    x = jnp.ones(3)

    def arguments(r, s, x):
        r[...] = x
        s[0] = 1.0
        return r[...] * 2, s[1]

    def added(r, s, x):
        r.addupdate(x)
        s[...] = x
        s.addupdate(x)
        return r[...], x

    def called(r, s, x):
        @j.jit
        def f(r, x):
            r[...] = x

        f(r, x)
        return x, s[0]

    def own(r, s, x):
        ref = j.new_ref(x)
        ref[...] = x * 2
        y = ref[...]
        ref[...] = y * 3
        return y, x

    refs = [j.new_ref(x), j.new_ref(x)]
    functions = (arguments, added, called, own)
    return {f.__name__: j.make_jaxpr(f)(*refs, x).jaxpr for f in functions}


@pytest.mark.parametrize("live", [True, False, [True, False, True], [False, True, True]])
@pytest.mark.parametrize("used", [[True, True], [True, False], [False, False]])
def test_dead_stores_are_pruned(used, live):
    def case(j):
        pe = importlib.import_module(f"{j.__name__}.interpreters.partial_eval")
        found = {
            name: pe.dce_jaxpr(program, used, live_inputs=live)
            for name, program in stores(j).items()
        }
        return {name: (str(program), kept) for name, (program, kept) in found.items()}

    ours, theirs = of_both(case, used, live)
    assert ours == theirs
