"""Functions with the same code share traces if they read the same values, and never otherwise."""

import functools
import itertools
import math
import operator
import random
import threading
import time
import types
from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.jit import equal_functions
from jitney.api.jit.jit_call import JitCall
from jitney.core.settings import config

pytestmark = pytest.mark.filterwarnings("ignore::jitney.PerformanceWarning")

X = np.arange(3, dtype=np.float32)
CALLS = 5
SCALE = 2.0
W = jnp.array([1.0, 2.0, 3.0])
SETTINGS = types.ModuleType("settings_of_a_program")
SETTINGS.scale = 2.0
SETTINGS.weights = W
TWO = jnp.float32(2.0)
SETTINGS.deeper = types.ModuleType("deeper")
SETTINGS.deeper.scale = 2.0


@pytest.fixture(autouse=True)
def _option(monkeypatch):
    monkeypatch.setattr(config.reuse_equal_functions, "global_value", True)


@pytest.fixture
def traces(monkeypatch):
    """The functions of this module that have been traced."""
    jax.clear_caches()
    found = []
    trace = JitCall._trace

    def note(self, *args):
        if equal_functions._innermost_code(self.fun).co_filename == __file__:
            found.append(self.fun)
        return trace(self, *args)

    monkeypatch.setattr(JitCall, "_trace", note)
    return found


def scaled(x, by=3.0):
    return jnp.tanh(x) * by + SCALE


def even(n, x):
    return x if n == 0 else odd(n - 1, x)


def odd(n, x):
    return -x if n == 0 else even(n - 1, x)


class Model:
    def step(self, x):
        return jax.jit(lambda x: scaled(x) - 1)(x)


def nested(x):
    def inner(y):
        return [y * k for k in (1, 2)][1] + sum(map(float, (1, 2)))

    return inner(x)


def variables(n):
    def f(x):
        y = x * n
        return jax.lax.fori_loop(0, 3, lambda i, c: c + y, x)

    return f


jitted = jax.jit(scaled)

EQUAL = {
    "lambda": lambda: lambda x: scaled(x, 2.0),
    "partial": lambda: functools.partial(scaled, by=2.0),
    "partial of positions": lambda: functools.partial(even, 3),
    "partial of a lambda": lambda: functools.partial(lambda n, x: x * n, 2),
    "closure": lambda: (lambda n, name: lambda x: x * n if name == "a" else x)(3, "a"),
    "tuple": lambda: (lambda shape: lambda x: jnp.zeros(shape) + x)((2, 3)),
    "array": lambda: lambda x: x * W,
    "number in a closure": lambda: (lambda w: lambda x: x * w)(TWO),
    "array of a module": lambda: lambda x: x * SETTINGS.weights,
    "NumPy scalar": lambda: (lambda n: lambda x: x * n)(np.float32(2)),
    "dtype": lambda: (lambda d: lambda x: x.astype(d))(np.dtype("int32")),
    "default": lambda: lambda x, n=2: x * n,
    "keyword default": lambda: lambda x, *, n=2: x * n,
    "module": lambda: lambda x: x * SETTINGS.scale,
    "module of a module": lambda: lambda x: x * SETTINGS.deeper.scale,
    "functions that call each other": lambda: lambda x: even(3, x),
    "functions within": lambda: lambda x: nested(x),
    "variables of functions within": lambda: variables(3.0),
    "built-in functions": lambda: (
        lambda x: math.sin(1) * x + operator.neg(x) + np.pi + len(x.shape)
    ),
    "error": lambda: lambda x: x if x.ndim == 1 else ValueError("no"),
    "jitted function": lambda: lambda x: jitted(x) + 1,
    "grad": lambda: jax.grad(lambda x: scaled(x).sum()),
    "value_and_grad": lambda: jax.value_and_grad(lambda x: scaled(x).sum()),
    "vmap": lambda: jax.vmap(lambda x: scaled(x)),
    "composed": lambda: jax.vmap(jax.grad(functools.partial(scaled, by=2.0))),
    "control": lambda: lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * 2, x),
    "functions of the library": lambda: (lambda *fs: lambda x: fs[0](fs[1](x)))(
        jnp.sin, jax.nn.relu
    ),
    "class of a library": lambda: lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) and x,
}


