"""Users' rules for partial evaluation, rematerialization and pruning, beside real jax."""

import importlib

import pytest
from tests.helpers.both import of_both

import jitney
import jitney.numpy as jnp


def modules(j):
    names = ("interpreters.partial_eval", "interpreters.ad", "interpreters.mlir", "extend.core")
    return [importlib.import_module(f"{j.__name__}.{name}") for name in names]


def bilinear(j):
    """A primitive x * y, with its modules."""
    pe, ad, mlir, core = modules(j)
    p = core.Primitive("product")
    p.def_abstract_eval(lambda x, y: x)
    p.def_impl(lambda x, y: x * y)
    mlir.register_lowering(p, mlir.lower_fun(lambda x, y: x * y, multiple_results=False))
    ad.defbilinear(p, lambda ct, x, y: p.bind(ct, y), lambda ct, x, y: p.bind(x, ct))
    return p, pe


def both(case, last=None):
    ours, theirs = of_both(lambda j: case(j, j.numpy), last=last)
    assert ours == theirs
    return ours


def shown(x):
    return round(float(x), 4)


def test_rules_of_partial_evaluation_are_asked():
    def case(j, numpy):
        p, pe = bilinear(j)
        asked = []

        def rule(trace, *tracers):
            assert all(isinstance(t, pe.JaxprTracer) for t in tracers)
            asked.append([
                shown(t.pval.get_known()) if t.is_known() and eager else (t.is_known(), str(t.aval))
                for t in tracers
            ])  # fmt: skip
            return trace.default_process_primitive(p, tracers, {})

        pe.custom_partial_eval_rules[p] = rule
        assert pe.custom_partial_eval_rules[p] is rule

        def f(x, y):
            return p.bind(numpy.sin(x), y)

        eager = True
        found = [shown(j.grad(f)(1.0, 2.0)), [shown(x) for x in j.vjp(f, 1.0, 2.0)[1](1.0)]]
        eager = False
        found += [shown(j.grad(j.jit(f))(1.0, 2.0))]
        found += [shown(j.grad(lambda x: j.lax.fori_loop(0, 2, lambda _, c: f(c, 2.0), x))(1.0))]
        n = len(asked)
        found += [shown(j.grad(j.checkpoint(f))(1.0, 2.0))]
        return asked[:4], len(asked[:n]) >= 6, len(asked) > n, found

    both(case)


def test_rules_may_delay_what_is_known():
    def case(j, numpy):
        p, pe = bilinear(j)

        def later(trace, x, y):
            """The product is computed by the linear program, even if it could be by the first."""
            held = trace.instantiate_const(x)
            assert not held.is_known()
            return trace.default_process_primitive(p, [held, y], {})

        pe.custom_partial_eval_rules[p] = later
        wrapped = importlib.import_module(f"{j.__name__}.extend.linear_util").wrap_init
        info = importlib.import_module(f"{j.__name__}.api_util").debug_info
        fun = lambda x, y: (p.bind(x, y),)  # noqa: E731  # as debug_info wants it
        pvals = [pe.PartialVal.known(numpy.float32(2)), pe.PartialVal.known(numpy.float32(3))]
        jaxpr, outs, _ = pe.trace_to_jaxpr_nounits(
            wrapped(fun, debug_info=info("test", fun, (1.0, 1.0), {})), pvals
        )
        return [e.primitive.name for e in jaxpr.eqns], [out.is_known() for out in outs]

    assert both(case) == (["product"], [False])


def test_rules_of_this_package_are_handed_out_as_users():
    def case(j, numpy):
        pe, *_ = modules(j)
        jit_p = importlib.import_module(f"{j.__name__}.extend.core.primitives").jit_p
        own = pe.custom_partial_eval_rules[jit_p]
        asked = []

        def rule(trace, *tracers, **params):
            asked.append([t.is_known() for t in tracers])
            return own(trace, *tracers, **params)

        pe.custom_partial_eval_rules[jit_p] = rule
        try:
            return shown(j.grad(j.jit(lambda x: numpy.sin(x) * 2))(1.0)), [False] in asked
        finally:
            pe.custom_partial_eval_rules[jit_p] = own

    both(case)


