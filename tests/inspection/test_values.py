"""Names of values: cotangents by their primals, what is within an expression by its operation."""

from __future__ import annotations

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import facts
from jitney.inspection.sources import Source
from jitney.inspection.values import Expressions

X, W = np.ones((500, 400), np.float32), np.ones((400, 400), np.float32)
B = np.ones(400, np.float32)


def _program(fun, *args) -> facts.Program:
    return facts.of_module(facts.lowered_module(fun, args, {}))


def _written(fun, *args) -> list[list[str]]:
    return [work.writes for work in _program(fun, *args).everything()]


def _loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.sum(h * h)


def _network(parameters, x):
    h = x
    for w, b in parameters:
        h = jnp.tanh(h @ w + b)
    return jnp.mean(h**2)


def test_a_pass_through_tanh_gives_the_cotangent_of_its_operand():
    program = _program(jax.grad(_loss), W, X)
    product, passed, last = program.work
    assert product.writes == ["`x @ w`"]
    assert passed.operations["tanh"] == 1
    assert passed.writes == ["the cotangent of `x @ w`"]
    assert passed.stored[0].name.text == "the cotangent of `x @ w`"
    assert passed.stored[0].name.line == _loss.__code__.co_firstlineno + 1
    assert last.reads == ["x", "the cotangent of `x @ w`"]


def test_a_jitted_function_is_named_alike():
    assert _written(jax.grad(jax.jit(_loss)), W, X) == _written(jax.grad(_loss), W, X)


def test_a_network_of_equal_lines():
    program = _program(jax.grad(_network), [(W, B)] * 3, X)
    products = [work for work in program.work if work.kind == "product"]
    backwards = [work for work in products if any("cotangent" in name for name in work.reads)]
    assert [work.reads for work in backwards] == [
        ["`jnp.tanh(h @ w + b)`", "the cotangent of `h @ w + b`"],
        ["the cotangent of `h @ w + b`", "parameters[2][0]"],
        ["`jnp.tanh(h @ w + b)`", "the cotangent of `h @ w + b`"],
        ["the cotangent of `h @ w + b`", "parameters[1][0]"],
        ["x", "the cotangent of `h @ w + b`"],
    ]
    of_h = "the cotangent of `jnp.tanh(h @ w + b)`"
    assert [of_h in work.writes for work in backwards] == [False, True, False, True, False]


def test_factors_of_equal_shapes_are_told_apart():
    def product_of(a, b):
        return jnp.sum(jnp.sin(a) @ jnp.cos(b)) + jnp.sum(b @ a)

    names = {name for names in _written(jax.grad(product_of, (0, 1)), W, W) for name in names}
    assert {"the cotangent of `jnp.sin(a)`", "the cotangent of `jnp.cos(b)`"} & names
    assert not any("operand of" in name for name in names)


def test_a_transposed_factor():
    def distance(x, y):
        s, t = jnp.sin(x), jnp.cos(y)
        return jnp.sum((s @ t.T) ** 2)

    names = {name for names in _written(jax.grad(distance, (0, 1)), X, X) for name in names}
    assert "the cotangent of `jnp.sin(x)`" in names
    assert "the cotangent of `t.T`" in names


def test_what_is_computed_within_an_expression_says_the_operation():
    def activated(x, w):
        return jnp.sum(jax.nn.gelu(x @ w) @ w)

    names = [name for names in _written(jax.value_and_grad(activated), X, W) for name in names]
    inner = [name for name in names if name.endswith(" in `jax.nn.gelu(x @ w)`")]
    assert inner
    assert len(set(inner)) == len(inner)


def test_arguments_of_a_gradient_alone_are_operands():
    def run():
        jax.grad(jax.jit(_loss))(W, X)

    from jitney.inspection import collect

    jax.clear_caches()
    with collect.compiled_modules() as modules:
        run()
    backward = facts.of_module(modules[-1])
    assert backward.work[0].writes == ["the cotangent of an operand of `jnp.tanh(x @ w)`"]


