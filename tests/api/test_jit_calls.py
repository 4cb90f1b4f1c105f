"""When jitted functions are traced anew, what repeated calls see, and misuse, against real jax."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.helpers.both import Cases, check, counted

same = Cases()


class Pair(NamedTuple):
    x: Any
    y: Any


# --- fresh data ---------------------------------------------------------------------------------


@same
def numpy_array_changed_between_calls(jax, jnp):
    f = jax.jit(lambda x: x * 2)
    x = np.arange(3.0, dtype=np.float32)
    outs = []
    for i in range(4):
        outs.append(f(x))
        x[:] = i
    return outs


@same
def numpy_array_returned_unchanged_then_changed(jax, jnp):
    f = jax.jit(lambda x: x)
    x = np.arange(3.0, dtype=np.float32)
    a = f(x)
    x[:] = 7
    b = f(x)
    x[:] = 8
    return a, b


@same
def closed_over_numpy_array_changed(jax, jnp):
    w = np.arange(3.0, dtype=np.float32)
    f = jax.jit(lambda x: x + w)
    a = f(1)
    w[:] = 5
    return a, f(1), f(1.0)


@same
def closed_over_arrays(jax, jnp):
    w = jnp.arange(3.0)
    n = np.ones(3)
    f = jax.jit(lambda x: x * w + n + 2)
    return f(1), f(2), f(jnp.ones((2, 3)))


@same
def closed_over_global_changed(jax, jnp):
    state = {"k": 1}
    f = jax.jit(lambda x: x * state["k"])
    a = f(2)
    state["k"] = 5
    return a, f(2), f(2.0)


@same
def argument_deleted_before_the_call(jax, jnp):
    f = jax.jit(lambda x: x + 1)
    x = jnp.arange(3.0)
    f(x)
    x.delete()
    return f(x)


@same
def argument_deleted_unused(jax, jnp):
    f = jax.jit(lambda x, y: y)
    x = jnp.arange(3.0)
    x.delete()
    return f(x, 1)


@same
def argument_deleted_in_tree(jax, jnp):
    f = jax.jit(lambda t: t["a"] + 1)
    x = jnp.arange(3.0)
    f({"a": x})
    f({"a": x})
    x.delete()
    return f({"a": x})


@same
def transposed_arguments(jax, jnp):
    x = jnp.arange(6.0).reshape(2, 3)
    f = jax.jit(lambda x: x * 2 + x)
    return f(x.T), f(x), f(x.T), f(x[:, ::2]), f(x[::-1]), f(x.T[::2])


@same
def result_survives_arguments(jax, jnp):
    f = jax.jit(lambda x: x)
    x = jnp.arange(3.0)
    y = f(x)
    x.delete()
    return y


# --- tracing anew -------------------------------------------------------------------------------


@same
def retraces(jax, jnp):
    f, runs = counted(lambda x: jnp.multiply(x, 2))
    g = jax.jit(f)
    seen = []
    for x in [
        jnp.ones(3), jnp.zeros(3), np.ones(3, np.float32), np.ones(3), jnp.ones(4), jnp.ones((3, 1)),
        jnp.arange(3), np.arange(3), 1, 2, jnp.array(1), np.int32(1), np.array(1), 1.0, 2.0, True,
        np.bool_(True), 1j, jnp.float32(1), jnp.asarray(1.0), jnp.ones(3) * 1, jnp.int8(1),
        np.float64(1), jnp.asarray(1), jnp.full(3, 1), jnp.broadcast_to(1.0, (3,)), np.float32(1),
    ]:  # fmt: skip
        g(x)
        seen.append(len(runs))
    return seen


@same
def retraces_by_structure(jax, jnp):
    f, runs = counted(lambda t: jax.tree_util.tree_leaves(t))
    g = jax.jit(f)
    seen = []
    for t in [(1, 2), (3, 4), [1, 2], {"a": 1, "b": 2}, {"b": 1, "a": 2}, {"a": 1, "c": 2},
              (1, None, 2), (1, (2,)), Pair(1, 2), Pair(2, 3), (1, 2.0), None, ()]:  # fmt: skip
        g(t)
        seen.append(len(runs))
    return seen


@same
def retraces_by_keywords(jax, jnp):
    f, runs = counted(lambda x, y=1: x)
    g = jax.jit(f)
    seen = []
    for args, kwargs in [((1,), {}), ((1, 1), {}), ((1,), {"y": 1}), ((), {"x": 1}),
                         ((), {"x": 1, "y": 2}), ((), {"y": 2, "x": 1}), ((1,), {})]:  # fmt: skip
        g(*args, **kwargs)
        seen.append(len(runs))
    return seen


@same
def retraces_by_settings(jax, jnp):
    f, runs = counted(lambda x: x * 2)
    g = jax.jit(f)
    seen = []

    def call(x):
        seen.append((g(x), len(runs)))

    call(1.0)
    with jax.enable_x64(True):
        call(1.0)
        call(np.ones(2))
        call(2.0)
    call(1.0)
    with jax.numpy_rank_promotion("raise"):
        call(1.0)
    with jax.default_matmul_precision("float32"):
        call(1.0)
    with jax.debug_nans(True):
        call(1.0)
    with jax.numpy_dtype_promotion("strict"):
        call(1.0)
    call(1.0)
    return seen


@same
def two_jits_of_one_function(jax, jnp):
    f, runs = counted(lambda x: x * 2)
    a, b = jax.jit(f), jax.jit(f)
    a(1.0), b(1.0), jax.jit(f)(2.0)
    return len(runs)


@same
def two_jits_with_other_options(jax, jnp):
    f, runs = counted(lambda x, n=1: x * n)
    jax.jit(f)(1.0, 2)
    jax.jit(f, static_argnums=1)(1.0, 2)
    jax.jit(f, keep_unused=True)(1.0, 2)
    jax.jit(f, inline=True)(1.0, 2)
    jax.jit(f, donate_argnums=0)(1.0, 2)
    return len(runs)


@same
def clear_cache(jax, jnp):
    f, runs = counted(lambda x: x * 2)
    g = jax.jit(f)
    g(1.0), g(1.0)
    g.clear_cache()
    g(1.0), g(1.0)
    return len(runs)


@same
def clear_caches(jax, jnp):
    f, runs = counted(lambda x: x * 2)
    g = jax.jit(f)
    g(1.0), g(1.0)
    jax.clear_caches()
    a = g(1.0)
    jax.clear_caches()
    return a, g(jnp.ones(3)), len(runs)


@same
def nested_traced_once(jax, jnp):
    f, runs = counted(lambda x: jnp.sin(x) * 2)
    inner = jax.jit(f)
    out = jax.jit(lambda x: inner(x) + inner(x + 1) + inner(x.T))(jnp.ones((2, 2)))
    inner(jnp.ones((2, 2)))
    return out, len(runs)


@same
def make_jaxpr_and_jit_share(jax, jnp):
    f, runs = counted(lambda x: jnp.sin(x) * 2)
    g = jax.jit(f)
    jax.make_jaxpr(g)(1.0)
    g(1.0)
    g.lower(1.0)
    g.trace(1.0)
    jax.eval_shape(g, 1.0)
    g.eval_shape(1.0)
    return len(runs)


@same
def error_while_tracing_is_not_kept(jax, jnp):
    tries = []

    def f(x):
        tries.append(1)
        if len(tries) == 1:
            raise KeyError("first")
        return x

    g = jax.jit(f)
    with contextlib.suppress(KeyError):
        g(1)
    return g(1), len(tries)


# --- switched off -------------------------------------------------------------------------------


@same
def disable_jit(jax, jnp):
    f, runs = counted(lambda x: x * 2)
    g = jax.jit(f)
    kinds = []

    def h(x):
        kinds.append(isinstance(x, jax.core.Tracer))
        return x + 1

    k = jax.jit(h)
    g(1.0), g(1.0), k(1)
    with jax.disable_jit():
        a = g(1.0), g(1.0), k(jnp.ones(2)), k(1)
    with jax.disable_jit(False):
        g(1.0)
    jax.config.update("jax_disable_jit", True)
    try:
        b = g(1.0), k(3)
    finally:
        jax.config.update("jax_disable_jit", False)
    return a, b, g(1.0), len(runs), kinds


@same
def disable_jit_keeps_python_values(jax, jnp):
    with jax.disable_jit():
        return jax.jit(lambda x: x)(3), jax.jit(lambda x, n: "s" * n, static_argnums=1)(1, 2)


@same
def disable_jit_with_static_and_kwargs(jax, jnp):
    f = jax.jit(lambda x, *, n: x * n, static_argnames="n")
    with jax.disable_jit():
        return f(2, n=3), f(jnp.ones(2), n=2)


@same
def debug_nans(jax, jnp):
    f = jax.jit(lambda x: jnp.log(x))
    f(-1.0), f(-1.0)
    with jax.debug_nans(True):
        return f(-1.0)


@same
def debug_nans_then_not(jax, jnp):
    f = jax.jit(lambda x: jnp.log(x))
    with jax.debug_nans(True):
        f(1.0), f(1.0)
    f(-1.0)
    f(-1.0)
    with jax.debug_nans(True):
        f(1.0)
        return f(-2.0)


# --- misuse -------------------------------------------------------------------------------------


@same
def leak(jax, jnp):
    saved = []
    jax.jit(lambda x: saved.append(x * 2))(1.0)
    return saved[0] + 1


@same
def leak_into_jit(jax, jnp):
    saved = []
    jax.jit(lambda x: saved.append(x))(1.0)
    f = jax.jit(lambda x: x)
    f(1.0), f(1.0)
    return f(saved[0])


@same
def leak_into_closure(jax, jnp):
    saved = []
    jax.jit(lambda x: saved.append(x))(1.0)
    return jax.jit(lambda y: y + saved[0])(1.0)


@same
def leak_as_result(jax, jnp):
    saved = []
    jax.jit(lambda x: saved.append(x))(1.0)
    return jax.jit(lambda y: saved[0])(1.0)


@same
def branch_on_tracer(jax, jnp):
    return jax.jit(lambda x: x if x > 0 else -x)(1.0)


@same
def error_inside(jax, jnp):
    def f(x):
        raise ValueError("mine")

    return jax.jit(f)(1)


@same
def print_of_tracer(jax, jnp):
    seen = []
    jax.jit(lambda x, y: seen.extend([repr(x), str(y), repr(x * 2), f"{y}"]))(1.0, jnp.ones((2, 3)))
    return seen


@same
def attributes_of_tracer(jax, jnp):
    seen = []

    def f(x):
        seen.extend([x.shape, str(x.dtype), x.ndim, x.size, x.weak_type, len(x), x.nbytes,
                     isinstance(x, jax.Array), str(x.aval), hasattr(x, "at"), x.itemsize])  # fmt: skip
        return x

    jax.jit(f)(jnp.ones((2, 3)))
    return seen


@same
def kept_unused(jax, jnp):
    f = jax.jit(lambda x, y: x, keep_unused=True)
    return f(1, 2.0), f(jnp.ones(2), np.ones(3)), f(jnp.ones(2), np.ones(3))


@same
def accepted_options(jax, jnp):
    f = jax.jit(lambda x: x + 1, backend="cpu")
    g = jax.jit(lambda x: x + 1, device=jax.devices()[0])
    h = jax.jit(lambda x: x + 1, in_shardings=None, out_shardings=None)
    k = jax.jit(lambda x: x + 1, compiler_options={})
    return f(1), g(1), h(1), k(1)


@same
def shardings_of_one_device(jax, jnp):
    s = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return jax.jit(lambda x: x + 1, in_shardings=s, out_shardings=s)(jnp.ones(2))


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)
