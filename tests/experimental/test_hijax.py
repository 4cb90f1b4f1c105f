"""Values of users' types in programs, and operations on them: as on JAX."""

import importlib
import itertools
import types
from dataclasses import dataclass

import numpy as np
import pytest
from tests.helpers.oracle import RealModule, answer, jax as real_jax

import jitney
import jitney.extend.core
from jitney.experimental import hijax


def shown(x):
    """A result as text and numbers: arrays of the two packages side by side."""
    if hasattr(x, "scale"):
        return ["Scaled", np.asarray(x.whole), np.asarray(x.scale)]
    if isinstance(x, tuple | list):
        return [shown(y) for y in x]
    return x if x is None or isinstance(x, str) else np.asarray(x)


def assert_same(found, expected):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert_same(x, y)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        assert found == expected


def scaled(jax, hijax):
    """A type of values that do not change: rows of whole numbers, each with a factor."""
    jnp = jax.numpy

    class Scaled:
        def __init__(self, whole, scale):
            self.whole, self.scale = whole, scale

    @dataclass(frozen=True)
    class ScaledType(hijax.HiType):
        shape: tuple[int, ...]

        total = hijax.aval_property(lambda x: plain(x).sum())
        times = hijax.aval_method(lambda x, k: plain(x) * k)

        def _mul(self, tracer, k):
            return plain(tracer) * k

        def _getitem(self, tracer, k):
            return plain(tracer)[k]

        def str_short(self, short_dtypes=False, **_):
            return f"scaled[{','.join(map(str, self.shape))}]"

        def lo_ty(self):
            return [
                hijax.ShapedArray(self.shape, jnp.dtype("int8")),
                hijax.ShapedArray(self.shape[:-1], jnp.dtype("float32")),
            ]

        def lower_val(self, x):
            return [x.whole, x.scale]

        def raise_val(self, whole, scale):
            return Scaled(whole, scale)

        def to_tangent_aval(self):
            return hijax.ShapedArray(self.shape, jnp.dtype("float32"))

        def dec_rank(self, size, spec):
            return ScaledType(self.shape[1:])

        def inc_rank(self, size, spec):
            return ScaledType((size, *self.shape))

        def leading_axis_spec(self):
            return 0

    class ToScaled(hijax.HiPrimitive):
        def abstract_eval(self, x):
            return ScaledType(x.shape), set()

        def to_lojax(self, x):
            scale = jnp.max(jnp.abs(x), axis=-1) / 127
            return Scaled(jnp.round(x / scale[..., None]).astype("int8"), scale)

        def jvp(self, primals, tangents):
            return to_scaled(*primals), tangents[0]

        def transpose(self, ct, x):
            return [ct]

    class Plain(hijax.HiPrimitive):
        def abstract_eval(self, x):
            return hijax.ShapedArray(x.shape, jnp.dtype("float32")), set()

        def to_lojax(self, x):
            return x.whole.astype("float32") * x.scale[..., None]

        def jvp(self, primals, tangents):
            return plain(*primals), tangents[0]

        def transpose(self, ct, x):
            return [ct]

    to_scaled, plain = ToScaled("to_scaled").bind, Plain("plain").bind
    hijax.register_hitype(Scaled, lambda x: ScaledType(x.whole.shape))
    return types.SimpleNamespace(
        jax=jax, jnp=jnp, lax=jax.lax, Scaled=Scaled, to=to_scaled, plain=plain,
        x=jnp.arange(6, dtype="float32").reshape(2, 3) + 1,
    )  # fmt: skip


def loss(m):
    return lambda q: (m.plain(q) ** 2).sum()


