"""Names of `jax.interpreters` that came with JAX 0.12."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import Cases, check

import jitney
import jitney.numpy as jnp
from jitney.core.tracing.trace import TraceTag
from jitney.core.types import avals
from jitney.extend import linear_util
from jitney.interpreters import ad, batching, mlir, partial_eval

same = Cases()


def module(jax, name):
    return importlib.import_module(f"{jax.__name__}.{name}")


# --- derivatives ----------------------------------------------------------------------------------


def product(x, y):
    return [jnp.sin(x) * y, y]


def test_linearize_returns_a_program_of_tangents():
    outs, zeros, jaxpr, residuals, logs = ad.linearize(product, (1.0, 2.0))
    np.testing.assert_allclose(outs.vals, [2 * np.sin(1.0), 2.0], rtol=1e-6)
    assert outs.unflatten() == list(outs.vals) and zeros == [False, False] and logs == []
    assert len(jaxpr.invars) == len(residuals) + 2 and not jaxpr.constvars
    tangents = jitney.core.eval_jaxpr(jaxpr, (), *residuals, 1.0, 10.0)
    expected = jitney.jvp(product, (1.0, 2.0), (1.0, 10.0))[1]
    np.testing.assert_allclose(tangents, expected, rtol=1e-6)


def test_linearize_in_some_arguments():
    _, zeros, jaxpr, residuals, _ = ad.linearize(product, (1.0, 2.0), in_nzs=[True, False])
    assert zeros == [False, True] and len(jaxpr.outvars) == 1
    (tangent,) = jitney.core.eval_jaxpr(jaxpr, (), *residuals, 1.0, 5.0)
    np.testing.assert_allclose(tangent, 2 * np.cos(1.0), rtol=1e-6)
    _, zeros, jaxpr, residuals, _ = ad.linearize(product, (1.0, 2.0), in_nzs=[False, False])
    assert zeros == [True, True] and residuals == [] and len(jaxpr.invars) == 2


def test_linearize_takes_pytrees_and_wrapped_functions():
    info = jitney.api_util.debug_info("test", product, (1.0, 2.0), {})
    wrapped = linear_util.wrap_init(lambda x: (x["a"] * x["a"], "aside"), debug_info=info)
    leaves, tree = jitney.tree.flatten(({"a": 3.0},))
    found = ad.linearize(wrapped, avals.FlatValues(tuple(leaves), tree), has_aux=True, is_vjp=True)
    assert found[5] == "aside" and float(found[0].unflatten()) == 9.0
    jaxpr, residuals = found[2:4]
    assert jitney.core.eval_jaxpr(jaxpr, (), *residuals, 1.0)[0] == 6.0


# --- batching -------------------------------------------------------------------------------------


@same
def stages_that_batch(jax, jnp):
    lu, batch = module(jax, "extend.linear_util"), module(jax, "interpreters.batching")
    private = [module(jax, f"_src.{name}") for name in ("core", "interpreters.batching")]
    info = jax.api_util.debug_info("test", abs, (1.0,), {})
    f = lu.wrap_init(lambda x, y: [jnp.sin(x) * y, y], debug_info=info)
    axis = private[1].AxisData("i", 3, None, None)
    found = []
    for dims, y in (((0, None), 2.0), ((0, 1), jnp.ones((2, 3))), (lambda: (None, 0), jnp.ones(3))):
        batched, out_dims = batch.batch_subtrace(f, private[0].TraceTag(), axis, dims)
        found += [batched.call_wrapped(jnp.arange(3.0), y), out_dims()]
    batched, out_dims = batch.batch_subtrace(f)
    args = private[0].TraceTag(), axis, (0, None), jnp.arange(3.0), 2.0
    return found, batched.call_wrapped(*args), out_dims()


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_like_jax(case):
    check(case)


def test_stages_that_batch_name_their_axis():
    info = jitney.api_util.debug_info("test", abs, (1.0,), {})
    f = linear_util.wrap_init(lambda x: [jitney.lax.psum(x, "i")], debug_info=info)
    batched, dims = batching.batch_subtrace(f, TraceTag(), batching.AxisData("i", 3), (0,))
    assert float(batched.call_wrapped(jnp.arange(3.0))[0]) == 3.0 and dims() == (None,)


# --- partial evaluation ---------------------------------------------------------------------------


def doubling(name):
    prim = jitney.extend.core.Primitive(name)
    prim.def_impl(lambda x: x * 2)
    prim.def_abstract_eval(lambda x: jitney.core.ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: x * 2, multiple_results=False))
    ad.deflinear2(prim, lambda ct, x: [prim.bind(ct)])
    return prim


def unknown(trace, x):
    return partial_eval.JaxprTracer(trace, partial_eval.PartialVal.unknown(x.aval), None)


def recipe(trace, x, out, prim):
    line = jitney.extend.source_info_util.current()
    return partial_eval.new_eqn_recipe(trace, [x], [out], prim, {}, set(), line)


def test_rules_define_equations():
    prim = doubling("doubled_by_a_rule")
    parents = []

    def rule(trace, x):
        out = unknown(trace, x)
        assert out.parents == []
        out.recipe = recipe(trace, x, out, prim)
        parents.append((out.parents, x))
        return out

    partial_eval.custom_partial_eval_rules[prim] = rule
    info = jitney.api_util.debug_info("test", abs, (1.0, 1.0), {})
    f = linear_util.wrap_init(lambda x, y: [prim.bind(x) + y, prim.bind(y)], debug_info=info)
    aval = jitney.core.ShapedArray((), np.float32)
    known = partial_eval.PartialVal.known(np.float32(3))
    jaxpr, pvals, consts = partial_eval.trace_to_jaxpr_nounits(
        f, [partial_eval.PartialVal.unknown(aval), known]
    )
    assert [p.is_known() for p in pvals] == [False, False]  # also that of the known operand
    outs = jitney.core.eval_jaxpr(jaxpr, consts, np.float32(1))
    assert [float(x) for x in outs] == [5.0, 6.0]
    assert all(list(operands) == [x] for operands, x in parents)
    assert float(jitney.grad(lambda x: prim.bind(jnp.sin(x)))(0.0)) == 2.0


def test_a_recipe_must_be_of_its_tracer():
    prim = doubling("doubled_by_a_wrong_rule")

    def rule(trace, x):
        out = unknown(trace, x)
        other = unknown(trace, x)
        out.recipe = recipe(trace, x, other, prim)
        return out

    partial_eval.custom_partial_eval_rules[prim] = rule
    with pytest.raises(ValueError, match="is not among its `out_tracers`"):
        jitney.grad(prim.bind)(1.0)


def test_programs_are_lowered_to_arrays():
    closed = jitney.make_jaxpr(lambda x: (jnp.sin(x), x))(1.0)
    lowered, results = partial_eval.lower_jaxpr(closed, closed.in_avals)
    assert lowered is closed and [r.vals for r in results] == [(a,) for a in closed.out_avals]
    leaves, tree = jitney.tree.flatten(list(closed.in_avals))
    again, _ = partial_eval.lower_jaxpr(closed, avals.FlatValues(tuple(leaves), tree))
    assert again is closed
    with pytest.raises(TypeError, match="`lo_avals` is"):
        partial_eval.lower_jaxpr(closed, [])


def test_tracers_of_mutable_values_have_a_state():
    def f(x):
        with pytest.raises(AttributeError):
            x.type_state()
        return x

    jitney.jvp(f, (1.0,), (1.0,))


# --- lowering -------------------------------------------------------------------------------------


def test_rules_read_their_context():
    prim = jitney.extend.core.Primitive("reads_its_context")
    prim.def_abstract_eval(lambda x: x)
    inner = jitney.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
    seen = []

    def rule(ctx, x):
        tokens = ctx.tokens_in
        token = tokens.get("effect")
        ctx.set_tokens_out(mlir.TokenSet({"effect": token}))
        assert ctx.tokens_out.effects() == {"effect"} and ctx.platforms is None
        assert not ctx.is_forward_compat() and ctx.replace(avals_in=[1]).avals_in == [1]
        module = ctx.module_context
        assert module.get_backend() is jitney.devices()[0].client is module.backend
        assert module.replace(platforms=("gpu",)).platforms == ("gpu",)
        seen.extend([str(ctx.name_stack), ctx.traceback.code.co_name, ctx.jaxpr_eqn_ctx])
        outs, after = mlir.jaxpr_subcomp(
            module, inner.jaxpr, ctx.name_stack, tokens, [], x, dim_var_values=(),
            const_lowering={}, outer_traceback=None,
        )  # fmt: skip
        assert after is tokens
        return outs

    mlir.register_lowering(prim, rule)

    @jitney.jit
    def scoped(x):
        with jitney.named_scope("here"):
            return prim.bind(x)

    assert float(scoped(1.0)) == pytest.approx(2 * np.sin(1.0))
    assert "here" in seen[0] and seen[1] == "scoped" and seen[2].compute_type is None
    with pytest.raises(ValueError, match="module_context"):
        mlir.jaxpr_subcomp(mlir.ModuleContext(), inner.jaxpr, None, mlir.TokenSet(), [])


@pytest.mark.parametrize("is_closed", [True, False])
def test_calls_are_lowered_by_their_program(is_closed):
    prim = jitney.extend.core.Primitive("calls_a_program")
    prim.multiple_results = True
    prim.def_abstract_eval(lambda x: [x])
    inner = jitney.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
    program = inner if is_closed else inner.jaxpr
    mlir.register_lowering(
        prim, lambda ctx, x: mlir.core_call_lowering(ctx, x, name="f", call_jaxpr=program)
    )
    assert float(jitney.jit(lambda x: prim.bind(x)[0])(1.0)) == pytest.approx(2 * np.sin(1.0))


def test_programs_become_modules():
    closed = jitney.make_jaxpr(lambda x: x * jnp.arange(3.0))(jnp.ones(3))
    result = mlir.lower_jaxpr_to_module(
        "three", closed, in_avals=closed.in_avals, out_avals=closed.out_avals,
        platforms=["cpu"], donated_args=[False],
    )  # fmt: skip
    assert result.keepalive is None and result.host_callbacks == ()
    assert mlir.module_to_string(result.module).startswith("module three(p0: float32[3])")
    client = jitney.devices()[0].client
    for program in (result.module, mlir.module_to_bytecode(result.module)):
        (out,) = client.compile_and_load(program).run([jnp.full(3, 2.0)])
        np.testing.assert_array_equal(out, [0.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="in_avals must be"):
        mlir.lower_jaxpr_to_module("three", closed, in_avals=[])
    with pytest.raises(ValueError, match="must contain 'cpu'"):
        mlir.lower_jaxpr_to_module("three", closed, platforms=["tpu"])


def test_sets_of_tokens():
    tokens = mlir.TokenSet({"a": 1, "b": 2})
    assert tokens.get("a") == 1 and len(tokens) == 2 and tokens.effects() == {"a", "b"}
    assert tokens.subset(["b"]).items() == (("b", 2),)
    changed = tokens.update_tokens(mlir.TokenSet({"a": 3}))
    assert dict(changed.items()) == {"a": 3, "b": 2} and tokens.get("a") == 1
    assert mlir.TokenSet.create(["c"]).effects() == {"c"} and len(mlir.TokenSet()) == 0
    with pytest.raises(KeyError):
        tokens.get("c")


def test_values_and_types_are_flattened():
    assert mlir.flatten_ir_values([1, (2, 3), (), [4]]) == [1, 2, 3, 4]
    assert mlir.flatten_ir_types([1, (2, 3)]) == [1, 2, 3]
    grouped = mlir.unflatten_ir_values_like_types([1, 2, 3], ["a", ("b", "c")])
    assert grouped == [1, (2, 3)]
    for values in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="expected 3 values"):
            mlir.unflatten_ir_values_like_types(values, ["a", ("b", "c")])
    aval = jitney.core.ShapedArray((2,), np.float32)
    assert mlir.aval_to_ir_types(None, aval) == (mlir.aval_to_ir_type(None, aval),)
    assert str(mlir.token_type()) == "bool[0]"
    assert mlir.Mesh is jitney.sharding.Mesh and mlir.Token is mlir.Value


def test_compile_options_name_devices():
    from jitney.interpreters import pxla

    (device,) = jitney.devices()[:1]
    options = pxla.create_compile_options(
        None, True, (False,), (False,), device.client, np.array([device]), {"xla_flag": 1}
    )
    assert options.device_assignment.ids == [device.id] and options.parameter_is_tupled_arguments
    assert dict(options.env_option_overrides) == {"xla_flag": 1}
