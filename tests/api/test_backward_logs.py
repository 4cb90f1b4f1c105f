"""Logs of backward passes: `VJP.with_logs`, and what writes to them."""

from functools import partial

import numpy as np
import pytest
from tests.helpers.both import Cases, check

import jitney as jtn
import jitney.numpy as jnp

cases = Cases()
errors = Cases()


def logging(jax, jnp, entries):
    """sin(x) * y, whose backward rule logs `entries(residuals, ct)`."""

    @jax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    def bwd(residuals, ct):
        x, y = residuals
        return (jnp.cos(x) * y * ct, jnp.sin(x) * ct), entries(residuals, ct)

    f.defvjp_with_logs(lambda x, y: (jnp.sin(x) * y, (x, y)), bwd)
    return f


def watched(jax, jnp, name="ct"):
    """The same, which logs the cotangent of its result under `name`."""
    return logging(jax, jnp, lambda residuals, ct: {name: ct * 1})


def shown(x):
    """Values as lists, sums of branches as tuples, with their structure."""
    if type(x).__name__ == "CondSum":
        return "branches", shown(x.index), [shown(b) for b in x.branches]
    if isinstance(x, dict):
        return {k: shown(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(shown(v) for v in x)
    return x


def pulled(jax, fun, *args, ct=1.0):
    """Cotangents and log at `args`, of all leaves of the result for the cotangent `ct`."""
    _, pullback = jax.vjp(fun, *args)
    # JAX logs numbers as they are.
    return shown(pullback.with_logs(jax.tree.map(jax.numpy.asarray, ct)))


def repeated(jax, f, length=3, **options):
    return lambda x: jax.lax.scan(lambda c, _: (f(c, c), None), x, None, length=length, **options)[
        0
    ]


def one(f):
    """`f` of twice the same argument."""
    return lambda x: f(x, x)


# --- what is logged -------------------------------------------------------------------------------


@cases
def entries_of_two_functions(jax, jnp):
    f, g = watched(jax, jnp), watched(jax, jnp, "g")
    return pulled(jax, lambda x: f(x, x) + 3.0 * g(x, 2 * x), 1.0)


@cases
def nothing(jax, jnp):
    silent = logging(jax, jnp, lambda *_: None)
    empty = logging(jax, jnp, lambda *_: {})

    def twice(x):
        return silent(x, x) + empty(x, x) + silent(x, x) + empty(x, x)

    return [pulled(jax, jnp.sin, 1.0), pulled(jax, twice, 1.0), pulled(jax, jax.jit(twice), 1.0)]


@cases
def trees(jax, jnp):
    f = logging(jax, jnp, lambda r, ct: {"a": {"r": r, "n": None}, 3: [ct * 2, jnp.arange(2)]})
    return pulled(jax, jax.jit(lambda x: 1.0 * f(x, 2 * x)), 1.0)[1][3]


@cases
def numbers_and_other_objects(jax, jnp):
    f = logging(jax, jnp, lambda *_: {"n": [3, 2.0, True, 1j, "text", None]})
    return pulled(jax, f, 1.0, 2.0)[1]


@cases
def numbers_in_programs(jax, jnp):
    f = logging(jax, jnp, lambda *_: {"n": [3, 2.0, 1j]})
    return [pulled(jax, jax.jit(f), 1.0, 2.0)[1], pulled(jax, repeated(jax, f), 1.0)[1]]


@cases
def names_of_other_kinds(jax, jnp):
    names = (3, None, ("a", 1))
    return [list(pulled(jax, jax.jit(watched(jax, jnp, n)), 1.0, 2.0)[1]) == [n] for n in names]


@cases
def special_values_and_dtypes(jax, jnp):
    f = watched(jax, jnp)
    low = ("float16", "bfloat16")
    special = jnp.array([0.0, -0.0, jnp.inf, jnp.nan, 1e-37])
    return [
        pulled(jax, jax.jit(f), jnp.ones(5), jnp.ones(5), ct=special),
        *(pulled(jax, repeated(jax, f), jnp.ones(2, d), ct=jnp.ones(2, d))[1] for d in low),
        pulled(jax, f, jnp.zeros((0, 3)), jnp.zeros((0, 3)), ct=jnp.zeros((0, 3))),
    ]  # fmt: skip


@cases
def rules_that_are_not_run(jax, jnp):
    f = watched(jax, jnp)

    def outs(c, x):
        return (c * x, f(x, x))

    return [
        pulled(jax, lambda x: (f(x, x), x)[1] * 1.0, 1.0),
        pulled(jax, lambda x: f(1.0, 1.0) + x * x, 1.0),
        pulled(jax, lambda x: jax.jit(outs)(x, x)[0], 1.0),
        pulled(jax, lambda x: jax.checkpoint(outs)(x, x)[0], 1.0),
        pulled(jax, lambda x: jax.lax.cond(x > 0, outs, lambda c, x: (c, x), x, x)[0], 1.0),
        pulled(jax, lambda x: jax.lax.scan(lambda c, y: outs(c, y * x), 1.0, jnp.ones(3))[0], 1.0),
        # A cotangent that is zero by its value gets there.
        pulled(jax, lambda x: (f(x, x), x * x), 1.0, ct=(0.0, 1.0)),
    ]


# --- compositions ---------------------------------------------------------------------------------


@cases
def jit_and_checkpoint(jax, jnp):
    f = watched(jax, jnp)

    def g(x):
        return f(jnp.sin(x), x) * 2.0

    saved = partial(jax.checkpoint, policy=jax.checkpoint_policies.everything_saveable)
    ways = (jax.jit, jax.checkpoint, saved, lambda h: jax.jit(jax.checkpoint(jax.jit(h))))
    outside = jax.jit(lambda x, ct: jax.vjp(g, x)[1].with_logs(ct))(1.0, 2.0)
    handed_over = jax.jit(lambda pullback, ct: pullback.with_logs(ct))(jax.vjp(g, 1.0)[1], 2.0)
    return [*(pulled(jax, way(g), 1.0, ct=2.0) for way in ways), outside, handed_over]


@cases
def loops(jax, jnp):
    f = watched(jax, jnp)

    def rows(**options):
        return lambda xs: jax.lax.scan(lambda c, x: (f(c, x), c * x), 1.0, xs, **options)

    cts, options = (1.0, jnp.ones(3)), ({}, {"reverse": True}, {"unroll": 2})

    def nested(x):
        return jax.lax.scan(lambda c, _: (repeated(jax, f, 2)(c), None), x, None, length=3)[0]

    return [
        *(pulled(jax, rows(**o), jnp.arange(3.0), ct=cts) for o in options),
        pulled(jax, rows(), jnp.zeros(0), ct=(1.0, jnp.zeros(0))),
        pulled(jax, nested, 1.0),
        pulled(jax, jax.checkpoint(repeated(jax, jax.checkpoint(f))), 1.0),
        pulled(jax, lambda x: jax.lax.fori_loop(0, 3, lambda i, c: f(c, c), x), 1.0),
        pulled(jax, lambda xs: jax.lax.map(one(f), xs), jnp.arange(3.0), ct=jnp.ones(3)),
        pulled(jax, lambda w: jax.lax.scan(lambda c, _: (f(c, w), None), 1.0, None, length=3)[0], 1.0),
    ]  # fmt: skip


def branching(jax, p, *branches):
    return lambda x: (
        jax.lax.switch(p, branches, x) if len(branches) > 2 else jax.lax.cond(p, *branches, x)
    )


@cases
def branches(jax, jnp):
    f, g = watched(jax, jnp), watched(jax, jnp, "g")
    tree = logging(jax, jnp, lambda r, ct: {"ct": {"a": ct * 1, "b": (jnp.arange(2), None)}})

    def same(x):
        return x

    out = []
    for p in (True, False):
        out += [
            pulled(jax, branching(jax, p, one(f), same), 1.0),
            pulled(jax, branching(jax, p, one(f), lambda x: f(x, 3 * x)), 1.0),
            pulled(jax, branching(jax, p, one(f), lambda x: g(x, 3 * x)), 1.0),
            pulled(jax, branching(jax, p, one(tree), one(f)), 1.0),
            pulled(jax, branching(jax, p, one(f), lambda x: 1.0), 1.0),
            jax.jit(lambda p: jax.grad(branching(jax, p, one(f), one(g)))(1.0))(p),
        ]  # fmt: skip

    def single(x):
        return 2.0 * jax.lax.switch(0, [one(f)], x)

    def three(i):
        return branching(jax, i, one(f), one(g), same)

    in_program = jax.jit(lambda i: shown(jax.vjp(three(i), 1.0)[1].with_logs(1.0))[1]["g"][2][1])(7)
    return [
        *out,
        pulled(jax, single, 1.0),
        *(pulled(jax, three(i), 1.0) for i in (-1, 1, 7)),
        in_program,
    ]


@cases
def branches_within_and_around(jax, jnp):
    f = watched(jax, jnp)

    def same(x):
        return x

    def inner(x):
        return jax.lax.cond(x > 0, one(f), same, x)

    def steps(x):
        step = lambda c, i: (jax.lax.cond(i > 1, one(f), lambda x: 2 * x, c), None)  # noqa: E731
        return jax.lax.scan(step, x, jnp.arange(3))[0]

    return [
        pulled(jax, branching(jax, True, inner, one(f)), 1.0),
        pulled(jax, branching(jax, True, repeated(jax, f), one(f)), 1.0),
        pulled(jax, steps, 1.0),
        pulled(jax, jax.checkpoint(inner), 1.0)[1]["ct"][2],
    ]


@cases
def vmap_of_the_function(jax, jnp):
    f, g = watched(jax, jnp), watched(jax, jnp, "g")
    constant = logging(jax, jnp, lambda *_: {"one": 1.0})
    summed = logging(jax, jnp, lambda r, ct: {"sum": jax.lax.psum(ct, "i")})
    ones, xs = jnp.ones(3), jnp.arange(3.0)

    def chosen(p, x):
        return jax.lax.cond(p, one(f), lambda x: g(x, 2 * x), x)

    def shared(x):
        return jax.vmap(branching(jax, True, one(f), lambda x: f(x, 2 * x)))(x)

    return [
        pulled(jax, jax.vmap(f), xs, ones, ct=ones),
        pulled(jax, jax.vmap(f, (1, None), 1), jnp.ones((2, 3)), jnp.ones(2), ct=jnp.ones((2, 3))),
        pulled(jax, jax.vmap(constant), xs, ones, ct=ones),
        pulled(jax, jax.vmap(summed, axis_name="i"), xs, ones, ct=xs),
        pulled(jax, lambda x: jax.vmap(f, (None, None), axis_size=3)(x, x), 1.0, ct=xs),
        pulled(jax, jax.vmap(jax.vmap(f)), jnp.ones((2, 3)), jnp.ones((2, 3)), ct=jnp.ones((2, 3))),
        pulled(jax, jax.vmap(jax.jit(f)), jnp.zeros(0), jnp.zeros(0), ct=jnp.zeros(0)),
        pulled(jax, jax.vmap(repeated(jax, f)), jnp.arange(2.0), ct=jnp.ones(2)),
        pulled(jax, shared, jnp.arange(2.0), ct=jnp.ones(2)),
        # All branches run, so both log.
        pulled(jax, jax.vmap(chosen), jnp.array([True, False]), jnp.arange(2.0), ct=jnp.ones(2))[1],
    ]  # fmt: skip


@cases
def vmap_of_the_pullback(jax, jnp):
    f = watched(jax, jnp)

    def chosen(p, x):
        return pulled(jax, branching(jax, p, one(f), lambda x: f(x, 2 * x)), x)[1]

    indices, entries = jax.vmap(lambda p, x: chosen(p, x)["ct"][1:])(
        jnp.array([True, False]), jnp.arange(2.0)
    )
    return [
        jax.vmap(lambda x, y: jax.vjp(f, x, y)[1].with_logs(1.0))(jnp.arange(3.0), jnp.ones(3)),
        jax.vmap(jax.vjp(one(f), jnp.arange(3.0))[1].with_logs)(jnp.eye(3)),
        indices, entries,
    ]  # fmt: skip


@cases
def derivatives_that_drop_the_log(jax, jnp):
    f = watched(jax, jnp)

    def matvec(x):
        return f(1.0, x)

    def solve(b):
        return jax.lax.custom_linear_solve(matvec, b, lambda _, b: b / jnp.sin(1.0), symmetric=True)

    linear = jax.linearize(repeated(jax, f), 1.0)[1]
    return [
        jax.grad(f)(1.0, 2.0), jax.jacrev(f)(1.0, 2.0), jax.vjp(f, 1.0, 2.0)[1](1.0),
        jax.grad(jax.grad(f))(1.0, 2.0), jax.linear_transpose(linear, 1.0)(1.0),
        pulled(jax, solve, 1.0),
    ]  # fmt: skip


@cases
def pullbacks_within(jax, jnp):
    f, g = watched(jax, jnp), watched(jax, jnp, "g")
    squared = logging(jax, jnp, lambda r, ct: {"ct": r[0] * r[1] * ct})

    def of_inner(x):
        (ct,), log = jax.vjp(lambda z: squared(z, x), x)[1].with_logs(1.0)
        return ct * log["ct"] + log["ct"]

    def with_rule(log):
        h = jax.custom_vjp(one(f))
        h.defvjp_with_logs(
            lambda x: (f(x, x), jax.vjp(f, x, x)[1]), lambda r, ct: ((ct * 1,), log(r, ct))
        )
        return h

    return [
        of_inner(2.0), jax.grad(of_inner)(2.0), jax.jvp(of_inner, (2.0,), (1.0,)),
        pulled(jax, of_inner, 2.0), pulled(jax, lambda x: of_inner(x) * g(x, x), 2.0),
        pulled(jax, lambda x: f(x, x) * jax.grad(f)(x, x), 1.0),
        pulled(jax, with_rule(lambda r, ct: {"ct": r(ct)[0]}), 1.0),
        pulled(jax, with_rule(lambda r, ct: r.with_logs(ct)[1]), 1.0, ct=jnp.float32(2)),
    ]  # fmt: skip


@cases
def second_derivatives_by_logs(jax, jnp):
    g = watched(jax, jnp, "g")
    h = jax.custom_vjp(lambda x: x)
    h.defvjp_with_logs(lambda x: (x, x), lambda r, ct: ((g(ct, r),), {"ct": ct * ct}))
    _, pullback = jax.vjp(lambda x: jax.vjp(h, x)[1].with_logs(x), 2.0)
    return pullback.with_logs(((jnp.asarray(1.0),), {"ct": jnp.asarray(1.0)}))


# --- rules of other kinds -------------------------------------------------------------------------


@cases
def rules_with_accumulators(jax, jnp):
    f = jax.custom_vjp(lambda x, y: x * y)

    def bwd(residuals, ct, x, y):
        x.accum(ct * residuals[1])
        y.accum(ct * residuals[0])
        return {"ct": ct * 1}

    f.defvjp_with_accums(lambda x, y: (x * y, (x, y)), bwd)
    ones = jnp.ones(2)
    return [
        pulled(jax, f, 2.0, 3.0), pulled(jax, jax.jit(f), 2.0, 3.0), pulled(jax, repeated(jax, f), 2.0),
        pulled(jax, jax.vmap(f), ones, ones, ct=ones),
    ]  # fmt: skip


@cases
def rules_with_options(jax, jnp):
    pair = jax.custom_vjp(lambda x: (x, x))
    pair.defvjp_with_logs(
        lambda x: ((x.value, x.value), None), lambda _, ct: ((ct[0],), {"zero": type(ct[1]).__name__}),
        symbolic_zeros=True,
    )  # fmt: skip
    slow = jax.custom_vjp(lambda x: x)
    slow.defvjp_with_logs(
        lambda x: (x, None), lambda _, ct: ((ct,), {"ct": ct}), optimize_remat=True
    )
    return [
        pulled(jax, lambda x: pair(x)[0] * 1.0, 1.0),
        pulled(jax, jax.checkpoint(jax.jit(lambda x: slow(x))), 1.0),
    ]


def product(jax):
    """A product, as an operation of a user's that logs the cotangent of its result."""
    hijax = __import__(f"{jax.__name__}.experimental.hijax", fromlist=["HiPrim"])

    class Product(hijax.HiPrim):
        def __init__(self, aval):
            self.in_avals, self.out_aval, self.params = (aval, aval), aval, {}
            super().__init__()

        def expand(self, x, y):
            return x * y

        def vjp_fwd(self, nonzeros, x, y):
            return self(x, y), (x, y)

        def vjp_bwd(self, residuals, ct, x, y):
            x.accum(ct * residuals[1])
            y.accum(ct * residuals[0])
            return {"ct": ct}

        def batch_dim_rule(self, axis_data, dims):
            return 0

    return lambda x, y: Product(jax.typeof(x))(x, y)


@cases
def operations_of_users(jax, jnp):
    f = product(jax)
    two, three, ct = map(jnp.float32, (2, 3, 1))
    ways = (f, jax.jit(f))
    return [
        *(pulled(jax, g, two, three, ct=ct) for g in ways),
        pulled(jax, repeated(jax, f), two, ct=ct),
    ]


@cases
def call_primitives(jax, jnp):
    core = __import__(f"{jax.__name__}.extend.core", fromlist=["Primitive"])
    f = watched(jax, jnp)
    marked = core.create_call_primitive("marked")
    of_f, doubled = jax.make_jaxpr(lambda x: [f(x, x)])(1.0), jax.make_jaxpr(lambda x: [x * 2])(1.0)

    def with_rule(name, rule):
        prim = core.Primitive(name)
        prim.multiple_results = True
        core.register_call_primitive_rules(prim, name, partial(rule, prim))
        return prim

    def own(prim, cts, *args, call_jaxpr):
        args[-1].accum(cts[0] * 2)
        return {"own": cts[0] * 3}

    passing, replacing = (
        with_rule("passing", core.eval_jaxpr_transpose),
        with_rule("replacing", own),
    )

    def called(prim, program):
        return pulled(jax, lambda x: prim.bind(x, call_jaxpr=program)[0], 1.0)

    return [called(marked, of_f), called(passing, of_f), called(replacing, doubled)]


# --- VJP ------------------------------------------------------------------------------------------


@cases
def pullbacks_with_logs(jax, jnp):
    f = watched(jax, jnp)
    pullback = jax.vjp(f, 1.0, 2.0)[1]
    logged = pullback.with_logs
    has_aux = jax.vjp(lambda x: (f(x, x), 3), 1.0, has_aux=True)
    ct, structure = jnp.asarray(1.0), jax.tree.structure
    return [
        pullback.want_logs, logged.want_logs, logged.with_logs(ct), logged(out_ct=ct), pullback(ct),
        has_aux[1].with_logs(ct), has_aux[2],
        structure(pullback) == structure(logged), structure(logged.with_logs) == structure(logged),
    ]  # fmt: skip


@cases
def pullbacks_with_references(jax, jnp):
    ad, f = jax.ad, watched(jax, jnp)
    logged = jax.vjp(f, 1.0, 2.0)[1].with_logs
    ref = jax.new_ref(0.0)
    beside = jax.vjp(lambda x, y: f(x, x) + y, 1.0, 2.0)[1].with_logs
    ct = jnp.asarray(1.0)
    return [
        logged.with_refs(ad.DontWant(), ad.GradValue())(ct), logged.with_refs(ref, ad.DontWant())(ct),
        ref[...], logged.with_refs(ad.DontWant(), ad.DontWant())(ct)[1],
        beside.with_refs(ad.DontWant(), ad.GradValue())(ct)[1],
    ]  # fmt: skip


@pytest.mark.parametrize("case", cases.all, ids=cases.ids)
def test_logs(case):
    check(case)


# --- errors ---------------------------------------------------------------------------------------


def twice(jax, jnp):
    f = watched(jax, jnp)
    return lambda x: f(x, x) + f(x, 2 * x)


@errors
def twice_the_same_name(jax, jnp):
    return jax.vjp(twice(jax, jnp), 1.0)[1].with_logs(1.0)


@errors
def twice_the_same_name_in_grad(jax, jnp):
    return jax.grad(twice(jax, jnp))(1.0)


@errors
def twice_the_same_name_in_a_program(jax, jnp):
    return jax.grad(jax.jit(twice(jax, jnp)))(1.0)


@errors
def twice_the_same_name_in_a_loop(jax, jnp):
    f = twice(jax, jnp)
    return jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0])(1.0)