PROGRAMS = {
    "eager": lambda m: (m.to(m.x), m.plain(m.to(m.x)), str(m.jax.typeof(m.to(m.x)))),
    "text": lambda m: str(m.jax.make_jaxpr(m.jax.jit(lambda x: m.plain(m.to(x)).sum()))(m.x)),
    "jit": lambda m: m.jax.jit(lambda q, y: (q, m.plain(q) * y, m.to(y)))(m.to(m.x), m.x),
    "attributes": lambda m: m.jax.jit(lambda q: (q.total, q.times(2), q * 3, q[1]))(m.to(m.x)),
    "closed over": lambda m: (lambda q: m.jax.jit(lambda y: m.plain(q) * y)(2.0))(m.to(m.x)),
    "grad": lambda m: m.jax.jit(m.jax.grad(lambda x: loss(m)(m.to(x))))(m.x),
    "grad of value": lambda m: m.jax.grad(loss(m))(m.to(m.x)),
    "jvp of value": lambda m: m.jax.jvp(loss(m), (m.to(m.x),), (m.x,)),
    "scan": lambda m: m.lax.scan(
        lambda c, x: (m.to(m.plain(c) + x), x), m.to(m.x), m.jnp.arange(3, dtype="float32")
    ),
    "scan rows": lambda m: m.lax.scan(
        lambda c, q: (c + m.plain(q), m.to(2 * m.plain(q))), m.x[:1], m.to(m.x[:, None]), length=2
    ),
    "while": lambda m: m.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, m.to(m.plain(c[1]) * 2)), (0, m.to(m.x))
    ),
    "cond": lambda m: m.jax.jit(
        lambda p, q: m.lax.cond(p, lambda q: m.plain(q), lambda q: -m.plain(q), q)
    )(False, m.to(m.x)),
    "vmap beside it": lambda m: (lambda q: m.jax.vmap(lambda y: m.plain(q) * y)(m.x[0]))(m.to(m.x)),
    "shape": lambda m: str(m.jax.eval_shape(m.to, m.x)),
}


def of_jax(make, program):
    """The results of a program of the types or operations that `make` defines with JAX."""

    def results():
        importlib.import_module("jax.extend.core")
        return shown(program(make(real_jax, RealModule("jax.experimental.hijax"))))

    return answer(results, last="0.10.2")  # JAX 0.11 has another interface


@pytest.fixture(scope="module")
def m():
    return scaled(jitney, hijax)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name, m):
    program = PROGRAMS[name]
    assert_same(shown(program(m)), of_jax(scaled, program))


def test_values_where_jax_refuses(m):
    rows = m.jax.jit(
        lambda q: m.lax.scan(lambda c, q: (c + m.plain(q), None), m.x[:1], q, length=2)[0]
    )
    np.testing.assert_allclose(rows(m.to(m.x[:, None])), m.x[:1] + m.x.sum(0), rtol=0.02)
    q = m.to(m.x)
    chosen = m.jax.jit(lambda p, q: m.lax.cond(p, lambda q: q, lambda q: m.to(-m.plain(q)), q))
    np.testing.assert_array_equal(chosen(False, q).whole, -q.whole)
    compiled = m.jax.jit(m.to).lower(m.x).compile()
    np.testing.assert_array_equal(compiled(m.x).whole, q.whole)


def test_errors(m):
    q = m.to(m.x)
    with pytest.raises(TypeError, match="cannot be mapped along axis 0"):
        m.jax.vmap(m.plain)(q)
    with pytest.raises(TypeError, match="cannot be moved to 0"):
        m.jax.vmap(lambda y: (q, y))(m.x)
    with pytest.raises(AttributeError, match="whole"):
        m.jax.jit(lambda q: q.whole)(q)
    with pytest.raises(TypeError, match=r"scaled\[2,3\]"):
        m.lax.while_loop(lambda q: True, lambda q: m.plain(q), q)
    with pytest.raises(ValueError, match=r"(expected|must be) float32"):
        m.jax.vjp(lambda x: m.plain(m.to(x)), m.x)[1](1.0)

    class Bare(hijax.HiType):
        pass

    with pytest.raises(NotImplementedError, match="Bare must define the method lo_ty"):
        Bare().lo_ty()
    with pytest.raises(NotImplementedError, match="must define the method to_lojax"):
        hijax.HiPrimitive("nothing").bind(1.0)


