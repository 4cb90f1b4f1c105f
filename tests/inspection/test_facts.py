"""The facts of compiled programs: where their steps come from, what they move, what they fuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.hlo import ir, traversal
from jitney.inspection import facts

HERE = __file__


def layer(x, w):
    z = x @ w
    y = jnp.tanh(z)
    return y - y.mean(0)


def looping(x):
    def body(carry, t):
        carry = jnp.sin(carry) * t
        return carry, carry.sum()

    return jax.lax.scan(body, x, jnp.arange(5.0))


def choosing(x):
    return jax.lax.cond(x.sum() > 0, jnp.exp, jnp.sort, x)


def complex_numbers(x):
    z = jax.lax.complex(x, x + 1)
    return jnp.abs(jnp.fft.fft(z * jnp.conj(z)))


X, W = np.ones((40, 30), np.float32), np.ones((30, 20), np.float32)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "layer": (layer, (X, W)),
    "gradient": (jax.grad(lambda w: layer(X, w).sum() ** 2), (W,)),
    "looping": (looping, (X,)),
    "batched": (jax.vmap(looping), (np.ones((3, 7), np.float32),)),
    "choosing": (choosing, (X,)),
    "complex": (complex_numbers, (X,)),
    "solve": (lambda a: jnp.linalg.solve(a @ a.T, a), (X,)),
    "sorted": (lambda x: jnp.argsort(x, axis=1)[:, ::-1], (X,)),
}


def _program(function: Callable[..., Any], *args: Any) -> facts.Program:
    return facts.of_module(jax.jit(function).lower(*args)._lowering.module)


def _nodes(region: ir.Region) -> list[ir.Node]:
    found: list[ir.Node] = []
    for node in traversal.topological_order(traversal.roots(region)):
        found.append(node)
        for _, inner in traversal.regions(node):
            found += _nodes(inner)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("stage", ["hlo", "optimized"])
def test_nodes_know_their_equation_in_all_stages(name: str, stage: str):
    function, args = PROGRAMS[name]
    module = jax.jit(function).lower(*args)._lowering.module
    if stage == "optimized":
        module = pipeline.optimize(module)
    computed = [x for x in _nodes(module.region) if not isinstance(x, ir.Parameter | ir.Constant)]
    unknown = [ir.word(x) for x in computed if facts.source_of(x) is None]
    assert computed
    assert not unknown
    assert {facts.source_of(x).file for x in computed} == {HERE}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_has_sources_in_this_file(name: str):
    function, args = PROGRAMS[name]
    work = list(_program(function, *args).everything())
    assert work
    for each in work:
        assert {source.file for source in each.sources} <= {HERE}
    computing = [w for w in work if w.kind in ("kernel", "product", "library", "loop")]
    assert all(w.sources for w in computing)


def test_steps_of_a_layer():
    program = _program(layer, X, W)
    assert program.arguments == [("x", "float32[40,30]"), ("w", "float32[30,20]")]
    assert program.results == ["float32[40,20]"]
    product, *others = program.work
    assert product.kind == "product"
    assert product.flops == 2 * 40 * 30 * 20
    assert product.traffic == 4 * (40 * 30 + 30 * 20 + 40 * 20)
    assert product.reads == ["x", "w"]
    assert [s.text for s in product.sources] == ["x @ w"]
    first = layer.__code__.co_firstlineno
    lines = {s.line - first for work in others for s in work.sources}
    assert lines == {2, 3}
    operations = sum((work.operations for work in others), start=Counter())
    assert operations["tanh"] >= 1
    assert operations["sub"] == 1


def test_a_value_that_several_steps_read_says_why_it_is_stored():
    def twice(x):
        y = jnp.exp(jnp.sin(x))
        return y.sum(0), y.T + 1

    stored = [v for w in _program(twice, X).everything() for v in w.stored]
    assert [v.source.text for v in stored] == ["jnp.exp(jnp.sin(x))"]
    assert stored[0].nbytes == X.nbytes
    assert "would repeat its computation" in stored[0].reason


def _reasons(fun, *args) -> dict[str, str]:
    stored = [v for w in _program(fun, *args).everything() for v in w.stored]
    return {v.name.text: v.reason for v in stored}


@pytest.mark.parametrize(
    ("fun", "reasons"),
    [
        (lambda x: x / jnp.sum(x), {"jnp.sum(x)": "a reduction"}),
        (lambda x: x + jnp.argmax(x), {"jnp.argmax(x)": "a reduction"}),
        (lambda x: jnp.sin(x.T @ x), {"x.T @ x": "a matrix product"}),
        (lambda x: jnp.linalg.qr(x, "r") + 1, {'jnp.linalg.qr(x, "r")': "a library call"}),
    ],
)
def test_results_that_end_a_fusion_say_of_what_they_are_the_result(fun, reasons):
    found = _reasons(fun, X)
    for name, of in reasons.items():
        (reason,) = [why for text, why in found.items() if f"`{name}`" in text]
        assert reason == f"it is the result of {of}"


def test_each_value_between_two_steps_has_a_reason():
    def normalized(x):
        y = jnp.tanh(x @ x.T)
        y = jnp.cumsum(y / y.sum(0), 1)
        return jnp.sort(y)[:2] @ y.T.reshape(-1, 2)[: y.shape[1]]

    program = _program(normalized, X)
    stored = {v.name.label for w in program.everything() for v in w.stored}
    written = {name for w in program.work for name in w.writes}
    assert {x for x in written if not x.startswith(("the result", "a carry"))} <= stored


def test_strips_are_not_in_memory():
    def softmax(x):
        e = jnp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    program = _program(softmax, np.ones((1000, 1000), np.float32))
    assert program.work[0].kind == "strips"
    assert not [v for w in program.everything() for v in w.stored]


def test_a_reason_does_not_name_the_value_itself():
    def power(x):
        for _ in range(3):
            x = x @ x
        return x

    program = _program(power, np.ones((300, 300), np.float32))
    for value in [v for w in program.everything() for v in w.stored]:
        assert value.name.with_line not in value.reason
    (first, *_) = program.work
    assert first.stored[0].reason.startswith("a later operation of the same expression reads")


def test_loops_say_how_often_they_run():
    def python_in_loop(x):
        def body(i, x):
            jax.debug.callback(lambda _: None, x)
            return x + i

        return jax.lax.fori_loop(0, 7, body, x)

    program = _program(python_in_loop, np.float32(1))
    (loop,) = [w for w in program.everything() if w.kind == "loop"]
    assert loop.trips == 7
    assert "python" in [w.kind for w in loop.within]
    within = sum(w.traffic for w in loop.within)
    assert loop.total()[0] == 7 * within > 0


def test_parts_of_a_reduction_are_one_step():
    program = _program(lambda x: x.sum(0), np.ones((5000, 400), np.float32))
    assert [len(w.steps) > 1 for w in program.work] == [True]
    assert program.work[0].what == "reduces 5000 for each of 400"


def test_expressions_of_several_lines_are_joined():
    def spread(x):
        return jnp.where(
            x > 0,
            x,
            -x,
        )

    texts = {s.text for w in _program(spread, X).work for s in w.sources}
    assert "jnp.where( x > 0, x, -x, )" in texts


def test_derivatives_are_told_apart():
    program = _program(jax.grad(lambda x: (jnp.tanh(x @ W) ** 3).sum()), X)
    flags = {s.is_transposed for w in program.everything() for s in w.sources}
    assert flags == {False, True}
    assert any("the cotangent of" in name for w in program.everything() for name in w.writes)


def test_nothing_to_compute():
    program = _program(lambda x: x, X)
    assert [w.kind for w in program.work] in ([], ["copy"])


def test_empty_operands():
    program = _program(lambda x: jnp.sin(x).sum(), np.ones((0, 3), np.float32))
    assert program.results == ["float32[]"]