@pytest.mark.parametrize("make", EQUAL.values(), ids=EQUAL)
def test_equal_functions_are_traced_twice_at_most(make, traces):
    expected = make()(X)
    for _ in range(CALLS):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), jax.jit(make())(X), expected
        )
    assert len([f for f in traces if f is not scaled]) == 2


def test_methods_and_threads(traces):
    expected = scaled(X) - 1
    threads = [threading.Thread(target=Model().step, args=(X,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = len(traces)
    for _ in range(CALLS):
        np.testing.assert_allclose(Model().step(X), expected, rtol=1e-6)
    assert len(traces) <= max(known, 2)


def test_each_type_and_option_has_a_trace(traces):
    def make():
        return lambda x: scaled(x)

    for _ in range(CALLS):
        jax.jit(make())(X)
        jax.jit(make())(X[:2])
        jax.jit(make(), donate_argnums=0)(jnp.asarray(X))
        jax.jit(make(), keep_unused=True)(X)
    assert len(traces) <= 3
    with jax.enable_x64(True):
        assert jax.jit(make())(X.astype("f8")).dtype == "float64"


# --- what could be stale --------------------------------------------------------------------------


class Holder:
    value = 0.0

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def changed_global(i):
    global SCALE
    SCALE = float(i)
    return lambda x: x * SCALE


def changed_global_of_a_function(i):
    global SCALE
    SCALE = float(i)
    return lambda x: scaled(x)


def changed_global_of_a_derivative(i):
    global SCALE
    SCALE = float(i)
    return jax.grad(lambda x: (scaled(x) * SCALE).sum())


def replaced_function(i):
    globals()["replaced"] = [lambda x: x, lambda x: -x, jnp.sin, jitted, lambda x: 2 * x][i]
    return lambda x: globals_of_this()(x)


def globals_of_this():
    return replaced  # noqa: F821


def replaced_by_another(i):
    globals()["replaced"] = [lambda x: x, lambda x: -x, jnp.sin, jitted, lambda x: 2 * x][i]
    return lambda x: replaced(x)  # noqa: F821


def other_closure(i):
    return lambda x: x * i


def other_type_of_number(i):
    n = [1, 1.0, True, np.float64(1), np.int8(1)][i]
    return lambda x: x.astype("int8") * n


def other_zero(i):
    zero = -0.0 if i % 2 else 0.0
    return lambda x: jnp.copysign(x, zero)


def changed_default(i):
    f = default_of
    f.__defaults__ = (i,)
    return lambda x: f(x)


def default_of(x, n=0):
    return x * n


def changed_keyword_default(i):
    f = keyword_default_of
    f.__kwdefaults__ = {"n": i}
    return lambda x: f(x)


def keyword_default_of(x, *, n=0):
    return x * n


def changed_module(i):
    SETTINGS.scale = float(i)
    return lambda x: x * SETTINGS.scale


def changed_module_of_a_module(i):
    SETTINGS.deeper.scale = float(i)
    return lambda x: x * SETTINGS.deeper.scale


def replaced_in_the_library(i):
    jnp.function_of_a_program = [jnp.sin, jnp.cos, lambda x: x, jitted, jax.jit(lambda x: -x)][i]
    return lambda x: jnp.function_of_a_program(x)


def other_array(i):
    w = jnp.full(3, float(i))
    return lambda x: x * w


def other_cell(i):
    n = 0

    def f(x):
        return x * n

    n = i
    return f


EQUAL_BUT_FOR_A_VALUE = [
    changed_global, changed_global_of_a_function, changed_global_of_a_derivative, replaced_function,
    replaced_by_another, other_closure, other_type_of_number, other_zero, changed_default,
    changed_keyword_default, changed_module, changed_module_of_a_module, replaced_in_the_library,
    other_array, other_cell,
]  # fmt: skip


@pytest.mark.parametrize("make", EQUAL_BUT_FOR_A_VALUE, ids=lambda f: f.__name__)
def test_changed_values_are_traced_anew(make, traces, monkeypatch):
    monkeypatch.setattr(jnp, "function_of_a_program", None, raising=False)  # removed at the end
    for i in [*range(CALLS), 1, 3, 1]:
        f = make(i)
        found, expected = jax.jit(f)(X), make(i)(jnp.asarray(X))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


LIST, DICT, ARRAY, HOLDER = [0.0], {"n": 0.0}, np.zeros(3, np.float32), Holder(0.0)
COUNT = 0


def changed_list(i):
    LIST[0] = float(i)
    return lambda x: x * LIST[0]


def changed_dict(i):
    DICT["n"] = float(i)
    return lambda x: x * DICT["n"]


def changed_array(i):
    ARRAY[:] = i
    return lambda x: x * ARRAY


def changed_attribute(i):
    HOLDER.value = float(i)
    return lambda x: x * HOLDER.value


def changed_class(i):
    Holder.value = float(i)
    return lambda x: x * Holder.value


def equal_objects(i):
    holder = Holder(float(i))
    return lambda x: x * holder.value


def bound_method(i):
    return functools.partial(Holder.__call__, Holder(float(i)))


Holder.__call__ = lambda self, x: x * self.value


def attribute_of_a_function(i):
    default_of.scale = float(i)
    return lambda x: x * default_of.scale


def read_by_name(i):
    SETTINGS.scale = float(i)
    return lambda x: x * getattr(SETTINGS, "sc" + "ale")


def read_by_globals(i):
    global SCALE
    SCALE = float(i)
    return lambda x: x * globals()["SCALE"]


def closure_over_a_list(i):
    values = [float(i)]
    return lambda x: x * values[0]


def partial_of_a_list(i):
    return functools.partial(lambda values, x: x * values[0], [float(i)])


def derivative_of_a_list(i):
    LIST[0] = float(i)
    return jax.grad(lambda x: (x * x * LIST[0]).sum())


def function_of_a_list(i):
    LIST[0] = float(i)

    def inner(x):
        return x * LIST[0]

    return lambda x: jax.vmap(inner)(x)


@jax.tree_util.register_pytree_node_class
class Scaled:
    by = 0.0

    def __init__(self, x):
        self.x = x

    def value(self):
        return self.x * self.by * LIST[0]

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


class Pair(NamedTuple):
    a: object
    b: object


class PairOfOwn(NamedTuple):
    a: object

    def value(self):
        return self.a * LIST[0]


def import_within(i):
    SETTINGS.scale = float(i)

    def f(x):
        from tests.api import test_equal_functions as here

        return x * here.SETTINGS.scale

    return f


MUTABLE = [
    changed_list, changed_dict, changed_array, changed_attribute, changed_class, equal_objects,
    bound_method, attribute_of_a_function, read_by_name, read_by_globals, closure_over_a_list,
    partial_of_a_list, derivative_of_a_list, function_of_a_list, import_within,
]  # fmt: skip


@pytest.mark.parametrize("make", MUTABLE, ids=lambda f: f.__name__)
def test_functions_that_read_mutable_values_are_traced_each_time(make, traces):
    for i in range(CALLS):
        f = make(i)
        np.testing.assert_allclose(jax.jit(f)(X), f(X), rtol=1e-6)
        assert equal_functions.key_of(f) is None
    assert len(traces) == CALLS


@pytest.mark.parametrize(
    "argument, read",
    [
        (lambda: Scaled(jnp.asarray(X)), lambda x: x.value()),
        (lambda: {"a": [PairOfOwn(X)]}, lambda x: x["a"][0].value()),
    ],
)
def test_methods_of_arguments_may_read_what_has_changed(argument, read, traces):
    for i in range(CALLS):
        Scaled.by = LIST[0] = float(i)
        found = jax.jit(lambda x: read(x))(argument())
        np.testing.assert_allclose(found, read(argument()), rtol=1e-6)
    assert len(traces) == CALLS


def test_static_arguments_may_read_what_has_changed(traces):
    for i in range(CALLS):
        HOLDER.value = float(i)
        f = jax.jit(lambda x, holder: x * holder.value, static_argnums=1)
        np.testing.assert_array_equal(f(X, HOLDER), X * i)
    assert len(traces) == CALLS


def test_plain_arguments_have_equal_functions(traces):
    for _ in range(CALLS):
        f = jax.jit(
            lambda x, n, *, flag: x["a"][1].a * n if flag else x, static_argnames=("n", "flag")
        )
        f({"a": (None, Pair(X, [X]))}, n=2, flag=True)
    assert len(traces) == 2


def bias():
    return SETTINGS.bias


def test_functions_may_read_other_attributes_of_a_module(traces):
    SETTINGS.scale = 2.0
    for i in range(CALLS):
        SETTINGS.bias = float(i)
        np.testing.assert_array_equal(jax.jit(lambda x: x * SETTINGS.scale + bias())(X), X * 2 + i)
    assert len(traces) == CALLS


def test_arrays_that_a_program_adds_to_the_library(traces, monkeypatch):
    monkeypatch.setattr(jnp, "array_of_a_program", np.zeros(3, np.float32), raising=False)
    for i in range(CALLS):
        jnp.array_of_a_program[:] = i
        np.testing.assert_array_equal(jax.jit(lambda x: x + jnp.array_of_a_program)(X), X + i)
    assert len(traces) == CALLS


def counts(log):
    def f(x):
        log.append(1)
        return x

    return f


def counts_in_a_variable():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    return f


def counts_globally(x):
    global COUNT
    COUNT += 1
    return x * COUNT


numbers = itertools.count()

IMPURE = {
    "time": lambda: lambda x: x * time.perf_counter(),
    "random": lambda: lambda x: x * random.random(),
    "random of NumPy": lambda: lambda x: x * np.random.rand(),
    "file": lambda: lambda x: x * np.load("nothing.npy"),
    "print": lambda: lambda x: print(x.shape),
    "iterator": lambda: lambda x: x * next(numbers),
    "list": lambda: counts([]),
    "variable": counts_in_a_variable,
    "global variable": lambda: lambda x: counts_globally(x),
    "callback": lambda: (lambda log: lambda x: jax.debug.callback(log.append, x))([]),
    "class": lambda: lambda x: type("A", (), {}) and Model().step(x),
    "reference": lambda: (lambda ref: lambda x: x + ref[...])(jax.new_ref(jnp.zeros(3))),
    "deleted array": lambda: (lambda w: [w.delete(), lambda x: x * w][1])(jnp.ones(3)),
    "many functions": lambda: functools.reduce(
        lambda f, _: lambda x: f(x), range(equal_functions.MAX_READ + 1), scaled
    ),
}


@pytest.mark.parametrize("make", IMPURE.values(), ids=IMPURE)
def test_functions_that_do_more_than_compute_have_no_key(make):
    assert equal_functions.key_of(make()) is None


def test_side_effects_of_tracing_happen_each_time():
    log = []
    for i in range(CALLS):
        jax.jit(counts(log))(X)
        assert len(log) == i + 1


def test_tracers_are_not_kept():
    @jax.jit
    def outer(x):
        return sum(jax.jit(lambda y: y * x)(x) for _ in range(CALLS))

    np.testing.assert_allclose(outer(X), CALLS * X * X, rtol=1e-6)


def test_large_constants_are_not_kept(traces):
    large = jnp.ones(equal_functions.MAX_CONSTANT_BYTES + 1, jnp.int8)
    assert equal_functions.key_of(lambda x: x + large) is None
    assert equal_functions.key_of(functools.partial(jnp.add, jnp.ones(3))) is None
    for i in range(CALLS):
        jax.jit(lambda x: x + np.arange(float(1 << 16)))(X[0])
        assert len(traces) == i + 1


def test_few_are_kept_and_caches_can_be_cleared():
    for n in range(equal_functions.MAX_TRACES + 10):
        jax.jit(lambda x, n=n: x * n)(X)
        jax.jit(lambda x: x + 1)(np.zeros(n, np.float32))
    assert len(equal_functions._traces) <= equal_functions.MAX_TRACES
    jax.clear_caches()
    assert not equal_functions._traces


def test_each_function_is_traced_without_the_option(traces):
    with config.reuse_equal_functions(False):
        for _ in range(CALLS):
            jax.jit(lambda x: scaled(x))(X)
    assert len(traces) == CALLS


class Attributes(dict):
    """A configuration as programs of machine learning have it."""

    __getattr__ = dict.__getitem__


class Refusing:
    def __getattr__(self, name):
        raise RuntimeError(name)


class Proxy:
    def __init__(self, f):
        self.f = f

    @property
    def __class__(self):
        return types.FunctionType

    def __getattr__(self, name):
        return getattr(self.f, name)

    def __call__(self, x):
        return self.f(x) * LIST[0]


OBJECTS = [Attributes(scale=2.0), Refusing(), Proxy(scaled), functools.partial(scaled)]
OBJECTS[-1].scale = 2.0


@pytest.mark.parametrize("thing", OBJECTS, ids=lambda thing: type(thing).__name__)
def test_objects_of_all_kinds_have_no_key(thing):
    assert equal_functions.key_of(lambda x: (x, thing)[0]) is None
    for i in range(CALLS):
        LIST[0] = float(i)
        jax.jit(lambda x: (x, thing)[0])(X)
    if isinstance(thing, Proxy):
        np.testing.assert_allclose(jax.jit(thing)(X), thing(X), rtol=1e-6)


INDIRECT = {
    "random by its module": lambda: (lambda r: lambda x: x * r.rand())(np.random),
    "random by its function": lambda: (lambda rand: lambda x: x * rand())(np.random.rand),
    "dict of a module": lambda: lambda x: x * SETTINGS.__dict__["scale"],
    "wrapped function": lambda: lambda x: jitted.__wrapped__(x),
    "module of a closure": lambda: (lambda m: lambda x: x * m.scale)(SETTINGS),
    "module of a default": lambda: lambda x, m=SETTINGS: x * m.scale,
    "module of a partial": lambda: functools.partial(lambda m, x: x * m.scale, SETTINGS),
    "attrgetter": lambda: lambda x: x * operator.attrgetter("scale")(SETTINGS),
    "format": lambda: lambda x: x * float(str.format("{0.scale}", SETTINGS)),
    "config": lambda: lambda x: x * jax.config.jax_enable_x64,
    "ufunc of a program": lambda: (lambda f: lambda x: x * f(1))(np.frompyfunc(scaled, 1, 1)),
    "large text": lambda: (lambda text: lambda x: x * len(text))("a" * 10_000),
    "many values": lambda: (lambda t: lambda x: x * len(t))(tuple(map(float, range(1000)))),
    "globals of no module": lambda: eval("lambda x: x", {}),
}


@pytest.mark.parametrize("make", INDIRECT.values(), ids=INDIRECT)
def test_what_code_reaches_without_naming_it(make):
    assert equal_functions.key_of(make()) is None


def test_tuples_of_tuples_are_read_within_limits():
    t = (1.0,)
    for _ in range(40):
        t = (t, t)
    assert equal_functions.key_of(lambda x: x * len(t)) is None


def test_replaced_builtin_functions(monkeypatch, traces):
    for i in range(CALLS):
        monkeypatch.setattr("builtins.abs", lambda x, i=i: x * i)
        np.testing.assert_array_equal(jax.jit(lambda x: abs(x))(X), X * i)


def test_containers_with_functions_and_objects_of_programs(traces):
    for i in range(CALLS):
        LIST[0] = float(i)
        found = jax.jit(lambda d: d["a"] * d["b"])(defaultdict(lambda: LIST[0], {"a": X}))
        np.testing.assert_array_equal(found, X * i)
    assert len(traces) == CALLS
