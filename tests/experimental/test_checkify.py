"""`checkify`: checks as values, beside real jax."""

import importlib
import re

import numpy as np
import pytest
from tests.helpers.both import of_both

import jitney
import jitney.numpy as jtnp
from jitney.experimental import checkify


def messages(lib, case, errors="all_checks"):
    """The messages that a case finds: [(function, arguments)], each called as it is and jitted."""
    module = importlib.import_module(f"{lib.__name__}.experimental.checkify")
    found = []
    for f, args in case(lib, lib.numpy, module):
        checked = module.checkify(f, errors=getattr(module, errors))
        args = [lib.numpy.asarray(x) for x in args]
        for g in (checked, lib.jit(checked)):
            error, out = g(*args)
            numbers = [np.asarray(x) for x in lib.tree.leaves(out)]
            text = error.get()
            found.append((None if text is None else text.strip(), numbers))
    return found


def users(lib, jnp, checkify):
    def f(x):
        checkify.check(x > 0, "{} is not more than {zero}", x, zero=x * 0)
        checkify.check(x < 5, "{x} is too much", x=x)
        return jnp.sqrt(x)

    yield from ((f, [x]) for x in (1.0, -1.0, 9.0))


def numbers(lib, jnp, checkify):
    yield lambda x: jnp.sin(x) + 1, [np.inf]
    yield lambda x: x / (x - 1), [1.0]
    yield lambda x: jnp.log(x).sum(), [[1.0, -1.0]]
    yield lambda x: x @ x.T, [[[np.nan, 1.0]]]
    yield lambda x: -jnp.stack([x, x])[:1], [np.nan]  # moved, not made
    yield lambda x: x // 0, [3]


def indices(lib, jnp, checkify):
    x = np.arange(42.0).reshape(2, 3, 7)
    yield lambda i: jnp.asarray(x)[i], [5]
    yield lambda i: jnp.asarray(x)[i], [-5]
    yield lambda i: jnp.asarray(x)[0, i, 100], [2]
    yield lambda i, j: jnp.asarray(x)[i, j], [[1, 20], [1, 4]]
    yield lambda i: jnp.asarray(x).at[i].add(1.0), [2]
    yield lambda i: jnp.asarray(x).at[:, i].set(1.0), [1]
    yield lambda i: lib.lax.dynamic_slice(jnp.asarray(x), (i, 0, 0), (1, 1, 1)), [2]
    yield lambda i: jnp.take(jnp.asarray(x), i, axis=0, mode="clip"), [5]


def control_flow(lib, jnp, checkify):
    lax = lib.lax

    def branches(x):
        def one(x):
            checkify.check(x != 3, "three: {}", x)
            return x / (x - 1)

        def other(x):
            checkify.check(x > -2, "{} is below {}", x, x + 1)
            return jnp.sin(x)

        return lax.cond(x > 0, one, other, x)

    def scanned(xs):
        def body(c, x):
            checkify.check(x > 0, "at {c}: {x}", c=c, x=x)
            return c + 1, x * 2

        return lax.scan(body, 0, xs)

    def repeated(x):
        def goes_on(c):
            checkify.check(c[1] > -3, "condition: {}", c[1])
            return c[0] < 3

        def body(c):
            checkify.check(c[1] < 9, "body: {}", c[1])
            return c[0] + 1, c[1] * 2

        return lax.while_loop(goes_on, body, (0, x))

    yield from ((branches, [x]) for x in (2.0, 1.0, 3.0, -1.0, -4.0))
    yield from ((scanned, [xs]) for xs in ([1.0, 2.0], [1.0, -2.0, -3.0]))
    yield from ((repeated, [x]) for x in (1.0, 3.0, -1.0, -8.0))
    yield lib.checkpoint(scanned), [[1.0, -5.0]]
    yield lib.jit(scanned), [[0.0]]


def mapped(lib, jnp, checkify):
    def f(x):
        checkify.check(x > 0, "{x} is not positive", x=x)
        return x

    yield lib.vmap(f), [[1.0, 2.0]]
    yield lib.vmap(lambda x: f(x) + 1), [[1.0, -2.0]]


def users_derivatives(lib, jnp, checkify):
    @lib.custom_jvp
    def f(x):
        checkify.check(x > 0, "{} is not positive", x)
        return jnp.log(x)

    @f.defjvp
    def _(primals, tangents):
        return f(*primals), tangents[0] / primals[0]

    @lib.custom_vjp
    def g(x):
        checkify.check(x > 0, "{} is not positive", x)
        return jnp.log(x)

    g.defvjp(lambda x: (jnp.log(x), x), lambda x, ct: (ct / x,))
    for h in (f, g):
        yield h, [-1.0]
        yield h, [2.0]
        yield lib.grad(h), [2.0]
        yield lambda x, h=h: lib.vmap(h)(x).sum(), [[2.0, -1.0]]


