"""`jit` from the user's side, against real jax: functions, arguments, results, nesting."""

from __future__ import annotations

import functools
import operator
import pickle
import sys
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.helpers.both import Cases, check, counted

import jitney
import jitney.numpy as jtnp

same = Cases()


# --- what may be jitted -------------------------------------------------------------------------


@same
def decorator(jax, jnp):
    @jax.jit
    def f(x):
        """Doubles."""
        return 2 * x

    return f(3), f.__name__, f.__doc__, f.__wrapped__(4)


@same
def decorator_with_options(jax, jnp):
    @jax.jit(static_argnames="n")
    def f(x, n):
        return x * n

    @functools.partial(jax.jit, static_argnums=(1,), inline=True)
    def g(x, n):
        return x * n

    return f(2, n=3), g(2, 3)


class Model:
    def __init__(self, jax, w):
        self.w = w
        self.jitted = jax.jit(self.apply)

    def apply(self, x):
        return self.w * x


@same
def bound_methods(jax, jnp):
    m = Model(jax, jnp.arange(3.0))
    return m.jitted(2.0), jax.jit(m.apply)(3.0), jax.jit(m.apply)(3.0)


@same
def bound_methods_of_two_objects(jax, jnp):
    a, b = Model(jax, 2.0), Model(jax, 3.0)
    return a.jitted(1.0), b.jitted(1.0), a.jitted(1.0)


@same
def methods(jax, jnp):
    class Layer:
        @functools.partial(jax.jit, static_argnums=0)
        def plain(self, x):
            return x + 1

        @classmethod
        @functools.partial(jax.jit, static_argnums=0)
        def of_class(cls, x):
            return x + 2

        @staticmethod
        @jax.jit
        def free(x):
            return x + 3

    layer = Layer()
    return layer.plain(1), Layer.plain(layer, 1), Layer.of_class(1), layer.free(1), Layer.free(1)


@same
def callable_object(jax, jnp):
    class Adder:
        def __init__(self, n):
            self.n = n

        def __call__(self, x):
            return x + self.n

    return jax.jit(Adder(2))(1), jax.jit(Adder(3))(1)


@same
def partial_function(jax, jnp):
    f = jax.jit(functools.partial(lambda n, x, *, k: n * x + k, 3, k=1))
    return f(2), f(jnp.ones(2))


@same
def partial_with_array(jax, jnp):
    return jax.jit(functools.partial(lambda w, x: w * x, jnp.arange(3)))(2)


@same
def builtin_and_numpy_like(jax, jnp):
    return jax.jit(max)(1, 2) if False else jax.jit(jnp.sin)(0.0), jax.jit(abs)(-2)


@same
def type_as_function(jax, jnp):
    return jax.jit(dict)(a=1, b=2.0), jax.jit(list)((1, 2))


@same
def not_callable(jax, jnp):
    return jax.jit(3)


@same
def coroutine(jax, jnp):
    async def f():
        pass

    made = f()
    try:
        return jax.jit(lambda x: made)(1)
    finally:
        made.close()  # else it warns when it is collected, in whichever test that may be


@same
def generator(jax, jnp):
    def f(x):
        yield x

    return jax.jit(f)(1)


@same
def jit_of_jit(jax, jnp):
    f = jax.jit(jax.jit(lambda x: x + 1))
    return f(1), f.__wrapped__ is not None


@same
def wrapped_attributes(jax, jnp):
    def f(x: int, y: float = 2) -> int:
        return x

    import inspect

    g = jax.jit(f)
    return str(inspect.signature(g)), g.__module__, g.__qualname__, callable(g), hash(g) == hash(g)


@same
def copies(jax, jnp):
    import copy
    import inspect

    def f(x, n=2):
        return x * n

    g = jax.jit(f, static_argnums=1)
    partial = jax.jit(functools.partial(f, n=3))
    return (copy.copy(g)(1), copy.deepcopy(g)(2), copy.deepcopy(g) is g, partial.__name__,
            inspect.getfullargspec(g).args, str(inspect.signature(partial)))  # fmt: skip


@same
def positional_arguments_to_jit(jax, jnp):
    return jax.jit(lambda x: x, 1)


@same
def unknown_option(jax, jnp):
    return jax.jit(lambda x: x, nope=1)


# --- arguments and results ----------------------------------------------------------------------


class Pair(NamedTuple):
    x: Any
    y: Any


