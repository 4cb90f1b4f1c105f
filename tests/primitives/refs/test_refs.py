"""Mutable references: values, derivatives and batches beside real jax's, and in-place writes."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy
from jitney.experimental import hijax

V = np.arange(4.0, dtype=np.float32)
M = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def set_and_read(j, r, s):
    r[0] = 5.0
    r[1:] += 1.0
    s[:, 1] = j.numpy.ones(2)
    return r[...], r[-1], r[1:3], r[None], s[..., 0], s[1, ::2], len(s)


def arrays_as_indices(j, r, s):
    i = j.numpy.array([1, 9, -1])  # one out of range: read the last, do not write
    r[i] = j.numpy.array([10.0, 20.0, 30.0])
    k = j.numpy.array([1, 0])
    s[k, j.ds(1, 2)] = s[:, :2] * 10
    return r[i], s[:, k], s[k, k], s[0, k]


def positions_out_of_range(j, r, s):
    def f(n):
        a, b = j.new_ref(j.numpy.arange(4.0)), j.new_ref(j.numpy.arange(4.0))
        a[n] = 10.0
        b[j.ds(n - 1, 2)] = j.numpy.ones(2)
        return a[...], b[...], a[n - 9], a[j.ds(n, 2)]

    return j.jit(f)(9), j.jit(f)(-1)


def accumulates(j, r, s):
    j.ref.addupdate(r, (j.numpy.array([0, 0, 9, -1]),), j.numpy.ones(4))
    j.ref.addupdate(r, slice(1, 3), 2 * j.numpy.ones(2))
    j.ref.addupdate(s, None, s[...])
    return j.ref.swap(r, 0, 1.0), j.ref.swap(s, (), s[...] * 2), j.ref.get(r, 0)


def jitted(j, r, s):
    def f(a, x):
        a[0] = x
        s[0] = s[0] + a[:3]
        local = j.new_ref(j.numpy.zeros(2))
        local[1] = x + a[1]
        return j.freeze(local), a[0]

    g = j.jit(f)
    return g(r, 2.0), g(r, 3.0), j.jit(lambda a: j.jit(g)(a, a[3]))(r)


def scanned(j, r, s):
    def body(c, x):
        j.ref.addupdate(r, 0, x)
        s[0, 1] = c
        return c + r[1], r[0]

    first = j.lax.scan(body, j.numpy.float32(0), j.numpy.arange(3.0))
    rev = j.lax.scan(lambda c, i: (c, r.__setitem__(i, r[i] + r[(i + 1) % 4])), 0.0,
                     j.numpy.arange(4), reverse=True)  # fmt: skip
    return first, rev[1]


def scanned_rows(j, r, s):
    def body(c, row):
        row[0] = c
        return c + row[1], row[...]

    return j.lax.scan(body, j.numpy.float32(1), s)


def nested_loops(j, r, s):
    def inner(i):
        def step(k, c):
            s[i, k] = c + s[i, k]
            return c + 1

        return step

    out, _ = j.lax.scan(lambda c, i: (j.lax.fori_loop(0, 3, inner(i), c), None), 1.0,
                        j.numpy.arange(2))  # fmt: skip
    return j.numpy.asarray(out), j.lax.while_loop(
        lambda c: c < 3, lambda c: (r.__setitem__(c, 5.0 + r[c + 1]), c + 1)[1], 0
    )


def branches(j, r, s):
    def high():
        r[0] = 9.0
        return 1.0

    def low():
        s[0, 0] = 1.0
        return 2.0

    return (
        j.lax.cond(r[1] > 0, high, low),
        j.jit(lambda p: j.lax.cond(p, high, low))(False),
        j.lax.switch(j.numpy.int32(1), [lambda a: a[0], lambda a: a[3], lambda a: a[1]], r),
    )


def batched(j, r, s):
    def f(q, i):
        q[i] = 1.0 + i
        j.ref.addupdate(q, j.numpy.array([0, 0]) + i, j.numpy.ones(2))
        return q[j.numpy.array([0, 2])], r[i], q[:2]

    def row(q, x):
        q[0] = x

    out = j.vmap(f)(s, j.numpy.array([1, 2]))
    j.vmap(j.jit(row), in_axes=(1, 0))(s, j.numpy.arange(3.0))
    made = j.vmap(lambda x: j.new_ref(x))(j.numpy.arange(3.0))
    return out, made[...]


def batched_loops(j, r, s):
    def f(q, x):
        return j.lax.scan(lambda c, i: (c + q[i], q.__setitem__(i, x * c)), 0.0, j.numpy.arange(3))

    def until(q, n):
        return j.lax.while_loop(lambda c: c < n, lambda c: (q.__setitem__(c, 1.0), c + 1)[1], 0)

    return j.vmap(f)(s, j.numpy.arange(2.0))[0], j.vmap(until)(s, j.numpy.array([1, 3]))


def local(j, x):
    a = j.new_ref(j.numpy.zeros(3))
    a[0] = x
    a[1] = 2 * a[0] * x
    j.ref.addupdate(a, (j.numpy.array([0, 0]),), x * j.numpy.ones(2))
    y = j.ref.swap(a, 1, j.numpy.sin(x))
    return a[...].sum() * y + j.freeze(a)[1]


def derivatives(j, r, s):
    def f(x):
        return local(j, x)

    return (
        j.grad(f)(3.0), j.jit(j.grad(f))(3.0), j.grad(j.jit(f))(3.0), j.jvp(f, (3.0,), (1.0,)),
        j.linearize(f, 3.0)[1](2.0), j.vmap(j.grad(f))(V),
    )  # fmt: skip


def in_a_scan(j, xs):
    acc = j.new_ref(j.numpy.ones(2))

    def body(c, x):
        acc[c % 2] = j.numpy.sin(acc[0] * x)
        return c + 1, acc[1] * x

    _, ys = j.lax.scan(body, 0, xs)
    return acc[...].sum() + ys.sum()


def derivatives_of_loops(j, r, s):
    def f(xs):
        return in_a_scan(j, xs)

    def choice(x):
        acc = j.new_ref(x * j.numpy.ones(2))
        j.lax.cond(x > 0, lambda: acc.__setitem__(0, x * x), lambda: None)
        return acc[...].prod()

    xs = j.numpy.arange(1.0, 5.0)
    return j.grad(f)(xs), j.jit(j.grad(f))(xs), j.grad(choice)(3.0), j.grad(choice)(-3.0)


def plumbing(j, r, s):
    def f(x, a):
        a[0] = 5.0
        r_old = s[0, 1]
        s[0, 0] = j.lax.stop_gradient(x)
        return x * a[0] * r_old

    @j.custom_vjp
    def h(x, a):
        a[1] = x
        return j.numpy.sin(x)

    def backward(residuals, g):
        x, a = residuals
        a[2] = g
        return (x * g, None)

    h.defvjp(lambda x, a: (h(x, a), (x, a)), backward)
    return j.grad(f)(3.0, r), j.jit(j.grad(h))(2.0, r), j.grad(h)(3.0, r)


def cotangents_in_references(j, r, s):
    def f(d, y):
        return (d["a"] ** 2).sum() * y

    x = {"a": j.numpy.arange(4.0)}
    value = j.ad.GradValue()
    total = j.new_ref(j.numpy.float32(1))
    pullback = j.vjp(f, x, 2.0)[1]
    first = pullback.with_refs({"a": r}, value)(1.0)
    assert first[0] == {"a": j.ad.GradRef()}
    pullback.with_refs({"a": r}, total)(2.0)

    def body(c, y):
        j.vjp(f, x, y)[1].with_refs({"a": r}, value)(1.0)
        return c, None

    j.lax.scan(body, 0.0, j.numpy.arange(3.0))
    return first[1], total[...]


def aot(j, r, s):
    def f(a):
        a[0] = 8.0
        return s[0, 1] + a[1]

    return j.jit(f).lower(r).compile()(r)


def views_that_are_read(j, r, s):
    def f(r, s):
        return (
            s.reshape(3, 2)[1], s.reshape(-1)[1:4], s.at[1:].reshape(3)[1:],
            s.reshape(6).reshape(3, -1)[..., 0], s.bitcast("int32")[...], s.bitcast(j.numpy.int16)[...],
        )  # fmt: skip

    def halves(h):
        return h.bitcast("int32")[...]

    h = j.new_ref(j.numpy.arange(8, dtype="int16").reshape(4, 2))
    return j.jit(f)(r, s), j.jit(halves)(h)


CASES = [
    set_and_read, arrays_as_indices, positions_out_of_range, accumulates, jitted, scanned,
    scanned_rows, nested_loops, branches, batched, batched_loops, derivatives, derivatives_of_loops,
    plumbing, cotangents_in_references, aot, views_that_are_read,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_as_in_jax(case):
    def leaves(j):
        refs = j.new_ref(j.numpy.asarray(V)), j.new_ref(j.numpy.asarray(M))
        out = case(j, *refs)
        return [np.asarray(x) for x in j.tree.leaves((out, [r[...] for r in refs]))]

    for want, got in zip(of_jax(leaves), leaves(jitney), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6)


def test_arrays_of_several_ranks_as_indices():
    """JAX 0.12 takes arrays of one rank alone."""
    m, k = jitney.numpy.asarray(M), jitney.numpy.array([1, 0])
    np.testing.assert_array_equal(jitney.new_ref(m)[k[:, None], k], m[k[:, None], k])


@pytest.mark.parametrize("value", [1.5, 2, np.float32(3)])
def test_references_are_strongly_typed(value):
    def weak(j):
        def use(x):
            ref = j.new_ref(x)
            ref[...] = ref[...] * 2
            return ref[...]

        full = j.lax.full((3,), value)
        found = use(value), j.jit(use)(value), j.jit(use)(full), j.vmap(use)(full)
        return [y.weak_type for y in found], str(j.make_jaxpr(use)(value))

    assert weak(jitney) == of_jax(weak)


def test_second_derivatives():
    """Beside those of the same function without references: JAX has none for these."""

    def pure(x):
        return (3 * x + jitney.numpy.sin(x)) * 2 * x * x + jitney.numpy.sin(x)

    def f(x):
        return local(jitney, x)

    want = jitney.grad(jitney.grad(pure))(3.0)
    for transform in (
        lambda f: jitney.grad(jitney.grad(f)),
        lambda f: jitney.jit(jitney.grad(jitney.jit(jitney.grad(f)))),
        lambda f: lambda x: jitney.jvp(jitney.grad(f), (x,), (1.0,))[1],
        lambda f: jitney.grad(lambda x: jitney.jvp(f, (x,), (1.0,))[1]),
    ):
        np.testing.assert_allclose(transform(f)(3.0), want, rtol=1e-5)


def test_one_reference_in_condition_and_body():
    """JAX refuses this one outside of jit."""
    r = jitney.new_ref(jitney.numpy.arange(3.0))

    def body(c):
        r[0] = 2 * r[0] + 1
        return c + 1

    count = jitney.lax.while_loop(lambda c: r[0] < 10, body, 0)
    assert count == 4
    assert r[0] == 15


def test_a_condition_that_writes():
    r = jitney.new_ref(0)

    def goes_on(c):
        r[...] += 1
        return c < 3

    assert jitney.jit(lambda: jitney.lax.while_loop(goes_on, lambda c: c + 1, 0))() == 3
    assert r[...] == 4


def test_writes_are_not_done_again_by_remat():
    r = jitney.new_ref(jitney.numpy.zeros(2))

    def f(x):
        r[0] += 5.0
        return jitney.numpy.sin(x) * r[0]

    got = jitney.grad(jitney.remat(f))(3.0)
    np.testing.assert_allclose(got, 5 * np.cos(3.0), rtol=1e-6)
    assert r[0] == 5


def test_remat_of_what_makes_references():
    xs = jitney.numpy.arange(1.0, 5.0)
    want = jitney.grad(lambda x: in_a_scan(jitney, x))(xs)
    got = jitney.grad(jitney.remat(lambda x: in_a_scan(jitney, x)))(xs)
    np.testing.assert_allclose(got, want, rtol=1e-5)


# --- memory ---------------------------------------------------------------------------------------


def test_writes_are_in_place():
    r = jitney.new_ref(jitney.numpy.zeros(8))
    r[0] = 1.0
    address = r._own.ctypes.data
    for i in range(1, 8):
        r[i] = float(i)
        assert r[i] == i
        assert r._own.ctypes.data == address


@pytest.mark.parametrize("index", [..., slice(0, 2), 0], ids=str)
def test_what_was_read_stays(index):
    r = jitney.new_ref(jitney.numpy.arange(3.0))
    r[1] = 7.0
    before = r[index]
    copy = np.array(before)
    r[0] = 9.0
    r[...] = r[...] + 1
    np.testing.assert_array_equal(before, copy)


def test_arrays_are_not_changed():
    x = np.zeros(3, np.float32)
    y = jitney.numpy.ones(3)
    r, s = jitney.new_ref(x), jitney.new_ref(y)
    r[0] = 1.0
    s[0] = 2.0
    value = np.arange(3.0, dtype=np.float32)
    s[...] = value
    value[0] = 8
    assert x[0] == 0
    assert y[0] == 1
    assert s[0] == 0


def test_frozen_arrays_stay():
    r = jitney.new_ref(jitney.numpy.zeros(2))
    r[0] = 1.0
    frozen = jitney.freeze(r)
    r[1] = 5.0
    np.testing.assert_array_equal(frozen, [1, 0])


def test_a_jitted_function_is_traced_once():
    count = []
    r = jitney.new_ref(0.0)

    @jitney.jit
    def f(x):
        count.append(1)
        r[...] += x

    for _ in range(3):
        f(1.0)
    assert len(count) == 1
    assert r[...] == 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "complex64", "bool", "uint8", "int32"])
def test_dtypes(dtype):
    with jitney.enable_x64(dtype == "float64"):
        x = jitney.numpy.ones((2, 0, 3), dtype)
        r = jitney.new_ref(x)
        r[0] = x[1]
        assert r[...].dtype == x.dtype
        s = jitney.new_ref(jitney.numpy.zeros(3, dtype))
        s[1:] = jitney.numpy.ones(2, dtype)
        np.testing.assert_array_equal(s[...], np.array([0, 1, 1]).astype(x.dtype))


def test_keys():
    r = jitney.new_ref(jitney.random.split(jitney.random.key(0), 3))
    r[0] = jitney.random.key(7)
    got = jitney.jit(lambda: jitney.random.key_data(r[...]))()
    np.testing.assert_array_equal(got[0], jitney.random.key_data(jitney.random.key(7)))


def test_views_are_written():
    # (JAX's compiled programs read views, but do not write to them, nor transpose.)
    def f(r):
        r.reshape(-1)[1] = 10.0
        r.T[0] = jitney.numpy.full(2, 20.0)
        r.at[:, 1:].transpose((1, 0)).at[1].addupdate(jitney.numpy.ones(2))
        r.bitcast("int32")[1, 1] = 0
        assert r.T.shape == (3, 2)
        assert r.bitcast("int16").dtype == np.int16
        return r.T[...]

    want = np.array([[20, 10, 3], [20, 0, 6]], np.float32)
    for run in (f, jitney.jit(f)):
        r = jitney.new_ref(jitney.numpy.asarray(M))
        np.testing.assert_array_equal(run(r), want.T)
        np.testing.assert_array_equal(r[...], want)


def test_bits_of_another_width_are_written():
    r = jitney.new_ref(jitney.numpy.zeros((2, 3)))
    bits = jitney.numpy.asarray(M).view("int16").reshape(2, 3, 2).swapaxes(1, 2).reshape(4, 3)
    r.bitcast("int16")[...] = bits
    np.testing.assert_array_equal(r[...], M)


def test_views_in_derivatives_and_batches():
    def f(x):
        r = jitney.new_ref(x)
        r.reshape(-1)[0] = 3.0
        return (r.T[0] ** 2).sum() + r.reshape(3, 2)[1].sum()

    x = jitney.numpy.asarray(M)
    want = [[0, 0, 1], [7, 0, 0]]
    np.testing.assert_array_equal(jitney.grad(f)(x), want)
    np.testing.assert_array_equal(jitney.jit(jitney.grad(f))(x), want)
    batch = jitney.numpy.stack([x, x + 1])
    np.testing.assert_array_equal(jitney.vmap(f)(batch), [f(b) for b in batch])

    def bits(x):
        r = jitney.new_ref(x)
        r.bitcast("int32")[0, 0] = 0
        return r[...].sum()

    with pytest.raises(NotImplementedError, match=r"bitcast.*no derivative"):
        jitney.grad(bits)(x)


@pytest.mark.parametrize(
    ("view", "error", "match"),
    [
        (lambda s: s.reshape(4, 2), ValueError, r"cannot reshape shape \(2, 3\) into shape \(4, 2\)"),
        (lambda s: s.reshape(4, -1), ValueError, "cannot reshape"),
        (lambda s: s.transpose((0, 0)), ValueError, "each of the 2 axes"),
        (lambda s: s.reshape(6).bitcast("int16"), NotImplementedError, "at least two axes"),
        (lambda s: s.bitcast("int16").at[1:].bitcast("int32"), ValueError, "not a multiple of"),
        (lambda s: jitney.vmap(lambda v: v[:])(s.at[0]), TypeError, "TransformedRefs are not allowed"),
    ],
)  # fmt: skip
def test_views_that_cannot_be(view, error, match):
    with pytest.raises(error, match=match):
        view(jitney.new_ref(jitney.numpy.asarray(M)))


def test_text_of_views():
    def f(r):
        r.reshape(-1)[1:3] = r.at[1].bitcast("int32")[:2].astype("float32")
        return r.T[0]

    assert str(jitney.make_jaxpr(f)(jitney.new_ref(jitney.numpy.asarray(M)))) == (
        "{ lambda ; a:Ref{f32[2,3]}. let\n"
        "    b:i32[2] <- a[1,:]{bitcast(int32)}[:2]\n"
        "    c:f32[2] = convert_element_type[new_dtype=float32 weak_type=False] b\n"
        "    a{reshape([6])}[1:3] <- c\n"
        "    d:f32[2] <- a{transpose([1, 0])}[0,:]\n"
        "  in (d,) }"
    )


def test_attributes():
    r = jitney.new_ref(jitney.numpy.zeros((2, 3)))
    assert (r.shape, r.ndim, r.size, len(r)) == ((2, 3), 2, 6, 2)
    assert str(jitney.typeof(r)) == "Ref{float32[2,3]}"
    assert repr(jitney.new_ref(1.0)) == "Ref(1., dtype=float32)"
    assert isinstance(r, jitney.Ref)
    assert hash(r) == hash(r)
    view = r.at[1:]
    assert view.shape == (1, 3)
    view[0, 1] = 4.0
    view.at[0][2] = 5.0
    view.addupdate(jitney.numpy.ones((1, 3)))
    np.testing.assert_array_equal(r[...], [[0, 0, 0], [1, 5, 6]])
    assert jitney.jit(lambda a: isinstance(a, jitney.Ref))(r)


def test_tracers_of_arrays_stay_as_they_are():
    def f(x):
        assert not hasattr(x, "addupdate")
        assert not isinstance(x, jitney.Ref)
        with pytest.raises(TypeError, match="immutable"):
            x[0] = 1
        return [*x], x.at[0].set(1.0)

    rows, x = jitney.jit(f)(jitney.numpy.zeros(2))
    assert len(rows) == 2
    assert x[0] == 1


def test_functions_of_elements_may_have_references_of_their_own():
    """Where an operation has its function as an open program, too."""

    def double(x):
        r = jitney.new_ref(x)
        r[...] = r[...] * 2
        return r[...]

    def scattered(x):
        numbers = jitney.lax.ScatterDimensionNumbers((1,), (0,), (0,))
        return jitney.lax.scatter_apply(
            x, np.zeros((2, 1), int), double, numbers, update_shape=(2, 3)
        )

    def windows(x):
        return jitney.lax.reduce_window(
            x, np.float32(0), lambda a, b: double(a) + b, (1, 1), (1, 1), "SAME"
        )

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for transform in (jitney.jit, lambda f: f):
        np.testing.assert_array_equal(transform(scattered)(jitney.numpy.asarray(x)), x * [[4], [1]])
        np.testing.assert_array_equal(transform(windows)(jitney.numpy.asarray(x)), x)


def test_axes_of_positions_take_the_place_of_those_that_they_index():
    """They come first where the indexed axes are not neighbours, as with NumPy."""
    x = np.arange(120.0, dtype=np.float32).reshape(2, 3, 4, 5)
    rows = np.array([2, 0, 1, 1, 2, 0])
    all_, first = slice(None), slice(0, 1)
    for index in (
        (all_, rows), (all_, all_, rows), (all_, rows, rows), (all_, rows, first, rows),
        (all_, 1, rows), (all_, rows, all_, 1), (first, all_, all_, rows),
    ):  # fmt: skip
        r = jitney.new_ref(jitney.numpy.asarray(x))
        np.testing.assert_array_equal(r[index], x[index])
        assert r.at[index].shape == x[index].shape
        r[index] = np.zeros(x[index].shape, np.float32)
        expected = x.copy()
        expected[index] = 0
        np.testing.assert_array_equal(r[...], expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weakly_typed_numbers_take_the_type_of_the_elements(dtype):
    def program(j):
        def f(x):
            r = j.new_ref(j.numpy.zeros(2, dtype))
            r[0] = x
            return r[...]

        return str(j.make_jaxpr(f)(1.5))

    assert program(jitney) == of_jax(program)


def test_references_in_another_memory():
    space = jitney.memory.Space.Host

    def f(x):
        ref = jitney.new_ref(x)
        ref.memory_space_cast(space)[0] = 5.0
        view = ref.at[:2].memory_space_cast(space)
        assert view.shape == (2,) and view.transforms[-1].memory_space is space
        view[...] += 1
        return ref[...], view[...]

    for g in (f, jitney.jit(f)):
        whole, part = g(jitney.numpy.ones(3))
        np.testing.assert_array_equal(whole, [6.0, 2.0, 1.0])
        np.testing.assert_array_equal(part, [6.0, 2.0])
    program = str(jitney.make_jaxpr(f)(jitney.numpy.ones(3)))
    assert "[:2]{memory_space_cast(MemorySpace.Host)}" in program
    assert isinstance(jitney.core.ShapedArray.broadcast, hijax.aval_method)
    assert isinstance(hijax.AbstractRef.memory_space_cast, hijax.aval_method)