# --- values that change -------------------------------------------------------------------------


def boxes(jax, hijax):
    """A mutable type: a place for a pytree, whose state is the types of what it holds."""

    @dataclass(frozen=True)
    class State:
        avals: tuple
        tree: object

        def to_tangent_qdd(self):
            return State(tuple(a.to_tangent_aval() for a in self.avals), self.tree)

    def get(box):
        state = jax.experimental.cur_qdd(box)
        return jax.tree.unflatten(state.tree, get_p.bind(box, avals=state.avals))

    def put(box, value):
        leaves, tree = jax.tree.flatten(value)
        set_p.bind(box, *leaves, tree=tree)

    def raised(state, values):
        rest = iter(values)
        leaves = [a.raise_val(*itertools.islice(rest, len(a.lo_ty()))) for a in state.avals]
        return jax.tree.unflatten(state.tree, leaves)

    class BoxType(hijax.MutableHiType):
        def __hash__(self):
            return hash(BoxType)

        def __eq__(self, other):
            return isinstance(other, BoxType)

        def str_short(self, short_dtypes=False, **_):
            return "Box"

        def lo_ty_qdd(self, state):
            return [t for a in state.avals for t in a.lo_ty()]

        def new_from_loval(self, state, *values):
            return Box.of(raised(state, values))

        def read_loval(self, state, box):
            leaves = jax.tree.leaves(get(box))
            return [x for a, v in zip(state.avals, leaves, strict=True) for x in a.lower_val(v)]

        def update_from_loval(self, state, box, *values):
            put(box, raised(state, values))

        def to_tangent_aval(self):
            return BoxType()

    BoxType.get, BoxType.put = hijax.aval_method(get), hijax.aval_method(put)

    class Box:
        def __new__(cls, value=None):
            box = new_p.bind()
            put(box, value)
            return box

        @classmethod
        def of(cls, value):
            box = object.__new__(cls)
            box.value = value
            return box

        def cur_qdd(self):
            leaves, tree = jax.tree.flatten(self.value)
            return State(tuple(map(jax.typeof, leaves)), tree)

    Box.get, Box.put = get, put
    hijax.register_hitype(Box, lambda box: BoxType())

    class BoxEffect(jax.extend.core.Effect):
        pass

    effect = BoxEffect()
    hijax.control_flow_allowed_effects.add_type(BoxEffect)

    class New(hijax.HiPrimitive):
        def abstract_eval(self):
            return hijax.AvalQDD(BoxType(), State((), jax.tree.structure(None))), {effect}

        def to_lojax(self):
            return Box.of(None)

    class Set(hijax.HiPrimitive):
        multiple_results = True

        def abstract_eval(self, box, *leaves, tree):
            box.mutable_qdd.update(State(tuple(leaves), tree))
            return [], {effect}

        def to_lojax(self, box, *leaves, tree):
            box.value = jax.tree.unflatten(tree, leaves)
            return []

    class Get(hijax.HiPrimitive):
        multiple_results = True

        def abstract_eval(self, box, *, avals):
            return avals, {effect}

        def to_lojax(self, box, *, avals):
            return jax.tree.leaves(box.value)

    new_p, set_p, get_p = New("new_box"), Set("box_set"), Get("box_get")
    return types.SimpleNamespace(jax=jax, jnp=jax.numpy, lax=jax.lax, Box=Box)


@pytest.fixture(scope="module")
def with_boxes():
    return boxes(jitney, hijax)


def jitted(m):
    """The state, and with it the types, are others with the second call."""
    box = m.Box(1.0)
    step = m.jax.jit(lambda box, x: (box.put((box.get(), x)), x + 1)[1])
    return step(box, 2.0), box.get(), step(box, 3.0), box.get(), str(m.jax.make_jaxpr(step)(box, 4))


