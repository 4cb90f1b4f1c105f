"""Texts of programs after each stage: lowering, each rewrite rule alone, fusion."""

import numpy as np
import pytest
from tests.compiler import golden_files as golden

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.hlo import interpret
from jitney.compiler.hlo.parse import ParseError, parse_module
from jitney.compiler.hlo.passes import (
    carries,
    decompose,
    hoist,
    loop_fission,
    simplify,
    sink_reductions,
)
from jitney.compiler.hlo.text import print_module
from jitney.compiler.hlo.verify import verify
from jitney.compiler.plan.text import print_plan

x34, y34 = jnp.zeros((3, 4)), jnp.ones((3, 4))
v4, i32 = jnp.zeros(4), jnp.zeros(2, jnp.int32)

PROGRAMS = {
    "elementwise": (lambda x, y: jnp.sin(x) * 2.0 + y, x34, y34),
    "mean_and_variance": (lambda x: (x.mean(1), ((x - x.mean(1, keepdims=True)) ** 2).mean(1)), x34),
    "softmax": (
        lambda x: (
            jnp.exp(x - x.max(1, keepdims=True))
            / jnp.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
        x34,
    ),
    "dense_layer": (
        lambda x, w, b: jnp.maximum(jnp.dot(x, w.T) + b, 0), x34, jnp.zeros((5, 4)), jnp.zeros(5)
    ),
    "views": (lambda x: x.T[::-1, 1:].reshape(2, 4), x34),
    "take": (lambda x, i: x[i], v4, i32),
    "set": (lambda x, i: x.at[i].add(1.0), v4, i32),
    "slices": (lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (2,)), (0,)), v4, 1),
    "concatenate": (lambda x, y: jnp.concatenate([x, y * 2.0], 1), x34, y34),
    "pad": (lambda x: lax.pad(x, 0.0, ((0, 1, 0), (-1, 0, 1))), x34),
    "sort": (lambda x: jnp.sort(x), v4),
    "half_sum": (lambda x: x.sum(), jnp.zeros(8, jnp.bfloat16)),
    "select": (lambda x, y: jnp.where(x > y, x, 0.0), x34, y34),
    "repeated_subexpression": (lambda x: (jnp.tanh(x) + 1.0, jnp.tanh(x) * 2.0), v4),
    "a_broadcast_that_two_kernels_use": (
        lambda x: (lambda y: (x * y, (x - y).sum(0)))(lax.rsqrt(x.sum(1, keepdims=True))), x34
    ),
    "results_that_are_parameters": (lambda x, y: (y, x, y, x.reshape(4, 3)), x34, v4),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_stages(name):
    function, *args = PROGRAMS[name]
    function.__name__ = "f"
    lowered = jitney.jit(function).lower(*args)
    golden.check(
        "lowering.txt",
        name,
        {"hlo": lowered.as_text("hlo"), "optimized": lowered.as_text("optimized")},
    )
    golden.check("kernels.txt", name, {"kernels": lowered.as_text("kernels")})


# Text of the tensor IR -> text after one rule: the input is in the golden file.
RULES = golden.read("simplify.txt")


def rule_of(case):
    return case.split(" ")[0]


@pytest.mark.parametrize("name", RULES)
def test_rule(name):
    source = RULES[name].source
    module = parse_module(source)
    assert print_module(module) == source
    after = simplify.run(module, simplify.rule_alone(rule_of(name)))
    verify(after)
    golden.check("simplify.txt", name, {"after": print_module(after)})


def test_every_rule_has_a_case_that_changes_and_one_that_does_not():
    changing = {rule_of(n) for n, c in RULES.items() if c.source != c.stages["after"]}
    staying = {rule_of(n) for n, c in RULES.items() if c.source == c.stages["after"]}
    assert changing == set(simplify.rule_names())
    assert staying == set(simplify.rule_names())


# Text of the tensor IR -> text with operations written with others, or after the passes on loops.
EXPANDED = golden.read("expand.txt")
LOOPS = golden.read("loops.txt")


def check_pass(file, case, run, rtol):
    """Fails unless `run` makes the text after of the text before, and values stay what they were."""
    module = parse_module(case.source)
    assert print_module(module) == case.source
    after = run(module)
    verify(after)
    golden.check(file, case.name, {"after": print_module(after)})
    rng = np.random.default_rng(0)
    given = [rng.normal(size=p.shape).astype(p.dtype) for p in module.region.parameters]
    for a, b in zip(interpret.run(module, given), interpret.run(after, given), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", EXPANDED)
def test_expanded(name):
    check_pass("expand.txt", EXPANDED[name], decompose.run, 0)


def run_passes_on_loops(module):
    for each in (carries, hoist, sink_reductions, loop_fission):
        module = each.run(module)
    return module


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    check_pass("loops.txt", LOOPS[name], run_passes_on_loops, 1e-4)


# Text of the tensor IR -> kernels: how nodes are grouped.
FUSION = golden.read("fusion.txt")


@pytest.mark.parametrize("name", FUSION)
def test_fusion(name):
    source = FUSION[name].source
    module = parse_module(source)
    assert print_module(module) == source
    golden.check("fusion.txt", name, {"kernels": print_plan(pipeline.plan(module))})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module f(p0: float32[3]) {\n  return %1\n}", "line 2: %1 is not defined"),
        ("module f(p0: float32[3]) {\n  %1 = sine p0 : float32[3]\n  return %1\n}", "unknown node"),
        ("module f(p0: int8[3]) {\n  %1 = neg p0 : int8[4]\n  return %1\n}", "the type is int8[3]"),
        ("module f(p0: float3[3]) {\n  return p0\n}", "no dtype float3"),
        ("module f() {\n  %0 = constant {1, 2} : int32[3]\n  return %0\n}", "not a constant"),
        ("module f(p0: int8[3]) {\n  %1 = reshape p0 : int8[4]\n  return %1\n}", "reshape.C1"),
        ("module f() {\n  return\n}\nmore", "text after the program"),
    ],
)  # fmt: skip
def test_what_is_no_program(text, message):
    with pytest.raises(ParseError) as error:
        parse_module(text)
    assert message in str(error.value)
