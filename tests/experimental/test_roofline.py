"""`jax.experimental.roofline`: counts of programs are JAX's."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import check

import jitney
from jitney.experimental import roofline

X = np.ones((8, 4), np.float32)
Y = np.ones((4, 6), np.float32)
COUNTS = "flops unfused_flops hbm_bytes peak_hbm_bytes unfused_hbm_bytes".split()


def module(jax):
    return importlib.import_module(f"{jax.__name__}.experimental.roofline")


def counts(result):
    tables = [sorted(x.items()) for x in (result.ici_bytes, result.ici_latency)]
    return [getattr(result, name) for name in COUNTS], tables


def shapes(jax, out):
    return [(x.shape, str(x.dtype)) for x in jax.tree.leaves(out)]


FUNCTIONS = {
    "add": (lambda jax, x: x + x, X),
    "product": (lambda jax, x, y: x @ y, X, Y),
    "fused": (lambda jax, x, y: jax.numpy.sin(x @ y) * 2, X, Y),
    "sum": (lambda jax, x: x.sum(), X),
    "softmax": (lambda jax, x: jax.nn.softmax(x), X),
    "nothing": (lambda jax, x: jax.numpy.tanh(x), X),
    "unused": (lambda jax, x, y: x + 1, X, Y),
    "dead": (lambda jax, x: (jax.lax.broadcast_in_dim(x + 1, (3, 8, 4), (1, 2)), x)[1], X),
    "tree": (lambda jax, x: {"a": x, "b": jax.numpy.sin(x)}, X),
    "twice": (lambda jax, x: jax.lax.concatenate([x, x], 0), X),
    "where": (lambda jax, x: jax.numpy.where(x > 0, x, 0), X),
    "scan": (lambda jax, x: jax.lax.scan(lambda c, r: (c + r.sum(), r * 2), 0.0, x), X),
    "cond": (lambda jax, x: jax.lax.cond(x.sum() > 0, jax.numpy.sin, jax.numpy.cos, x), X),
    "cumsum": (lambda jax, x: jax.lax.cumsum(x, 0), X),
    "cumlogsumexp": (lambda jax, x: jax.lax.cumlogsumexp(x, 0), X),
    "index": (lambda jax, x: x[jax.numpy.array([1, 2])], X),
    "scatter": (lambda jax, x: x.at[jax.numpy.array([1, 2])].add(1.0), X),
    "convolution": (
        lambda jax, x, y: jax.lax.conv_general_dilated(x, y, (2, 1), "SAME", rhs_dilation=(2, 2)),
        np.ones((2, 2, 6, 5), np.float32), np.ones((4, 2, 3, 3), np.float32),
    ),
    "complex": (lambda jax, x: jax.numpy.abs(x * 1j), X),
    "nested": (lambda jax, x: jax.jit(lambda y: jax.checkpoint(jax.numpy.sin)(y) + 1)(x), X),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_counts(name):
    f, *args = FUNCTIONS[name]

    def use(jax, jnp):
        operands = [jnp.asarray(x) for x in args]
        out, result = module(jax).roofline(lambda *xs: f(jax, *xs))(*operands)
        return shapes(jax, out), counts(result)

    check(use)


COLLECTIVES = {
    "psum": (lambda lax, x: lax.psum(x, "x"), 1),
    "pmax": (lambda lax, x: lax.pmax(x, "x"), 1),
    "all_gather": (lambda lax, x: lax.all_gather(x, "x"), 0),
    "psum_scatter": (lambda lax, x: lax.psum_scatter(x, "x", tiled=True), 0),
    "all_to_all": (lambda lax, x: lax.all_to_all(x, "x", 0, 0, tiled=True), 0),
    "ring": (lambda lax, x: lax.ppermute(x, "x", [(0, 1), (1, 2), (2, 3), (3, 0)]), 0),
    "swap": (lambda lax, x: lax.ppermute(x, "x", [(0, 1), (1, 0)]), 0),
    "far": (lambda lax, x: lax.ppermute(x, "x", [(0, 2)]), 0),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives(name):
    f, is_whole = COLLECTIVES[name]

    def use(jax, jnp):
        mesh = jax.sharding.AbstractMesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
        out = jax.P() if is_whole else jax.P("x")
        of = module(jax).roofline(lambda x: f(jax.lax, x), mesh, (jax.P("x"),), out)
        return counts(of(jax.ShapeDtypeStruct((16, 4), jnp.float32))[1])

    check(use)


def results_of_two(jax, jnp):
    kind = module(jax).RooflineResult
    a = kind(flops=1, ici_bytes={"x": 2}, peak_hbm_bytes=7)
    b = kind(flops=3, ici_bytes={"x": 1, "y": 5}, peak_hbm_bytes=4)
    return [counts(a + b), counts(a * 3.5), counts(kind.zeros()), a == a * 1]


def pinned_operands(jax, jnp):
    of = module(jax).roofline
    return [
        counts(of(lambda x, y: x @ y, **{pin: True})(jnp.asarray(X), jnp.asarray(Y))[1])
        for pin in ("pin_lhs_in_vmem", "pin_rhs_in_vmem")
    ]


def shapes_of_operands(jax, jnp):
    kind = module(jax).RooflineShape
    shape = kind.from_aval(jax.typeof(jnp.asarray(X)))
    total = kind.total_bytes([jax.typeof(jnp.asarray(X)), jax.typeof(1.0)])
    return shape.shape, shape.size, shape.bytes, total


def rules_of_users(jax, jnp):
    lib = module(jax)
    core = importlib.import_module(f"{jax.__name__}.extend.core")
    primitive, other = core.Primitive("mine"), core.Primitive("other")
    for prim in (primitive, other):
        prim.def_abstract_eval(lambda x: x)
    seen = []

    @lib.register_roofline(primitive)
    def rule(context, x, **params):
        seen.append((str(context.avals_in), context.primitive.name, context.mesh, x.size, params))
        return lib.RooflineResult(flops=5, hbm_bytes=3)

    lib.register_standard_roofline(other)
    _out, result = lib.roofline(lambda x: other.bind(primitive.bind(primitive.bind(x))))(
        jnp.asarray(X)
    )
    return seen, counts(result)


@pytest.mark.parametrize(
    "case",
    [results_of_two, pinned_operands, shapes_of_operands, rules_of_users],
    ids=lambda case: case.__name__,
)
def test_parts(case):
    check(case)


def test_derivatives():
    """JAX 0.12.0.1 takes cotangents for bfloat16, and refuses other functions."""
    spec = jitney.P("x")
    mesh = jitney.sharding.AbstractMesh((2,), ("x",), axis_types=(jitney.sharding.AxisType.Auto,))
    of = roofline.roofline_and_grad(lambda x, y: x @ y, mesh, (spec, jitney.P()), spec)
    out, forward, back = of(X, Y)
    assert out.shape == (8, 6)
    assert (forward.flops, back.flops) == (192, 384)
    assert back.ici_bytes == {"x": 96}  # the gradient of y, 4 x 6, is summed over both devices
    cts, both = roofline.roofline(lambda x, y: x @ y, vjp=True)(X, Y)
    assert [x.shape for x in cts] == [(8, 4), (4, 6)]
    assert both.flops == 3 * 384


def test_primitives_without_rules(caplog):
    primitive = jitney.extend.core.Primitive("unknown")
    primitive.def_abstract_eval(lambda x: x)
    _, result = roofline.roofline(primitive.bind)(X)
    assert result.unfused_flops == 0
    assert "no rule for unknown" in caplog.text