def test_rules_of_rematerialization_are_asked():
    def case(j, numpy):
        pe, ad, mlir, core = modules(j)
        p = core.Primitive("half")
        p.def_abstract_eval(lambda x: x)
        p.def_impl(lambda x: x / 2)
        mlir.register_lowering(p, mlir.lower_fun(lambda x: x / 2, multiple_results=False))
        ad.deflinear2(p, lambda ct, _: [p.bind(ct)])
        asked = []

        def kept(saveable, unks_in, inst_in, eqn):
            if any(unks_in):
                return None, eqn, [True], [True], []
            asked.append(
                (list(unks_in), saveable(p, *[v.aval for v in eqn.invars], **eqn.params) is True)
            )
            return eqn, None, [False], [False], list(eqn.outvars)

        def computed(j, f):
            policy = j.checkpoint_policies.nothing_saveable
            grad = j.make_jaxpr(j.grad(j.checkpoint(f, policy=policy)))(1.0)
            (late,) = [e for e in grad.eqns if e.primitive.name in ("remat2", "checkpoint")]
            return [e.primitive.name for e in late.params["jaxpr"].eqns].count("half")

        def f(x):
            return numpy.sin(p.bind(numpy.sin(x)))

        before = computed(j, f)
        pe.partial_eval_jaxpr_custom_rules[p] = kept
        return before, computed(j, lambda x: f(x)), asked

    both(case)


def pruned(j):
    pe, _, mlir, core = modules(j)
    p = core.Primitive("two")
    p.multiple_results = True

    def results(x, y, *, keep):
        return [a for a, k in zip((x * 2, y * 3), keep, strict=True) if k]

    p.def_abstract_eval(lambda x, y, *, keep: [x, y][: sum(keep)])
    p.def_impl(results)
    mlir.register_lowering(p, mlir.lower_fun(results))
    asked = []

    def rule(used, live, eqn):
        asked.append(list(used))
        assert live == [True, True]
        if not any(used):
            return [False, False], None
        outs = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
        left = iter(used)
        keep = tuple([k and next(left) for k in eqn.params["keep"]])
        return [True, True], eqn.replace(outvars=outs, params={"keep": keep})

    pe.dce_rules[p] = rule
    assert pe.dce_rules[p] is rule
    return p, pe, asked


@pytest.mark.parametrize("used", [[True, False], [False, True], [True, True], [False, False]])
def test_rules_of_pruning_are_asked(used):
    def case(j, numpy):
        p, pe, asked = pruned(j)

        def f(x, y):
            return p.bind(x, y, keep=(True, True))

        programs = [j.make_jaxpr(g)(1.0, 2.0).jaxpr for g in (f, j.jit(f))]
        found = [str(pe.dce_jaxpr(program, used)) for program in programs]
        return found, used in asked, all(used == these for these in asked)

    both(case)


def test_own_pruning_asks_users_rules():
    p, _, asked = pruned(jitney)
    f = jitney.checkpoint(lambda x: jnp.sin(p.bind(x, 2.0, keep=(True, True))[0]))
    modules(jitney)[1].primitive_jvps[p] = lambda primals, tangents, keep: (
        p.bind(*primals, keep=keep), [2 * tangents[0], jnp.zeros(())],
    )  # fmt: skip
    assert shown(jitney.grad(f)(1.0)) == shown(2 * jnp.cos(2.0))
    assert [True, False] in asked


def test_rules_of_pruning_without_live_operands():
    """Up to JAX 0.10 a rule had two arguments."""
    p, pe, _ = pruned(jitney)
    rule = pe.dce_rules[p]
    pe.dce_rules[p] = lambda used, eqn: rule(used, [True, True], eqn)
    program = jitney.make_jaxpr(lambda x, y: p.bind(x, y, keep=(True, True)))(1.0, 2.0)
    smaller, used = pe.dce_jaxpr(program.jaxpr, [False, True])
    assert used == [True, True]
    assert smaller.eqns[0].params["keep"] == (False, True)


def test_signatures_of_rules_are_found_once(monkeypatch):
    """When a rule is entered: a program may have thousands of equations."""
    p, pe, _ = pruned(jitney)
    program = jitney.make_jaxpr(lambda x, y: p.bind(x, jnp.sin(y), keep=(True, True)))(1.0, 2.0)

    def signature(rule):
        raise AssertionError(f"the signature of {rule} is looked at again")

    monkeypatch.setattr("inspect.signature", signature)
    smaller, used = pe.dce_jaxpr(program.jaxpr, [False, True])
    assert used == [True, True]
    assert smaller.eqns[-1].params["keep"] == (False, True)