def facts(message):
    """The message; of an index out of bounds, whose sentence is our own, the numbers in it."""
    if message is None or not message.startswith("out-of-bounds indexing"):
        return message
    return "out-of-bounds indexing", re.findall(r"\d+", message)


@pytest.mark.parametrize("case", [users, numbers, indices, control_flow, mapped, users_derivatives])
def test_finds_what_jax_finds(case):
    ours, theirs = of_both(lambda lib: messages(lib, case))
    assert [facts(m) for m, _ in ours] == [facts(m) for m, _ in theirs]
    for (_, found), (_, expected) in zip(ours, theirs, strict=True):
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize("errors", ["user_checks", "nan_checks", "div_checks", "index_checks"])
def test_only_what_is_asked_for(errors):
    def case(lib, jnp, checkify):
        def f(x):
            x = x / 0
            x = jnp.sin(x)[jnp.array(5)]
            checkify.check(x < 0, "it is not")
            return x

        yield f, [[1.0, 1.0]]

    found, expected = of_both(lambda lib: messages(lib, case, errors)[0][0])
    assert facts(found) == facts(expected) is not None


def test_checks_within_derivatives():
    def f(xs):
        def body(c, x):
            checkify.check(x > 0, "{} is not positive", x)
            return c, x * x

        return jitney.lax.scan(body, 0.0, xs)[1].sum()

    checked = checkify.checkify(jitney.grad(f))
    for g in (checked, jitney.jit(checked)):
        error, slope = g(jtnp.array([1.0, -3.0]))
        assert error.get() == "-3.0 is not positive (`check` failed)"
        np.testing.assert_array_equal(slope, [2, -6])


def test_several_errors():
    def f(x):
        checkify.check(x > 0, "{x} is not positive", x=x)
        return x

    error, _ = jitney.vmap(checkify.checkify(f))(jtnp.array([-1.0, 2.0, -3.0]))
    assert error.get() == (
        "at mapped index 0: -1.0 is not positive (`check` failed)\n"
        "at mapped index 2: -3.0 is not positive (`check` failed)"
    )
    with pytest.raises(checkify.JaxRuntimeError, match=r"-1\.0 is not positive"):
        checkify.check_error(error)


def test_errors_of_iterations_are_told_on():
    def inner(c, x):
        checkify.check(x > 0, "{} is not positive", x)
        return c, x

    def f(xs):
        def body(c, x):
            error, (c, x) = checkify.checkify(inner)(c, x)
            return c, error

        _, found = jitney.lax.scan(body, 0, xs)
        checkify.check_error(found)
        return xs

    error, _ = jitney.jit(checkify.checkify(f))(jtnp.array([1.0, -4.0, -5.0]))
    assert error.get() == "-4.0 is not positive (`check` failed)"


def test_outside_of_checkify():
    def f(x):
        checkify.check(x > 0, "{} is not positive", x)
        return x

    f(jtnp.array(1.0))
    with pytest.raises(checkify.JaxRuntimeError, match="is not positive"):
        f(jtnp.array(-1.0))
    with pytest.raises(checkify.JaxRuntimeError, match=r"-2.0 is not positive"):
        jitney.vmap(f)(jtnp.array([1.0, -2.0]))
    with pytest.raises(ValueError, match=r"checkify.checkify"):
        jitney.jit(f)(1.0)
    jitney.eval_shape(f, 1.0)


def test_debug_checks_are_silent_outside():
    def f(x):
        checkify.debug_check(x > 0, "{} is not positive", x)
        return x

    assert f(jtnp.array(-1.0)) == jitney.jit(f)(-1.0) == -1
    error, _ = checkify.checkify(f)(jtnp.array(-1.0))
    assert error.get() == "-1.0 is not positive (`debug_check` failed)"


def test_wrong_use():
    with pytest.raises(TypeError, match="check takes a scalar pred"):
        checkify.check(jtnp.ones(3) > 0, "")
    with pytest.raises(TypeError, match="check takes a scalar pred"):
        checkify.check(1, "")
    with pytest.raises(TypeError, match=r"Formatting arguments .* of type str"):
        checkify.check(True, "{}", "text")
    with pytest.raises(IndexError):
        checkify.check(True, "{}")
    with pytest.raises(TypeError, match="must be an Error"):
        checkify.check_error(3)
    with pytest.raises(ValueError, match="is unknown while a function is traced"):
        jitney.jit(lambda x: checkify.checkify(jtnp.sqrt)(x)[0].get())(1.0)