@errors
def twice_the_same_name_in_checkpoint(jax, jnp):
    return jax.grad(jax.checkpoint(twice(jax, jnp)))(1.0)


@errors
def twice_the_same_name_in_vmap(jax, jnp):
    return jax.vjp(jax.vmap(twice(jax, jnp)), jnp.ones(2))[1](jnp.ones(2))


@errors
def two_calls_of_a_program(jax, jnp):
    f = watched(jax, jnp)
    h = jax.jit(one(f))
    return jax.grad(lambda x: h(x) + h(x))(1.0)


@errors
def a_loop_that_is_unrolled_by_hand(jax, jnp):
    f = watched(jax, jnp)
    with jax.disable_jit():
        return jax.grad(repeated(jax, f))(1.0)


@errors
def branches_that_all_run(jax, jnp):
    f = watched(jax, jnp)

    def chosen(p, x):
        return jax.lax.cond(p, one(f), lambda x: f(x, 2 * x), x)

    return jax.vjp(jax.vmap(chosen), jnp.array([True, False]), jnp.ones(2))[1](jnp.ones(2))


@errors
def rows_in_batches_and_a_remainder(jax, jnp):
    f = watched(jax, jnp)
    return jax.vjp(lambda xs: jax.lax.map(one(f), xs, batch_size=2), jnp.ones(3))[1](jnp.ones(3))