def closed_over(m):
    box = m.Box(m.jnp.float32(1.0))
    step = m.jax.jit(lambda x: (box.put(box.get() * x), box.get())[1])
    return step(3.0), box.get(), step(2.0), box.get()


def nested(m):
    inner = m.jax.jit(lambda box: box.put((box.get(), 1.0)))

    @m.jax.jit
    def outer(box):
        inner(box)
        box.put(m.jax.tree.leaves(box.get())[0])
        inner(box)
        return box.get()

    box = m.Box(5.0)
    return outer(box), box.get()


def in_scan(m, wrap):
    box = m.Box(m.jnp.float32(1.0))

    def body(carry, x):
        box.put(box.get() + x)
        return carry * 2, box.get()

    return wrap(lambda: m.lax.scan(body, 1.0, m.jnp.arange(3.0)))(), box.get()


def in_branches(m):
    box = m.Box(m.jnp.float32(1.0))

    @m.jax.jit
    def step(p):
        def first():
            box.put(box.get() * 2)
            return 1.0

        def second():
            box.put(box.get() * 3)
            return 2.0

        return m.lax.cond(p, first, second)

    return step(True), box.get(), step(False), box.get()


def in_while(m):
    box = m.Box(m.jnp.float32(1.0))

    def body(n):
        box.put(box.get() + 1)
        return n + 1

    return m.lax.while_loop(lambda n: n < 3, body, 0), box.get()


def under_grad(m):
    box = m.Box(0.0)

    def loss(x):
        box.put(m.lax.stop_gradient(x * 3))
        return x**2

    return m.jax.grad(loss)(2.0), box.get()


MUTABLE = {
    "jit": jitted,
    "closed over": closed_over,
    "nested": nested,
    "scan": lambda m: in_scan(m, lambda f: f),
    "scan in jit": lambda m: in_scan(m, m.jax.jit),
    "cond": in_branches,
    "while": in_while,
    "grad": under_grad,
}


@pytest.mark.parametrize("name", MUTABLE)
def test_mutable(name, with_boxes):
    program = MUTABLE[name]
    assert_same(shown(program(with_boxes)), of_jax(boxes, program))


def test_condition_reads_a_mutable_value(with_boxes):
    m = with_boxes
    box = m.Box(m.jnp.float32(1.0))

    def body(n):
        box.put(box.get() + 1)
        return n + 1

    assert m.jax.jit(lambda: m.lax.while_loop(lambda n: box.get() + n < 6, body, 0))() == 3
    assert box.get() == 4


def test_mutable_errors(with_boxes):
    m = with_boxes
    box = m.Box(1.0)

    def changes_type(c, _):
        box.put((box.get(), 1.0))
        return c, None

    with pytest.raises(TypeError, match="changes the state of a mutable value"):
        m.lax.scan(changes_type, 1.0, None, length=2)
    with pytest.raises(TypeError, match="mutable value in the same state"):
        m.lax.cond(True, lambda: box.put((1.0, 2.0)), lambda: None)
    with pytest.raises(TypeError, match="condition must not change"):
        m.lax.while_loop(lambda n: (box.put(box.get() + 1), n < 3)[1], lambda n: n + 1, 0)


# --- operations with derivatives of their own ---------------------------------------------------