@same
def trees(jax, jnp):
    f = jax.jit(lambda t: {"b": t["a"][0], "a": [t["c"].y, None, (t["c"].x,)], "p": t["c"]})
    tree = {"c": Pair(1, np.ones(2)), "a": (jnp.zeros(1), None)}
    return f(tree), f(tree), f(tree)


@same
def custom_nodes(jax, jnp):
    @jax.tree_util.register_pytree_node_class
    class Box:
        def __init__(self, value, note):
            self.value, self.note = value, note

        def tree_flatten(self):
            return (self.value,), self.note

        @classmethod
        def tree_unflatten(cls, note, children):
            return cls(children[0], note)

    f, runs = counted(lambda b: Box(b.value * 2, b.note + "!"))
    g = jax.jit(f)
    outs = [g(Box(jnp.ones(2), "a")) for _ in range(3)] + [g(Box(1, "b"))]
    return [(o.value, o.note) for o in outs], len(runs)


@same
def registered_dataclass(jax, jnp):
    import dataclasses

    @functools.partial(
        jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["name"]
    )
    @dataclasses.dataclass
    class Params:
        w: Any
        b: Any
        name: str

    f, runs = counted(lambda p, x: Params(p.w * x, p.b, p.name))
    g = jax.jit(f)
    out = g(Params(jnp.ones(2), 1.0, "n"), 2.0)
    g(Params(jnp.ones(2), 2.0, "n"), 3.0)
    g(Params(jnp.ones(2), 2.0, "m"), 3.0)
    return out.w, out.b, out.name, len(runs)


@same
def nothing_in_nothing_out(jax, jnp):
    return jax.jit(lambda: None)(), jax.jit(lambda: ())(), jax.jit(list)()


@same
def no_arguments(jax, jnp):
    f = jax.jit(lambda: jnp.arange(3))
    return f(), f(), jax.jit(lambda: 1)(), jax.jit(lambda: np.ones(2))()


@same
def none_arguments(jax, jnp):
    f = jax.jit(lambda x, y=None: x if y is None else x + y)
    return f(1), f(1, None), f(1, 2), f(None)


@same
def keywords(jax, jnp):
    f = jax.jit(lambda x, *rest, scale=1, **more: (x * scale, rest, more))
    return (
        f(1), f(1, 2, 3), f(1, scale=4), f(1, 2, k=5, j=6), f(1, 2, j=6, k=5), f(x=1),
    )  # fmt: skip


@same
def three_hundred_arguments(jax, jnp):
    f = jax.jit(lambda *xs: sum(xs))
    xs = [jnp.float32(i) for i in range(300)]
    return f(*xs), f(*xs), f(*range(300)), jax.jit(lambda *xs: xs[::50])(*xs)


@same
def wrong_count(jax, jnp):
    return jax.jit(lambda x, y: x)(1)


@same
def wrong_keyword(jax, jnp):
    return jax.jit(lambda x: x)(1, z=2)


@same
def argument_is_string(jax, jnp):
    return jax.jit(lambda x: x)("abc")


@same
def argument_is_object(jax, jnp):
    return jax.jit(lambda x: x)({"a": object()})


@same
def argument_is_function(jax, jnp):
    return jax.jit(lambda f, x: f(x))(abs, 1)


@same
def argument_is_object_array(jax, jnp):
    return jax.jit(lambda x: x)(np.array([object()]))


@same
def argument_is_string_array(jax, jnp):
    return jax.jit(lambda x: x)(np.array(["a"]))


@same
def result_is_string(jax, jnp):
    return jax.jit(lambda x: "abc")(1)


@same
def result_holds_object(jax, jnp):
    return jax.jit(lambda x: {"a": (x, object())})(1)


@same
def result_is_set(jax, jnp):
    return jax.jit(lambda x: {1, 2})(1)


@same
def result_is_aval(jax, jnp):
    return jax.jit(lambda x: x.dtype)(1)


@same
def result_is_python_and_numpy(jax, jnp):
    f = jax.jit(lambda x: (1, 2.5, True, 1j, np.float32(2), np.arange(2), x))
    return f(0), f(0)


@same
def result_is_float64(jax, jnp):
    return jax.jit(lambda x: (np.float64(2), np.ones(2), np.int64(3)))(0)


@same
def result_is_argument(jax, jnp):
    x = jnp.arange(3.0)
    f = jax.jit(lambda x: (x, x, x.T))
    y = f(x)
    return y, f(x)[0] is x