@errors
def names_that_cannot_be_sorted(jax, jnp):
    f, g = watched(jax, jnp, 3), watched(jax, jnp, "a")
    return jax.vjp(jax.jit(lambda x: f(x, x) + g(x, x)), 1.0)[1].with_logs(1.0)


@errors
def a_subclass_of_dict(jax, jnp):
    f = logging(jax, jnp, lambda r, ct: __import__("collections").OrderedDict(ct=ct))
    return jax.grad(f)(1.0, 2.0)


@errors
def text_in_a_program(jax, jnp):
    return jax.grad(jax.jit(logging(jax, jnp, lambda *_: {"a": "text"})))(1.0, 2.0)


@errors
def text_in_a_loop(jax, jnp):
    return jax.grad(repeated(jax, logging(jax, jnp, lambda *_: {"a": "text"})))(1.0)


@errors
def text_in_a_branch(jax, jnp):
    f = logging(jax, jnp, lambda *_: {"a": "text"})
    return jax.grad(branching(jax, True, one(f), lambda x: x))(1.0)


@errors
def text_in_vmap(jax, jnp):
    f = logging(jax, jnp, lambda *_: {"a": "text"})
    return jax.vjp(jax.vmap(f), jnp.ones(2), jnp.ones(2))[1](jnp.ones(2))


