"""`checkpoint`: values, derivatives and programs are those of JAX, whatever the policy."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import in_both
from tests.helpers.oracle import answer, jax as real_jax

import jitney

BOTH = pytest.mark.parametrize("name", ["jitney", pytest.param("jax", marks=pytest.mark.live)])


def library(name: str) -> tuple[Any, Any, Any]:
    """(jax, jax.numpy, jax.ad_checkpoint) of an implementation."""
    parts = ("", ".numpy", ".ad_checkpoint")
    jax, jnp, ad = (importlib.import_module(name + part) for part in parts)
    return jax, jnp, ad


POLICIES: dict[str, Callable[[Any], Any]] = {
    "none": lambda p: None,
    "everything": lambda p: p.everything_saveable,
    "nothing": lambda p: p.nothing_saveable,
    "dots": lambda p: p.dots_saveable,
    "checkpoint_dots": lambda p: p.checkpoint_dots,
    "dots without batch": lambda p: p.dots_with_no_batch_dims_saveable,
    "names": lambda p: p.save_only_these_names("z"),
    "any names but": lambda p: p.save_any_names_but_these("z"),
    "both": lambda p: p.save_from_both_policies(p.dots_saveable, p.save_only_these_names("w")),
    "offload": lambda p: p.save_and_offload_only_these_names(
        names_which_can_be_saved=["z"], names_which_can_be_offloaded=[],
        offload_src="device", offload_dst="pinned_host",
    ),
}  # fmt: skip


def layer(name: str) -> Callable[..., Any]:
    _, jnp, ad = library(name)

    def f(w: Any, x: Any) -> Any:
        z = ad.checkpoint_name(jnp.sin(w @ x), "z")
        y = ad.checkpoint_name(jnp.cos(z) * x, "w")
        return jnp.tanh(w.T @ y) * z

    return f


def nested(name: str) -> Callable[..., Any]:
    jax, jnp, ad = library(name)

    def f(w: Any, x: Any) -> Any:
        inner = jax.jit(lambda v: ad.checkpoint_name(jnp.sin(w @ v), "z"))
        return inner(inner(x)) * 2

    return f


def looping(name: str) -> Callable[..., Any]:
    jax, jnp, _ = library(name)

    def f(w: Any, x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            c = jnp.sin(w @ c) * row
            return c, c.sum()

        c, ys = jax.lax.scan(step, x, w)
        return jax.lax.cond(ys[0] > 100, jnp.cos, jnp.sin, c) * ys.sum()

    return f


def branching(name: str) -> Callable[..., Any]:
    """Loops in loops, branches that keep different numbers of values."""
    jax, jnp, ad = library(name)

    def f(w: Any, x: Any) -> Any:
        def inner(v: Any) -> Any:
            return ad.checkpoint_name(jnp.sin(w @ v), "z")

        def many(c: Any) -> Any:
            rows = jax.lax.scan(lambda c, row: (jnp.cos(w @ c) * row, c), c, w)
            return inner(rows[0]) + rows[1].sum(0)

        def step(c: Any, row: Any) -> Any:
            c = jax.lax.switch((row[0] > 0).astype("int32"), [many, inner, jnp.sin], c)
            return c * 0.5, inner(c)

        c, ys = jax.lax.scan(step, x, w)
        return jnp.tanh(c) * ys.sum()

    return f


FUNCTIONS = {"layer": layer, "nested": nested, "looping": looping, "branching": branching}
W = np.arange(-4, 5, dtype=np.float32).reshape(3, 3) / 4
X = np.array([0.5, -0.3, 0.8], np.float32)


def gradients_of_jax(make: Callable[[str], Callable[..., Any]]) -> tuple[Any, Any]:
    return answer(lambda: real_jax.grad(lambda w, x: make("jax")(w, x).sum(), (0, 1))(W, X))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_derivatives(function: str, policy: str) -> None:
    jax = jitney
    plain = FUNCTIONS[function]("jitney")
    f = jax.checkpoint(plain, policy=POLICIES[policy](jax.checkpoint_policies))
    theirs = gradients_of_jax(FUNCTIONS[function])
    np.testing.assert_allclose(f(W, X), plain(W, X), rtol=1e-6)
    grad = jax.grad(lambda w, x: f(w, x).sum(), (0, 1))
    for g in (grad, jax.jit(grad)):
        for a, b in zip(g(W, X), theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    out, dout = jax.jvp(f, (W, X), (W, X))
    wanted = jax.jvp(plain, (W, X), (W, X))
    np.testing.assert_allclose(out, wanted[0], rtol=1e-6)
    np.testing.assert_allclose(dout, wanted[1], rtol=1e-5, atol=1e-6)
    batched = jax.vmap(grad, in_axes=(None, 0))(W, np.stack([X, X + 1, -X]))
    for a, b in zip(batched, theirs, strict=True):
        np.testing.assert_allclose(a[0], b, rtol=2e-5, atol=1e-6)
    hessian = jax.jit(jax.hessian(lambda x: f(W, x).sum()))(X)
    np.testing.assert_allclose(
        hessian, jax.hessian(lambda x: plain(W, x).sum())(X), rtol=1e-4, atol=1e-5
    )


def same_programs(make: Callable[[Any, Any, Any], Any]) -> None:
    def text(name: str) -> str:
        found = str(make(*library(name)))
        return re.sub("0x[0-9a-fX]+", "0x", found)

    assert text("jitney") == answer(lambda: text("jax"))


@pytest.mark.parametrize(
    "policy", [k for k in POLICIES if k not in ("everything", "both", "offload")]
)
def test_programs_of_gradients_print_as_jax(policy: str) -> None:
    chosen = POLICIES[policy]

    def make(jax: Any, jnp: Any, ad: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            z = ad.checkpoint_name(jnp.sin(x), "z")
            w = ad.checkpoint_name(jnp.cos(z) * y, "w")
            return jnp.sin(w @ w) * z

        g = jax.checkpoint(f, policy=chosen(jax.checkpoint_policies))
        return jax.make_jaxpr(jax.grad(lambda *a: g(*a).sum()))(jnp.ones(2), jnp.ones(2))

    same_programs(make)


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "call": lambda jax, jnp, ad: jax.make_jaxpr(jax.checkpoint(lambda x: jnp.sin(x) + 1))(1.0),
    "options": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.checkpoint(lambda x: jnp.sin(x), prevent_cse=False)
    )(1.0),
    "policy": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.checkpoint(lambda x: jnp.sin(x), policy=jax.checkpoint_policies.nothing_saveable)
    )(1.0),
    "jvp": lambda jax, jnp, ad: jax.make_jaxpr(
        lambda x: jax.jvp(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), (x,), (x,))
    )(1.0),
    "vmap": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.vmap(jax.checkpoint(lambda x, y: jnp.sin(x) * y), in_axes=(0, None))
    )(jnp.ones(2), 1.0),
    "integers": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.grad(jax.checkpoint(lambda x, i: jnp.sin(x) * i))
    )(1.0, 2),
    "jit within": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.grad(jax.checkpoint(jax.jit(lambda x: jnp.sin(jnp.sin(x)))))
    )(1.0),
    "within scan": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.grad(
            lambda x: jax.lax.scan(
                jax.checkpoint(lambda c, _: (jnp.sin(jnp.sin(c)), None)), x, None, length=3
            )[0]
        )
    )(1.0),
    "names": lambda jax, jnp, ad: jax.make_jaxpr(
        lambda x: ad.checkpoint_name({"a": x, "b": x + 1}, "q")
    )(1.0),
    "gradient of a name": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.grad(lambda x: ad.checkpoint_name(jnp.sin(x), "q"))
    )(1.0),
    "batched name": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.vmap(lambda x: ad.checkpoint_name(jnp.sin(x), "q"))
    )(jnp.ones(2)),
    "prints": lambda jax, jnp, ad: jax.make_jaxpr(
        jax.grad(jax.checkpoint(lambda x: (jax.debug.print("x {}", x), jnp.sin(jnp.sin(x)))[1]))
    )(1.0),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_print_as_jax(program: str) -> None:
    same_programs(PROGRAMS[program])


@BOTH
def test_prints_happen_again(name: str, capsys: Any) -> None:
    jax, jnp, _ = library(name)

    def f(x: Any) -> Any:
        y = jnp.sin(x)
        jax.debug.print("y {}", y)
        return jnp.sin(y)

    jax.checkpoint(f)(1.0)
    jax.effects_barrier()
    assert len(capsys.readouterr().out.splitlines()) == 1
    for g in (jax.grad(jax.checkpoint(f)), jax.jit(jax.grad(jax.checkpoint(f)))):
        g(1.0)
        jax.effects_barrier()
        first, second = capsys.readouterr().out.splitlines()
        assert first == second


def test_effects_that_must_not_happen_again_are_refused() -> None:
    from jitney.experimental import io_callback

    def f(x: Any, y: Any) -> Any:
        io_callback(lambda v: None, None, y, ordered=True)
        return jitney.numpy.sin(x)

    assert float(jitney.checkpoint(f)(0.0, 1.0)) == 0.0
    with pytest.raises(NotImplementedError, match=r"checkpoint: .* effects OrderedIO"):
        jitney.grad(jitney.checkpoint(f))(0.0, 1.0)


def test_what_is_kept_is_what_the_policy_says() -> None:
    from jitney.ad_checkpoint import saved_residuals

    def kept(policy: str) -> list[str]:
        f = jitney.checkpoint(layer("jitney"), policy=POLICIES[policy](jitney.checkpoint_policies))
        return [re.sub(" from .*:.*", "", what) for _, what in saved_residuals(f, W, X)]

    arguments = ["from the argument w", "from the argument x"]
    assert kept("none") == kept("nothing") == arguments
    assert kept("names") == [*arguments, "named 'z'"]
    assert kept("any names but") == [*arguments, "named 'w'"]
    assert kept("dots") == [*arguments, "output of dot_general", "output of dot_general"]
    assert len(kept("everything")) > 5


@BOTH
def test_printed_residuals(name: str, capsys: Any) -> None:
    jax, jnp, ad = library(name)
    ad.print_saved_residuals(
        jax.checkpoint(lambda d, *, k: jnp.sin(d["a"]) * k), {"a": jnp.ones(3)}, k=2.0
    )
    assert capsys.readouterr().out.splitlines() == [
        "f32[3] from the argument d['a']",
        "f32[] from the argument k",
    ]
    ad.print_saved_residuals(lambda x: jnp.sin(x), 1.0)
    assert "f32[] output of cos from" in capsys.readouterr().out


@in_both
def test_static_arguments(name: str) -> None:
    jax, jnp, _ = library(name)

    def f(x: Any, flag: bool) -> Any:
        return jnp.sin(x) if flag else -x

    g = jax.checkpoint(f, static_argnums=(1,))
    np.testing.assert_allclose(jax.grad(g)(0.0, True), 1.0)
    np.testing.assert_allclose(jax.grad(g)(0.0, False), -1.0)
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"(?s)flag.*static_argnums"):
        jax.checkpoint(f)(0.0, True)
    with pytest.raises(TypeError, match="concrete"):
        jax.checkpoint(f, concrete=True)
    assert g.__name__ == "f"


def test_static_arguments_without_hash() -> None:
    jax, jnp, _ = library("jitney")

    @functools.partial(jax.checkpoint, static_argnums=1, static_argnames="more")
    def f(x: Any, factors: dict[str, float], *, more: list[float]) -> Any:
        return jnp.sin(x * factors["a"]) * more[0]

    factors = {"a": 2.0}
    for _ in range(2):
        for wrap in (lambda f: f, jax.jit):
            slope = wrap(jax.grad(lambda x: f(x, factors, more=[3.0])))(0.0)
            np.testing.assert_allclose(slope, 3.0 * factors["a"])
        factors["a"] += 1.0  # it is no part of a key: what it holds now counts


def test_flags_of_another_kind_are_refused() -> None:
    flags: Any = {"x": True}
    f = jitney.checkpoint(lambda x: x, prevent_cse=flags)
    with pytest.raises(
        TypeError, match=r"`prevent_cse` must be a boolean, or a tuple.*\{'x': True\}"
    ):
        f(1.0)


@in_both
def test_closures_and_structures(name: str) -> None:
    jax, jnp, _ = library(name)
    constant = jnp.arange(3.0)

    def outer(y: Any) -> Any:
        f = jax.checkpoint(lambda d: {"out": (jnp.sin(d["x"] * y) * constant, d["x"])})
        out = f({"x": y + 1.0})
        return out["out"][0].sum() + out["out"][1]

    wanted = lambda y: 3 * np.cos((y + 1) * y) * (2 * y + 1) + 1  # noqa: E731
    for g in (jax.grad(outer), jax.jit(jax.grad(outer))):
        np.testing.assert_allclose(g(0.5), wanted(0.5), rtol=1e-5)


def test_the_compiled_program_computes_again() -> None:
    """The compiler does not see that values are the same, and keep them after all."""
    jnp = jitney.numpy

    def chain(x: Any) -> Any:
        for _ in range(4):
            x = jnp.sin(x @ x)
        return x

    def flops(f: Any) -> float:
        loss = jitney.jit(jitney.value_and_grad(lambda x: f(x).sum()))
        return loss.lower(jnp.ones((16, 16))).compile().cost_analysis()["flops"]

    contraction = 2 * 16**3
    assert flops(jitney.checkpoint(chain)) >= flops(chain) + 3 * contraction
    assert flops(jitney.checkpoint(chain, prevent_cse=False)) < flops(chain) + contraction


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("function", ["looping", "branching"])
def test_policies_reach_into_loops_and_branches(function: str, policy: str) -> None:
    """As much is computed again as by JAX."""
    make, chosen = FUNCTIONS[function], POLICIES[policy]

    def counts(name: str) -> dict[str, int]:
        jax, _, _ = library(name)
        f = jax.checkpoint(make(name), policy=chosen(jax.checkpoint_policies))
        text = str(jax.make_jaxpr(jax.grad(lambda w, x: f(w, x).sum(), (0, 1)))(W, X))
        return {op: len(re.findall(rf" {op}\b", text)) for op in ("dot_general", "sin", "cos")}

    ours, theirs = counts("jitney"), answer(lambda: counts("jax"))
    assert all(ours[op] <= theirs[op] for op in ours), (ours, theirs)


def _but(*names: str) -> Callable[..., bool]:
    """A policy that keeps all but the values of these names."""
    return lambda prim, *_, **params: prim.name != "name" or params["name"] not in names


PRINTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "everything": (lambda p: p.everything_saveable, 1),
    "nothing": (lambda p: p.nothing_saveable, 2),
    "these": (lambda p: p.save_any_names_but_these("z"), 2),
    "not y": (lambda p: _but("y"), 1),
    "not z": (lambda p: _but("z"), 1),
    "neither": (lambda p: _but("y", "z"), 2),
}


@BOTH
@pytest.mark.parametrize("policy", PRINTS)
def test_prints_happen_again_with_what_is_computed_again(
    name: str, policy: str, capsys: Any
) -> None:
    jax, jnp, ad = library(name)

    def f(x: Any) -> Any:
        y = ad.checkpoint_name(x + 1.0, "y")
        z = ad.checkpoint_name(y * 2.0, "z")
        jax.debug.print("y {}, z {}", y, z)
        return ad.checkpoint_name(jnp.exp(z), "w")

    chosen, times = PRINTS[policy]
    jax.grad(jax.checkpoint(f, policy=chosen(jax.checkpoint_policies)))(2.0)
    jax.effects_barrier()
    assert capsys.readouterr().out == "y 3.0, z 6.0\n" * times


@BOTH
def test_prints_of_a_loop_that_is_kept_happen_once(name: str, capsys: Any) -> None:
    jax, jnp, _ = library(name)

    def f(x: Any) -> Any:
        def body(c: Any, _: Any) -> Any:
            c = jnp.sin(c)
            jax.debug.print("c")
            return c, c

        return jax.lax.scan(body, x, None, length=2)[0]

    jax.grad(jax.checkpoint(f, policy=jax.checkpoint_policies.everything_saveable))(2.0)
    jax.effects_barrier()
    assert capsys.readouterr().out == "c\n" * 2


def held_back(jax: Any, f: Callable[..., Any], *args: Any) -> list[Any]:
    """The parameters `prevent_cse` of the program of `f`."""
    eqns = jax.make_jaxpr(f)(*args).eqns
    return [eqn.params["prevent_cse"] for eqn in eqns if "prevent_cse" in eqn.params]


def test_which_operands_are_held_back():
    def found(name: str) -> list[Any]:
        jax, jnp, _ = library(name)
        x = jnp.ones(3)
        remat = functools.partial(functools.partial, jax.checkpoint)
        f = remat(prevent_cse=(True, False))(lambda a, b: jnp.sin(a) * b)
        g = remat(prevent_cse=({"a": True, "c": False}, False))(lambda d, b: d["a"] * b * d["c"])
        h = remat(prevent_cse=(False, True))(lambda a, b: jnp.sin(a * b) * np.arange(3.0))
        return [
            held_back(jax, f, x, x),
            held_back(jax, lambda z: f(x, b=z), x),
            held_back(jax, g, {"a": x, "c": x}, x),
            held_back(jax, lambda z: remat(prevent_cse=(True, False))(lambda a, b: a * b * z)(x, x), x),
            held_back(jax, jax.vmap(f), x, x),
            held_back(jax, lambda a, b: jax.jvp(f, (a, b), (a, b)), x, x),
            held_back(jax, jax.grad(lambda a, b: h(a, b).sum()), x, x),
            held_back(jax, jax.grad(lambda a, b: f(a, b).sum()), x, x),
        ]  # fmt: skip

    assert found("jitney") == answer(lambda: found("jax"))


def test_only_what_is_asked_for_is_behind_the_barrier():
    layer = jitney.checkpoint(lambda w, x: jitney.numpy.sin(x @ w), prevent_cse=(False, True))

    def loss(ws, x):
        for w in ws:
            x = layer(w, x)
        return (x**2).sum()

    ws, x = [jitney.numpy.eye(3) + k for k in range(2)], jitney.numpy.ones(3)
    gradient = jitney.jit(jitney.grad(loss))
    text = gradient.lower(ws, x).as_text()
    assert re.search(r"optimization_barrier %?\w+, %?\w+ :", text)
    sin = jitney.numpy.sin
    plain = jitney.grad(lambda ws, x: (sin(sin(x @ ws[0]) @ ws[1]) ** 2).sum())
    for got, want in zip(gradient(ws, x), plain(ws, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    with pytest.raises(ValueError, match="different lengths of tuple"):
        jitney.checkpoint(lambda a, b: a * b, prevent_cse=(True,))(x, x)


def test_name_stacks_of_what_is_computed_again():
    def f(x):
        with jitney.named_scope("inner"):
            return jitney.numpy.sin(jitney.numpy.cos(x))

    text = jitney.make_jaxpr(jitney.grad(jitney.checkpoint(f)))(1.0).jaxpr.pretty_print(
        name_stack=True
    )
    assert "[rematted_computation/inner]" in text


@pytest.mark.parametrize("jit", [False, True])
def test_second_derivatives_past_tangents_that_a_branch_ignores(jit):
    """The derivative of igamma by its first operand has none itself, and is not needed here."""

    def second(m):
        def g(x):
            y = m.lax.igamma(x, x)
            branches = lambda _: x * x, lambda _: (y > 0).astype(x.dtype)
            return m.lax.cond(y.sum() > 0, *branches, 0.0)

        f = m.grad(lambda x: m.checkpoint(g)(x).sum())
        h = m.grad(lambda x: f(x).sum())
        return (m.jit(h) if jit else h)(np.ones(3, np.float32))

    np.testing.assert_array_equal(second(jitney), answer(lambda: second(real_jax)))
