"""The stages of jitted functions (`trace`, `lower`, `compile`), against real jax."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.both import Cases, check, check_claim, counted
from tests.helpers.programs_alike import lines_alike

import jitney
import jitney.numpy as jtnp

same = Cases()


@same
def all_stages(jax, jnp):
    f, runs = counted(lambda x, y: {"sum": x + y, "x": x})
    traced = jax.jit(f).trace(jnp.ones(3), 2.0)
    compiled = traced.lower().compile()
    return compiled(jnp.ones(3), 2.0), compiled(np.ones(3, np.float32), 3.0), len(runs)


@same
def traced(jax, jnp):
    def f(x, y):
        return {"sum": x + y, "x": x}

    t = jax.jit(f, donate_argnums=0).trace(jnp.ones(3), y=2)
    return (str(t.jaxpr), t.fun_name, t.out_info, str(t.in_tree), str(t.out_tree), str(t.in_avals),
            str(t.out_avals), t.donate_argnums, str(t.args_info))  # fmt: skip


@same
def lowered(jax, jnp):
    low = jax.jit(lambda x, y: (x * y, x)).lower(jnp.ones((2, 2)), 2)
    return (low.out_info, str(low.in_tree), str(low.out_tree), str(low.in_avals),
            low.donate_argnums, isinstance(low.as_text(), str), str(low.args_info))  # fmt: skip


@same
def compiled(jax, jnp):
    c = jax.jit(lambda x, y: (x * y, x)).lower(jnp.ones((2, 2)), 2).compile()
    cost = c.cost_analysis()
    memory = c.memory_analysis()
    return (c.out_info, str(c.in_tree), str(c.out_tree), str(c.in_avals), c.donate_argnums,
            str(c.args_info), isinstance(c.as_text(), str), "flops" in cost,
            memory.argument_size_in_bytes, memory.output_size_in_bytes >= 32,
            str(c.input_shardings), str(c.output_shardings))  # fmt: skip


@same
def from_descriptions(jax, jnp):
    s = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    f = jax.jit(lambda x, y: x @ y)
    c = f.lower(s, jax.ShapeDtypeStruct((3,), "float32")).compile()
    return c(jnp.ones((2, 3)), np.arange(3, dtype=np.float32)), f.eval_shape(
        s, s.update(shape=(3, 4))
    )


@same
def description_as_argument_of_a_call(jax, jnp):
    return jax.jit(lambda x: x)(jax.ShapeDtypeStruct((2,), jnp.float32))


@same
def from_avals(jax, jnp):
    return jax.jit(lambda x: x + 1).lower(jax.typeof(jnp.ones(3))).compile()(jnp.ones(3))


@same
def static_arguments(jax, jnp):
    low = jax.jit(lambda x, n: x * n, static_argnums=1).lower(2.0, 3)
    return low.compile()(2.0), str(low.in_tree)


@same
def static_arguments_given_again(jax, jnp):
    return jax.jit(lambda x, n: x * n, static_argnums=1).lower(2.0, 3).compile()(2.0, 3)


@same
def static_names(jax, jnp):
    c = jax.jit(lambda x, *, n: x * n, static_argnames="n").lower(2.0, n=3).compile()
    return c(4.0)


@same
def keywords(jax, jnp):
    c = jax.jit(lambda x, y: x - y).lower(x=1.0, y=2.0).compile()
    return c(x=3.0, y=1.0), c(y=1.0, x=3.0)


@same
def keywords_as_positions(jax, jnp):
    return jax.jit(lambda x, y: x - y).lower(x=1.0, y=2.0).compile()(1.0, 2.0)


@same
def wrong_shape(jax, jnp):
    return jax.jit(lambda x: x).lower(jnp.ones(3)).compile()(jnp.ones(4))


@same
def wrong_dtype(jax, jnp):
    return jax.jit(lambda x: x).lower(jnp.ones(3)).compile()(jnp.arange(3))


@same
def other_weakness(jax, jnp):
    c = jax.jit(lambda x: x * 2).lower(jnp.float32(1)).compile()
    return c(2.0), c(np.float32(3))


@same
def other_weakness_the_other_way(jax, jnp):
    return jax.jit(lambda x: x * 2).lower(1.0).compile()(jnp.float32(1))


@same
def integer_for_float(jax, jnp):
    return jax.jit(lambda x: x * 2).lower(1.0).compile()(1)


@same
def wrong_tree(jax, jnp):
    return jax.jit(lambda x: x).lower((1, 2)).compile()([1, 2])


@same
def wrong_count(jax, jnp):
    return jax.jit(lambda x, y: x).lower(1, 2).compile()(1)


@same
def string_argument(jax, jnp):
    return jax.jit(lambda x: x).lower(1).compile()("a")


@same
def compiled_is_not_traceable(jax, jnp):
    c = jax.jit(lambda x: x).lower(1.0).compile()
    return jax.jit(lambda x: c(x))(1.0)


@same
def donated(jax, jnp):
    c = jax.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(3)).compile()
    x = jnp.arange(3.0)
    return c(x), x.is_deleted(), c.donate_argnums


@same
def deleted_argument(jax, jnp):
    c = jax.jit(lambda x: x + 1).lower(jnp.ones(3)).compile()
    x = jnp.ones(3)
    x.delete()
    return c(x)


@same
def no_arguments(jax, jnp):
    return jax.jit(lambda: jnp.arange(3)).lower().compile()()


@same
def keys(jax, jnp):
    c = jax.jit(lambda k: jax.random.uniform(k, (2,))).lower(jax.random.key(0)).compile()
    return c(jax.random.key(1))


@same
def x64(jax, jnp):
    with jax.enable_x64(True):
        c = jax.jit(lambda x: x * 2).lower(1.0).compile()
    return c.out_info


@same
def lower_twice_traces_once(jax, jnp):
    f, runs = counted(lambda x: x)
    g = jax.jit(f)
    g.lower(1), g.lower(2), g.trace(3), g(4)
    return len(runs)


@same
def no_such_text(jax, jnp):
    return jax.jit(lambda x: x).lower(1).as_text("nonsense")


@same
def argument_of_wrong_kind(jax, jnp):
    return jax.jit(lambda x: x).lower("abc")


@same
def eval_shape(jax, jnp):
    f = jax.jit(lambda t, n: {"a": t["x"][:n], "b": 1}, static_argnums=1)
    return f.eval_shape({"x": jnp.ones((4, 2))}, 2)


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)


@pytest.mark.parametrize("stage", ["jaxpr", "hlo", "kernels", "llvm", "asm"])
def test_texts(stage):
    lowered = jitney.jit(lambda x: jtnp.sin(x) + 1).lower(jtnp.ones(4))
    for text in (lowered.as_text(stage), lowered.compile().as_text(stage)):
        assert "sin" in text or stage in ("llvm", "asm"), text
        assert len(text) > 40


def test_analyses():
    compiled = jitney.jit(lambda x: jtnp.sin(x) + 1).lower(jtnp.ones(1000)).compile()
    assert compiled.cost_analysis()["flops"] >= 1000
    assert compiled.cost_analysis()["bytes accessed"] >= 8000
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 4000
    assert memory.generated_code_size_in_bytes > 0
    assert {"trace", "lower"} <= set(compiled.timings())
    factored = jitney.jit(jtnp.linalg.cholesky).lower(jtnp.eye(60)).compile()
    assert factored.cost_analysis()["flops"] >= 60**3 / 3  # LAPACK's count


def test_calls_of_compiled_programs_are_described_as_in_jax():
    def claim(package):
        compiled = package.jit(lambda x, y: {"sum": x + y}).lower(1.0, y=2.0).compile()
        params = compiled._params
        assert params.in_tree == compiled.in_tree
        assert params.out_tree == compiled.out_tree
        assert params.const_args == []
        assert not params.no_kwargs
        assert len(params.executable.in_avals) == 2

    check_claim(claim)


test_devices_and_places_are_like_jax = lines_alike(__file__, "stages_on_meshes.py")