@errors
def no_cotangent(jax, jnp):
    return jax.vjp(jnp.sin, 1.0)[1].with_logs()


@errors
def two_cotangents(jax, jnp):
    return jax.vjp(jnp.sin, 1.0)[1].with_logs(1.0, 2.0)


@errors
def another_structure(jax, jnp):
    return jax.vjp(jnp.sin, 1.0)[1].with_logs((1.0,))


@errors
def forward_mode(jax, jnp):
    return jax.linearize(watched(jax, jnp), 1.0, 2.0)[1](1.0, 1.0)


@pytest.mark.parametrize("case", errors.all, ids=errors.ids)
def test_errors(case):
    check(case)


def test_messages_name_the_entry_and_the_cure():
    with pytest.raises(
        ValueError, match=r"'ct' exists already when the transpose of custom_lin.*lax\.scan"
    ):
        jtn.grad(twice(jtn, jnp))(1.0)
    f = logging(jtn, jnp, lambda *_: [1])
    with pytest.raises(
        TypeError, match=r"custom_vjp of f: its backward rule bwd.*dict, or None.*\[1\]"
    ):
        jtn.grad(f)(1.0, 2.0)


def test_vmap_of_operations_of_users():
    """By `batch_dim_rule`, which is an attribute of jitney; JAX asks for `batch`."""
    _, pullback = jtn.vjp(jtn.vmap(product(jtn), (0, None)), jnp.arange(3.0), jnp.float32(2))
    cotangents, log = pullback.with_logs(jnp.arange(3.0))
    assert [x.tolist() for x in (*cotangents, log["ct"])] == [[0.0, 2.0, 4.0], 5.0, [0.0, 1.0, 2.0]]