@same
def result_is_closed_over(jax, jnp):
    x = jnp.arange(3.0)
    f = jax.jit(lambda: x)
    return f(), f() is x


def scalars(jax, jnp):
    return [
        1, -7, 0, 2**31 - 1, -(2**31), 1.5, -0.0, 1e30, 1e300, float("inf"), True, False, 1 + 2j,
        np.float32(2), np.float64(2), np.int8(3), np.uint8(200), np.int64(5), np.bool_(True),
        np.complex64(1j), np.float16(1.5), jnp.float32(3), jnp.bfloat16(2), jnp.array(3),
        jnp.asarray(3.0), np.array(2), np.array(2.0), np.arange(3), np.ones((2, 2)),
        np.ones((2, 3)).T, np.arange(6)[::2], np.array([True, False]), np.array([]),
        np.zeros((0, 3)), np.arange(4, dtype=np.uint8), np.array([1 + 1j]), jnp.zeros((2, 0)),
        jnp.arange(6).reshape(2, 3).T, jnp.ones(3, bool), np.array([1, 2], dtype=">i4"),
        np.array([1.5, 2], dtype=">f8"), np.float32(1) * np.ones(()), jnp.ones(2, jnp.int4),
        jnp.ones(2, jnp.float8_e4m3fn), jax.random.key(3), jax.random.split(jax.random.key(1)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.broadcast_to(np.float32(3), (2, 2)),
    ]  # fmt: skip


@pytest.mark.parametrize("i", range(len(scalars(jitney, jtnp))))
def test_every_kind_of_argument_thrice(i):
    """First (traced), second (fast path), third; bare, in a container, twice, beside others."""

    def case(jax, jnp):
        x = scalars(jax, jnp)[i]
        is_key = "key" in str(getattr(x, "dtype", ""))
        body = (lambda x: x) if is_key else (lambda x: (x, jnp.add(x, x), jnp.where(x, x, x)))
        f, g = jax.jit(body), jax.jit(lambda t, y: (body(t["a"]), y, t["b"]))
        outs = [f(x) for _ in range(3)]
        outs += [g({"a": x, "b": (x, None)}, x) for _ in range(3)]
        return outs + [g({"b": (x, None), "a": x}, 1.0) for _ in range(2)]

    check(case)


@same
def integer_too_large(jax, jnp):
    return jax.jit(lambda x: x)(2**31)


@same
def integer_too_large_after_a_small_one(jax, jnp):
    f = jax.jit(lambda x: x)
    f(1)
    return f(2**40)


@same
def integer_enormous_after_a_small_one(jax, jnp):
    f = jax.jit(lambda x: x)
    f(1)
    return f(2**80)


@same
def integer_too_large_inside(jax, jnp):
    return jax.jit(lambda x: x + 2**31)(1)


@same
def subclasses_of_scalars(jax, jnp):
    class MyInt(int):
        pass

    class MyFloat(float):
        pass

    import enum

    class E(enum.IntEnum):
        A = 3

    f = jax.jit(lambda x: x + 1)
    return f(1), f(MyInt(2)), f(MyInt(3)), f(1.0), f(MyFloat(2)), f(E.A), f(True)


# --- nesting ------------------------------------------------------------------------------------


@same
def nested_jaxprs(jax, jnp):
    inner = jax.jit(lambda x, y: (x * y, x + y))
    inlined = jax.jit(lambda x: x - 1, inline=True)

    def f(x):
        a, b = inner(x, 2.0)
        c = inlined(b)
        return inner(a, c)

    return str(jax.make_jaxpr(f)(1.0)), str(jax.make_jaxpr(jax.jit(f))(1.0))


@same
def options_in_jaxprs(jax, jnp):
    f = jax.jit(lambda x, y: x, keep_unused=True)
    g = jax.jit(lambda x: x + 1, donate_argnums=0)
    return str(jax.make_jaxpr(lambda x: f(x, 1))(1.0)), str(jax.make_jaxpr(g)(1.0))


@same
def closed_over_tracer(jax, jnp):
    def f(x):
        @jax.jit
        def inner(y):
            return x * y

        return inner(2.0) + inner(3.0)

    return jax.jit(f)(2.0), str(jax.make_jaxpr(f)(2.0)).count("jit")


@same
def closed_over_array_in_nested(jax, jnp):
    w = jnp.arange(3.0)
    inner = jax.jit(lambda x: x + w)
    return jax.jit(lambda x: inner(x) * inner(x))(2.0), str(jax.make_jaxpr(inner)(2.0))


@same
def recursion(jax, jnp):
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    return power(2.0, 5), power(3, 3), power(2.0, 5)


@same
def recursion_without_end(jax, jnp):
    @jax.jit
    def f(x):
        return f(x)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400 if jax.__name__ == "jitney" else 600)
    try:
        return f(1.0)
    finally:
        sys.setrecursionlimit(limit)


