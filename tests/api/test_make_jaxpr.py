"""`make_jaxpr`, `eval_shape`, `typeof` and programs as values, against real jax."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from tests.helpers.both import Cases, check, counted

import jitney

same = Cases()


@same
def arguments_of_all_kinds(jax, jnp):
    f = lambda *a: a[0]  # noqa: E731
    return [
        str(jax.make_jaxpr(f)(x))
        for x in (1, 1.0, True, 1j, np.float64(1), np.int64(2), np.ones(3), jnp.ones((2, 3)),
                  jax.random.key(0), [1, 2], {"a": (1, None)}, jnp.bfloat16(1), np.uint8(3),
                  jax.ShapeDtypeStruct((2, 3), jnp.int8), np.bool_(True), None, ())
    ]  # fmt: skip


@same
def names_of_programs_printed_apart(jax, jnp):
    """Variables get other names than these."""

    def text(*names):
        functions = []
        for name in names:
            f = lambda x: jnp.sin(x)  # noqa: E731 (each a function of its own)
            f.__name__ = name
            functions.append(jax.jit(f))

        def g(x, y):
            for f in functions:
                x = f(f(x)) + y * 1 + x * 2
            return x

        return str(jax.make_jaxpr(g)(1.0, 2.0))

    return [text("a"), text("d", "a"), text("f", "f", "h"), text("<lambda>", "b", "c")]


@same
def jitted_closures_over_traced_values(jax, jnp):
    """Called twice, they are one program."""

    def g(x, y):
        @jax.jit
        def f(z):
            return z * y

        return f(x) + f(y)

    f, runs = counted(lambda z, y: z + y)

    def h(x):
        inner = jax.jit(lambda z: f(z, x))
        return sum(inner(x) for _ in range(5)) + inner(jnp.ones(3)).sum()

    return str(jax.make_jaxpr(g)(1.0, 2.0)), jax.jit(g)(3.0, 4.0), jax.jit(h)(2.0), len(runs)


@same
def static_arguments(jax, jnp):
    f = lambda n, x: x**n  # noqa: E731
    return (str(jax.make_jaxpr(f, static_argnums=0)(3, 2.0)),
            str(jax.make_jaxpr(f, static_argnums=(0,))(2, jnp.ones(3))),
            str(jax.make_jaxpr(lambda x, n: x * n, static_argnums=-1)(2.0, 3)))  # fmt: skip


@same
def shape_returned(jax, jnp):
    program, shape = jax.make_jaxpr(lambda x: {"a": x * 2, "b": [x.sum()]}, return_shape=True)(
        jnp.ones(3)
    )
    return str(program), shape


@same
def axes_in_scope(jax, jnp):
    return str(jax.make_jaxpr(lambda x: x * 2, axis_env=[("i", 4)])(1.0))


@same
def keywords(jax, jnp):
    return str(jax.make_jaxpr(lambda x, *, y: x - y)(1.0, y=2)), str(
        jax.make_jaxpr(lambda **kw: kw["b"] - kw["a"])(b=1.0, a=2)
    )


@same
def constants(jax, jnp):
    w, n = jnp.arange(3.0), np.arange(3)
    k = jnp.float32(2)
    closed = jax.make_jaxpr(lambda x: x * w + n + k + w)(1.0)
    return (str(closed), [np.asarray(c) for c in closed.consts], len(closed.literals),
            str(closed.in_avals), str(closed.out_avals))  # fmt: skip


@same
def parts_of_programs(jax, jnp):
    closed = jax.make_jaxpr(lambda x, y: (jnp.sin(x) + y, y, 1.0))(1.0, jnp.ones(2))
    jaxpr = closed.jaxpr
    eqn = jaxpr.eqns[0]
    return (len(jaxpr.eqns), eqn.primitive.name, str(eqn), [str(v.aval) for v in jaxpr.invars],
            [str(v.aval) for v in jaxpr.outvars], sorted(eqn.params), len(jaxpr.constvars),
            len(jaxpr.effects), [type(v).__name__ for v in jaxpr.outvars],
            float(jaxpr.outvars[2].val), eqn.primitive.multiple_results, str(jaxpr), repr(closed),
            )  # fmt: skip


@same
def names(jax, jnp):
    def f(x):
        return x

    g = jax.make_jaxpr(f)
    return g.__name__, g.__wrapped__ is f, g.__module__


@same
def not_callable(jax, jnp):
    return jax.make_jaxpr(3)


@same
def argument_is_string(jax, jnp):
    return jax.make_jaxpr(lambda x: x)("a")


@same
def result_is_string(jax, jnp):
    return jax.make_jaxpr(lambda x: "a")(1)


@same
def of_jitted_and_partial(jax, jnp):
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    return str(jax.make_jaxpr(f, static_argnums=1)(1.0, 3)), str(
        jax.make_jaxpr(functools.partial(f, n=2))(1.0)
    )


@same
def nested_make_jaxpr(jax, jnp):
    def f(x):
        return x * len(jax.make_jaxpr(lambda y: y + 1)(1.0).eqns) + jax.eval_shape(jnp.sin, x).ndim

    return str(jax.make_jaxpr(f)(1.0))


@same
def dead_code_stays(jax, jnp):
    def f(x):
        jnp.sin(x)
        return x

    return str(jax.make_jaxpr(f)(1.0)), str(jax.make_jaxpr(jax.jit(f))(1.0))


@same
def nested_programs_print(jax, jnp):
    g = jax.jit(lambda x: jnp.sin(x) * 2)

    def f(x):
        return g(x) + g(x * 2) + jax.jit(lambda y: y)(x)

    return str(jax.make_jaxpr(f)(jnp.ones((2, 2)))), jax.make_jaxpr(f)(1.0).pretty_print()


@same
def under_disable_jit(jax, jnp):
    with jax.disable_jit():
        return str(jax.make_jaxpr(jax.jit(lambda x: x * 2))(1.0))


@same
def device_put_is_recorded(jax, jnp):
    return len(jax.make_jaxpr(lambda x: jax.device_put(x))(1.0).eqns)


# --- running programs ---------------------------------------------------------------------------


@same
def eval_jaxpr(jax, jnp):
    w = jnp.arange(3.0)
    closed = jax.make_jaxpr(lambda x, y: (x * w, y + 1))(1.0, 2)
    run = jax.core.eval_jaxpr
    return (run(closed.jaxpr, closed.consts, 2.0, 5), run(closed.jaxpr, [w + 1], jnp.ones(3), 1),
            str(jax.make_jaxpr(lambda x: run(closed.jaxpr, closed.consts, x, 1))(1.0)))  # fmt: skip


@same
def jaxpr_as_fun(jax, jnp):
    import importlib

    core = importlib.import_module(jax.__name__ + ".extend.core")
    closed = jax.make_jaxpr(lambda x: (jnp.sin(x), x))(1.0)
    f = core.jaxpr_as_fun(closed)
    return f(0.0), jax.jit(f)(1.0), str(jax.make_jaxpr(f)(2.0))


@same
def eval_jaxpr_with_too_few(jax, jnp):
    closed = jax.make_jaxpr(lambda x, y: x + y)(1.0, 2.0)
    return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 1.0)


# --- eval_shape, typeof ---------------------------------------------------------------------------


@same
def eval_shape(jax, jnp):
    s = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    f, runs = counted(lambda a, b: {"dot": a @ b, "list": [a, 1, 2.0, True]})
    out = jax.eval_shape(f, s, jnp.ones((3, 4)))
    jax.eval_shape(f, s, jnp.ones((3, 4)))
    return out, len(runs), jax.eval_shape(lambda: jnp.ones(3)), jax.eval_shape(lambda *, k: k, k=1)


@same
def eval_shape_of_objects_with_shape_and_dtype(jax, jnp):
    class Like:
        shape, dtype = (3,), np.dtype("float32")

    return jax.eval_shape(lambda x: x + 1, Like())


@same
def eval_shape_refuses(jax, jnp):
    return jax.eval_shape(lambda x: x, "abc")


@same
def eval_shape_with_static(jax, jnp):
    return jax.eval_shape(functools.partial(lambda n, x: jnp.ones((n, x.shape[0])), 3), jnp.ones(4))


@same
def eval_shape_shows_errors(jax, jnp):
    return jax.eval_shape(jnp.dot, jnp.ones(3), jnp.ones(4))


@same
def typeof(jax, jnp):
    return [str(jax.typeof(x)) for x in (1, 1.0, True, 1j, np.float64(1), np.ones((2, 3)),
                                         jnp.ones(3, jnp.bfloat16), jax.random.key(0),
                                         np.float32(2), jnp.asarray(2))]  # fmt: skip


@same
def typeof_refuses(jax, jnp):
    return jax.typeof("a")


@same
def structs(jax, jnp):
    s = jax.ShapeDtypeStruct((2, 3), "float32")
    t = jax.ShapeDtypeStruct(shape=[2, 3], dtype=jnp.float32)
    return (s == t, hash(s) == hash(t), repr(s), s.size, s.ndim, len(s), str(s.dtype), s.shape,
            s.update(dtype="int8"), s == jax.ShapeDtypeStruct((2, 3), "int32"), s.sharding,
            repr(jax.ShapeDtypeStruct((), jnp.bfloat16, weak_type=True)), s == 3, s.weak_type,
            )  # fmt: skip


@same
def struct_without_dtype(jax, jnp):
    return jax.ShapeDtypeStruct((2,), None)


@same
def struct_of_odd_shape(jax, jnp):
    return jax.ShapeDtypeStruct(3, "float32")


@same
def struct_of_64_bits(jax, jnp):
    return repr(jax.ShapeDtypeStruct((2,), np.float64)), jax.eval_shape(
        lambda x: x, jax.ShapeDtypeStruct((2,), np.float64)
    )


@same
def structs_as_arguments_of_traced_calls(jax, jnp):
    inner = jax.jit(lambda x, y: x["a"] + y)
    struct = jax.ShapeDtypeStruct((3,), jnp.float32)

    def outer():
        return inner({"a": struct}, struct)

    try:
        jax.jit(outer)()
    except TypeError:
        return jax.eval_shape(outer), str(jax.make_jaxpr(outer)())


@same
def shaped_arrays(jax, jnp):
    from_core = jax.core.ShapedArray
    a = from_core((2, 3), jnp.dtype("float32"))
    return (str(a), repr(a), a.shape, str(a.dtype), a.ndim, a.size, a.weak_type,
            a == from_core((2, 3), jnp.dtype("float32")), hash(a) == hash(a.update()),
            str(a.update(shape=(4,))), str(a.update(weak_type=True)), a.str_short(), a.str_short(True),
            str(a.strip_weak_type()), str(a.to_tangent_aval()),
            str(from_core((2,), np.dtype("int32")).to_tangent_aval()))  # fmt: skip


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)


def test_closures_whose_values_change_are_traced_again():
    """JAX takes the first value for all calls."""
    state = {}

    @jitney.jit
    def by_global(z):
        return z * state["w"]

    def g(x):
        y = x

        @jitney.jit
        def by_cell(z):
            return z * y

        a = by_cell(x)
        y = x + 1
        state["w"] = x
        b = by_global(x)
        state["w"] = x * 2
        return a, by_cell(x), b, by_global(x)

    assert [float(v) for v in jitney.jit(g)(2.0)] == [4.0, 6.0, 4.0, 8.0]