def test_bookkeeping_of_loops_is_no_cotangent():
    def body(h, w):
        return jnp.tanh(h @ w), None

    def repeated(ws, x):
        return jnp.sum(jax.lax.scan(body, x, ws)[0] ** 2)

    names = [n for ns in _written(jax.grad(repeated), np.stack([W] * 3), X) for n in ns]
    assert "the cotangent of `h @ w`" in names
    assert "dynamic_slice in `jax.lax.scan(body, x, ws)`" in names
    assert not any("cotangent" in name and "scan" in name for name in names)


def test_computed_again_is_no_cotangent():
    def repeated(w, x):
        f = jax.checkpoint(lambda x: jnp.tanh(x @ w))
        return jnp.sum(f(f(x)) ** 2)

    names = [name for names in _written(jax.grad(repeated), W, X) for name in names]
    assert names.count("`x @ w`") == 4
    assert "the cotangent of `x @ w`" in names


def test_a_reduction_does_not_read_what_it_writes():
    def normalized(x):
        a = x @ x.T
        return a / a.max()

    program = _program(normalized, X)
    (reduction,) = [work for work in program.work if len(work.steps) > 1]
    assert reduction.reads == ["`x @ x.T`"]
    assert reduction.writes == ["`a.max()`"]


def test_many_operations_of_one_place():
    def long(x):
        for _ in range(300):
            x = jnp.sin(x) * 2
        return x.sum()

    assert _program(jax.grad(long), B).work


def test_long_expressions_that_begin_alike_are_cut_where_they_differ():
    def scaled(x):
        return jnp.cumsum(jnp.exp(jnp.sin(x) + jnp.cos(x) * x), axis=1) * jnp.cumsum(jnp.exp(jnp.sin(x) + jnp.cos(x) * x), axis=0)  # fmt: skip # noqa: E501

    names = {name for names in _written(scaled, X) for name in names}
    (exponential,) = [name for name in names if name.startswith("`jnp.exp")]
    assert exponential == "`jnp.exp(jnp.sin(x) + jnp.cos(x) * x)`"
    assert {"axis=0" in name for name in names if name.startswith("`jnp.cumsum")} == {True, False}


def test_long_common_beginnings_are_cut(tmp_path):
    updates = "".join([f".at[{i}].set({i}.0)" for i in range(1, 8)])
    texts = [f"jnp.sin(x){updates}{end}" for end in ("", ".cumsum(0)", ".cumsum(1).cumprod(0)")]
    file = tmp_path / "program.py"
    file.write_text("\n".join(texts))
    sources = [Source(str(file), n, 0, n, len(text)) for n, text in enumerate(texts, 1)]
    expressions = Expressions(sources)
    assert [expressions.named(source).text for source in sources] == [
        "`jnp.sin(x).at[1].set ... [7].set(7.0)`",
        "`jnp.sin(x).at[1].set ... 7.0).cumsum(0)`",
        "`jnp.sin(x).at[1].set ... 7.0).cumsum(1).cumprod(0)`",
    ]


def test_long_expressions_that_begin_otherwise_are_cut():
    def long(x):
        e = jnp.exp(jnp.sin(x) + jnp.cos(x) * x - jnp.tanh(x) / 3)
        return e @ x.T

    names = {name for names in _written(long, X) for name in names}
    assert "`jnp.exp(jnp.sin(x) + jnp.cos(x) * x  ...`" in names


def test_equal_expressions_of_several_lines_say_their_lines():
    def layers(x, w):
        x = jnp.tanh(x @ w)
        return jnp.sin(x @ w)

    first = layers.__code__.co_firstlineno
    names = [name for names in _written(layers, X, W) for name in names]
    assert names == [
        f"`x @ w` in line {first + 1}",
        "`jnp.tanh(x @ w)`",
        f"`x @ w` in line {first + 2}",
        "the result",
    ]