# --- differences from JAX -------------------------------------------------------------------------


def test_symbolic_zeros_in_the_log_of_a_program_are_arrays():
    """JAX 0.12.0.1 raises TypeError."""
    f = jtn.custom_vjp(lambda x: (x, x))
    f.defvjp_with_logs(
        lambda x: ((x.value, x.value), None), lambda _, ct: ((ct[0],), {"ct": ct}), symbolic_zeros=True
    )  # fmt: skip
    _, log = jtn.vjp(jtn.jit(lambda x: f(x)[0]), 1.0)[1].with_logs(3.0)
    assert [float(ct) for ct in log["ct"]] == [3.0, 0.0]


def test_a_pullback_that_adds_to_references_can_log():
    """In JAX 0.12.0.1 what `with_refs` returns has no `with_logs`."""
    ad = jtn.ad
    pullback = jtn.vjp(watched(jtn, jnp), 1.0, 2.0)[1].with_refs(ad.DontWant(), ad.GradValue())
    cotangents, log = pullback.with_logs(2.0)
    assert isinstance(cotangents[0], ad.DidntWant) and float(log["ct"]) == 2.0
    np.testing.assert_allclose(cotangents[1], 2 * np.sin(1.0), rtol=1e-6)


def test_logs_that_are_dropped_cost_compiled_programs_nothing():
    f = watched(jtn, jnp)
    logged = logging(jtn, jnp, lambda r, ct: {"sum": jnp.sum(jnp.exp(r[0] * ct))})
    silent = logging(jtn, jnp, lambda *_: None)
    ones = jnp.ones(8)

    def kernels(g):
        def loop(x):
            return repeated(jtn, g)(x).sum()

        return jtn.jit(jtn.grad(loop)).lower(ones).as_text("kernels")

    assert kernels(logged) == kernels(silent) == kernels(f)
    assert "exp" not in kernels(logged)