def test_programs_of_checked_calls_are_kept():
    traced = []

    @jitney.jit
    def f(x):
        traced.append(x)
        checkify.check(x > 0, "{} is not positive", x)
        return x

    checked = checkify.checkify(f)
    texts = [checked(jtnp.array(x))[0].get() for x in (1.0, -1.0, -2.0)]
    assert texts == [None, *(f"{x} is not positive (`check` failed)" for x in (-1.0, -2.0))]
    assert len(traced) == 1


def test_loops_whose_lanes_end_apart():
    """With checks in them they cannot be checked: lanes that have ended would be, too."""

    def f(x):
        return jitney.lax.while_loop(lambda y: y < 5, lambda y: y / 2 + 3, x)

    xs = jtnp.array([1.0, 9.0])
    error, out = checkify.checkify(jitney.vmap(f))(xs)
    assert error.get() is None
    np.testing.assert_array_equal(out, jitney.vmap(f)(xs))
    with pytest.raises(ValueError, match="checkify-of-vmap-of-while"):
        checkify.checkify(jitney.vmap(f), errors=checkify.float_checks)(xs)
    error, _ = jitney.vmap(checkify.checkify(f, errors=checkify.float_checks))(xs)
    assert error.get() is None


def test_what_has_no_checks_keeps_its_program():
    def f(x):
        x = jitney.lax.fori_loop(0, 3, lambda i, x: 2 * x, x)
        x = jitney.lax.while_loop(lambda x: x < 9, lambda x: x + 1, x)
        x, _ = jitney.lax.scan(lambda x, y: (x + y, y), x, jtnp.ones(3))
        return jitney.lax.cond(x > 3, jitney.jit(jtnp.sin), jitney.checkpoint(jtnp.cos), x)

    plain = str(jitney.make_jaxpr(f)(1.0))
    checked = str(jitney.make_jaxpr(lambda x: checkify.checkify(f)(x)[1])(1.0))
    assert plain == checked


def test_the_first_failure_in_time_is_told():
    def step(i, x):
        y = 1.0 / (x - 5)  # fails in the sixth iteration
        checkify.check(i < 2, "iteration {}", i)  # and this in the third
        return x + 1 + 0 * y

    def loop():
        return jitney.lax.fori_loop(0, 9, step, 0.0)

    error, _ = jitney.jit(checkify.checkify(loop, errors=checkify.all_checks))()
    assert error.get() == "iteration 2 (`check` failed)"


def test_rules_of_derivatives_bring_no_checks():
    @jitney.custom_jvp
    def f(x):
        return jtnp.sin(x)

    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    checked = checkify.checkify(f, errors=checkify.nan_checks)
    assert checked(np.inf)[0].get() == "nan generated by primitive: sin."
    (error, _), (_, tangent) = jitney.jvp(checked, (np.inf,), (1.0,))
    assert not error.checks
    assert tangent == 1


def test_errors_are_pytrees():
    error, _ = checkify.checkify(lambda x: jtnp.log(x), errors=checkify.nan_checks)(
        jtnp.array(-1.0)
    )
    again = jitney.tree.map(lambda x: x, error)
    assert again.get() == error.get() == "nan generated by primitive: log."
    assert isinstance(error.get_exception(), ValueError | Exception)
    with pytest.raises(checkify.JaxRuntimeError, match="nan generated"):
        error.throw()
    assert checkify.init_error.get() is None


def test_messages_show_arrays_and_keys():
    def f(x, key):
        checkify.check(x > 5, "{x!r} by {key}", x=x, key=key)
        return x

    for transform in (lambda f: f, jitney.jit):
        error, _ = checkify.checkify(transform(f))(jtnp.float32(2), jitney.random.key(3))
        assert error.get().startswith("Array(2., dtype=float32) by Array((), dtype=key<fry>)")


def test_the_last_failing_lane_is_told():
    def several(lib, numpy, module):
        def f(x):
            module.check(x > 0, "not positive: {x}", x=x)
            module.check(x > -5, "far below: {x}", x=x)
            return x

        yield lib.vmap(f), [[1.0, -2.0, -3.0, 4.0]]
        yield lib.vmap(f), [[1.0, -2.0, -9.0, -3.0]]
        yield lib.vmap(f), [[1.0, 2.0]]
        yield lib.vmap(lib.vmap(f)), [[[1.0, -2.0], [-3.0, 4.0]]]
        yield lib.vmap(lambda x: lib.lax.cond(x > 0, lambda x: x, f, x)), [[1.0, -2.0, -9.0, 3.0]]

    ours, theirs = of_both(lambda lib: messages(lib, several))
    assert [text for text, _ in ours] == [text for text, _ in theirs]