@same
def compile_time_eval(jax, jnp):
    def f(x):
        with jax.ensure_compile_time_eval():
            n = jnp.sum(jnp.arange(4))
            k = jax.jit(lambda v: v + 1)(n)
            k = jax.jit(lambda v: v + 1)(k)
            shape = (int(k), 2) if k > 3 else ()
        return x + jnp.ones(shape)

    return jax.jit(f)(1.0), jax.jit(jax.jit(f))(1)


@same
def compile_time_eval_of_custom_rules(jax, jnp):
    @jax.custom_jvp
    def f(x):
        return x + 1 if x > 0 else x

    @jax.custom_vjp
    def g(x):
        return -x if x > 0 else x

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    g.defvjp(lambda x: (g(x), None), lambda _, ct: (ct,))

    def both(x):
        with jax.ensure_compile_time_eval():
            return f(2.0) + g(3.0) + x

    return jax.jit(both)(1.0), jax.grad(both)(1.0)


@same
def compile_time_eval_of_tracers(jax, jnp):
    def f(x):
        with jax.ensure_compile_time_eval():
            n = int(jax.lax.scan(lambda c, v: (c + v, None), 0, jnp.arange(3))[0])
            slope = float(jax.grad(jax.nn.relu)(2.0))
            y = jnp.sin(x) * n + jax.jit(lambda v: v * 2)(jnp.ones(3))
            z = jax.lax.scan(lambda c, v: (c + v * x, None), 0.0, jnp.arange(3))[0]
            return y, z, slope, jax.grad(lambda t: jnp.sum(jax.nn.relu(t) * x))(2.0)

    return jax.jit(f)(2.0), jax.vmap(f)(jnp.ones(2)), jax.jacfwd(jax.jit(f))(1.0)


@same
def types_among_results(jax, jnp):
    spec = jax.ShapeDtypeStruct((3,), jnp.float32)
    shapes = jax.eval_shape(lambda x: {"x": x + 1, "spec": spec}, 2.0)
    try:
        jax.jit(lambda: spec)()
    except TypeError as error:
        refused = "ShapeDtypeStruct" in str(error)
    return [x.shape for x in jax.tree.leaves(shapes)], shapes["spec"].dtype.name, refused


@same
def structs_like_values(jax, jnp):
    found = [jnp.ones(3), jnp.asarray(1.0), 2.0, np.ones(2), jax.ShapeDtypeStruct((2,), np.int32)]
    jax.jit(lambda x: found.append(jax.ShapeDtypeStruct.like(x)))(1)
    return [str(jax.ShapeDtypeStruct.like(x)) for x in found]


@same
def fast_path_within_a_trace(jax, jnp):
    inner = jax.jit(lambda x: x + 1)
    a = [inner(jnp.ones(2)) for _ in range(3)]
    b = str(jax.make_jaxpr(lambda x: x + inner(jnp.ones(2)))(1.0))
    return a, b.count("jit"), inner(jnp.ones(2))


def plain(x):
    return x + 1


jitted = jitney.jit(plain)


@jitney.jit
def decorated(x):
    return x + 2


def test_pickling(monkeypatch):
    module = types.ModuleType("module_of_jitted_functions")
    module.plain, module.decorated = plain, decorated
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(plain, "__module__", module.__name__)
    monkeypatch.setattr(decorated, "__module__", module.__name__)
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    again = pickle.loads(pickle.dumps(jitted))
    assert again.__wrapped__ is plain and int(again(1)) == 2


def test_pickling_keeps_all_options():
    options = {"keep_unused": True, "compiler_options": {"nosuch": 1}}
    again = pickle.loads(pickle.dumps(jitney.jit(operator.neg, **options)))
    found = again.call.options
    assert found.name == "neg" and found.keep_unused
    with pytest.raises(RuntimeError, match="nosuch"):
        again(1.0)


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)