def operations(jax, hijax):
    jnp = jax.numpy

    class Scale(hijax.VJPHiPrimitive):
        """k x^2; its reverse derivative is three times too large, so that it shows which is taken."""

        def __init__(self, ty, k):
            self.in_avals, self.out_aval, self.params = (ty,), ty, {"k": k}
            super().__init__()

        def expand(self, x):
            return self.k * x**2

        def vjp_fwd(self, nonzeros, x):
            return self(x), x

        def vjp_bwd_retval(self, x, ct):
            return (6 * self.k * x * ct,)

        def jvp(self, primals, tangents):
            return self(*primals), 2 * self.k * primals[0] * tangents[0]

        def batch_dim_rule(self, axis_data, dims):
            return dims[0]

    class Product(hijax.VJPHiPrimitive):
        """Of trees: {a, b}, c -> [a b, c]; the cotangent of b is dropped."""

        def __init__(self, tree, ty):
            self.in_avals, self.out_aval, self.params = (tree, ty), [tree["a"], ty], {}
            super().__init__()

        def expand(self, tree, c):
            return [tree["a"] * tree["b"], c]

        def vjp_fwd(self, nonzeros, tree, c):
            return self(tree, c), (tree["b"],)

        def vjp_bwd(self, res, cts, tree, c):
            tree["a"].accum(cts[0] * res[0])
            c.accum(cts[1])

    def scale(x, k=3.0):
        return Scale(jax.typeof(x), k)(x)

    def product(a, b, c):
        types = jax.tree.map(jax.typeof, ({"a": a, "b": b}, c))
        return Product(*types)({"a": a, "b": b}, c)

    return types.SimpleNamespace(
        jax=jax, jnp=jnp, lax=jax.lax, scale=scale, product=product, x=jnp.float32(2)
    )


OPERATIONS = {
    "value": lambda m: (m.scale(2.0), m.jax.jit(m.scale)(2.0), m.product(2.0, 3.0, 4.0)),
    "grad": lambda m: (m.jax.grad(m.scale)(2.0), m.jax.jit(m.jax.grad(m.scale))(2.0)),
    "second": lambda m: m.jax.grad(m.jax.grad(m.scale))(2.0),
    "jvp": lambda m: m.jax.jvp(m.scale, (m.x,), (m.x,)),
    "jvp in jit": lambda m: m.jax.jvp(m.jax.jit(m.scale), (m.x,), (m.x,)),
    "vmap": lambda m: m.jax.vmap(m.scale)(m.jnp.arange(3.0)),
    "vmap twice": lambda m: m.jax.vmap(m.jax.vmap(m.scale), 1, 1)(m.x * m.jnp.ones((2, 3))),
    "vmap of grad": lambda m: m.jax.vmap(m.jax.grad(m.scale))(m.jnp.arange(3.0)),
    "grad of vmap": lambda m: m.jax.grad(lambda x: m.jax.vmap(m.scale)(x).sum())(m.jnp.arange(3.0)),
    "grad in scan": lambda m: m.jax.grad(
        lambda x: m.lax.scan(lambda c, _: (m.scale(c, 0.1), None), x, None, length=2)[0]
    )(2.0),
    "accumulators": lambda m: m.jax.grad(lambda *xs: sum(m.product(*xs)), (0, 1, 2))(2.0, 3.0, 4.0),
    "text": lambda m: str(m.jax.make_jaxpr(m.scale)(2.0)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name):
    program = OPERATIONS[name]
    assert_same(shown(program(operations(jitney, hijax))), of_jax(operations, program))


def test_operation_errors():
    class Nothing(hijax.VJPHiPrimitive):
        def __init__(self, **attributes):
            self.__dict__.update(attributes)
            super().__init__()

    with pytest.raises(AttributeError, match=r"must set self\.in_avals"):
        Nothing()
    ty = jitney.typeof(1.0)
    nothing = Nothing(in_avals=(ty,), out_aval=ty, params={})
    with pytest.raises(NotImplementedError, match="for evaluation, Nothing must define expand"):
        nothing(1.0)
    with pytest.raises(NotImplementedError, match="for forward derivatives"):
        jitney.grad(nothing)(1.0)
    with pytest.raises(NotImplementedError, match="for vmap"):
        jitney.vmap(nothing)(jitney.numpy.ones(2))


def test_tracers_of_arrays_say_what_they_said_without_such_types():
    def f(x):
        with pytest.raises(AttributeError, match=r"jax\.typeof"):
            _ = x.sharding
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = x.nothing
        return x

    jitney.jit(f)(1.0)
