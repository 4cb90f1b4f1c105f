"""Tokens, sinks, composites, accuracies and `lax.dtype`: programs and results are JAX's."""

import re

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney.core.recording import compat
from jitney.core.types import effects

X = np.array([0.5, 1.5], np.float32)


def texts(make):
    """What `make` prints with real jax and with jitney."""
    return of_jax(lambda j: str(make(j))), str(make(jitney))


# --- tokens ---------------------------------------------------------------------------------------


def pass_through(j):
    def f(x):
        first, second = j.lax.create_token(x), j.lax.create_token()
        j.lax.after_all(first, second)
        return x * 2

    return f


def test_programs_with_tokens():
    theirs, ours = texts(lambda j: j.make_jaxpr(pass_through(j))(X))
    assert ours == theirs
    assert "b:Tok = create_token" in ours
    assert str(jitney.make_jaxpr(jitney.lax.create_token)(X).out_avals) == "[AbstractToken()]"


@pytest.mark.parametrize(
    "transform",
    [
        lambda j, f: f,
        lambda j, f: j.jit(f),
        lambda j, f: j.vmap(f),
        lambda j, f: j.jit(j.vmap(f)),
        lambda j, f: j.grad(lambda x: f(x).sum()),
        lambda j, f: lambda x: j.jvp(f, (x,), (x,))[1],
    ],
)
def test_tokens_under_transformations(transform):
    def use(j):
        return transform(j, pass_through(j))(X)

    np.testing.assert_array_equal(use(jitney), of_jax(use))


def test_tokens_go_through_control_flow_of_programs():
    lax = jitney.lax

    def counted(x):
        def step(_, carry):
            token, n = carry
            return lax.after_all(token, lax.create_token(n)), n + 1

        return lax.fori_loop(0, 3, step, (lax.create_token(x), x))[1]

    assert jitney.jit(counted)(2) == 5
    choose = jitney.jit(lambda p, t: lax.cond(p, lambda t: t, lambda t: lax.after_all(t, t), t))
    assert type(choose(True, lax.create_token())) is type(lax.create_token())


def test_tokens_as_arguments_and_results():
    lax = jitney.lax
    step = jitney.jit(lambda token, x: (lax.after_all(token), x + 1))
    token = lax.create_token()
    for _ in range(3):  # the third call finds what the first two have left
        token, y = step(token, X)
        assert isinstance(token, compat.Token) and token.block_until_ready() is None
        np.testing.assert_array_equal(y, X + 1)
    assert jitney.eval_shape(lax.create_token) is jitney.make_jaxpr(lax.create_token)().out_avals[0]
    for wrong in (lambda: lax.after_all(X), lambda: jitney.jit(lax.after_all)(X)):
        with pytest.raises(TypeError, match=r"after_all.*token"):
            wrong()


# --- sinks ----------------------------------------------------------------------------------------


def sinking(j):
    def f(x):
        j.lax.dce_sink([x, {"a": 2 * x}])
        return (x * x).sum()

    return f


@pytest.mark.parametrize(
    "program",
    [
        lambda j: j.make_jaxpr(sinking(j))(X),
        lambda j: j.make_jaxpr(lambda x: j.lax.dce_sink(x, prevent_mlir_dce=True))(X),
        lambda j: j.make_jaxpr(lambda x: j.jvp(lambda x: j.lax.dce_sink(x), (x,), (x,)))(X),
        lambda j: j.make_jaxpr(j.vmap(lambda x: (j.lax.dce_sink(x), -x)[1]))(X),
    ],
)
def test_programs_with_sinks(program):
    theirs, ours = texts(program)
    assert ours == theirs


def test_sinks_stay_and_do_nothing():
    f = sinking(jitney)
    assert str(jitney.make_jaxpr(jitney.grad(f))(X)).count("dce_sink") == 2
    assert str(jitney.make_jaxpr(jitney.jit(f))(X)).count("dce_sink") == 2
    assert jitney.make_jaxpr(f)(X).effects == {effects.no_dce_effect}
    for run in (f, jitney.jit(f), lambda x: jitney.vmap(f)(x[None])[0]):
        assert float(run(X)) == float((X * X).sum())
    np.testing.assert_array_equal(jitney.jit(jitney.grad(f))(X), 2 * X)
    assert jitney.lax.dce_sink(X) is None

    def loop(x):
        return jitney.lax.scan(
            lambda c, _: (jitney.lax.dce_sink(c), (2 * c, None))[1], x, length=2
        )[0]

    assert "dce_sink" in str(jitney.make_jaxpr(loop)(X))
    np.testing.assert_array_equal(loop(X), 4 * X)
    np.testing.assert_array_equal(jitney.grad(lambda x: loop(x).sum())(X), [4, 4])
    with pytest.raises(TypeError, match="expected an array or a scalar, but got 'text'"):
        jitney.lax.dce_sink("text")


# --- composites -----------------------------------------------------------------------------------


def scaled(j):
    return j.lax.composite(
        lambda x, *, scale, axes=None: {"out": j.numpy.sin(x) * scale}, name="my.scaled", version=2
    )


def test_programs_with_composites():
    theirs, ours = texts(lambda j: j.make_jaxpr(lambda x: scaled(j)(x, scale=3, axes=(1, 2)))(X))
    assert ours == theirs
    theirs, ours = texts(
        lambda j: j.make_jaxpr(
            lambda x: j.lax.composite(lambda x, table, other: -x, "t")(
                x, table=np.arange(3), other=None
            )
        )(X)
    )
    assert ours == theirs


def test_composites_compute_their_decomposition():
    f = scaled(jitney)
    expected = np.sin(X) * 3
    for run in (f, jitney.jit(f, static_argnames="scale")):
        np.testing.assert_allclose(run(X, scale=3)["out"], expected, rtol=1e-6)
    np.testing.assert_allclose(f(X, scale=jitney.numpy.float32(3))["out"], expected, rtol=1e-6)
    table = jitney.lax.composite(lambda x: x + np.arange(2.0, dtype=np.float32), name="table")
    np.testing.assert_array_equal(jitney.jit(table)(X), X + [0, 1])


def test_errors_of_composites():
    f = scaled(jitney)
    inner = jitney.lax.composite(lambda x: x, name="inner")
    cases = [
        (lambda: jitney.jit(lambda s: f(X, scale=s))(2.0), "attribute 'scale' is traced"),
        (
            lambda: jitney.jit(lambda y: jitney.lax.composite(lambda x: x + y, name="t")(X))(X),
            "closes over a traced value",
        ),
    ]
    for run, message in cases:
        with pytest.raises(jitney.errors.UnexpectedTracerError, match=message):
            run()
    with pytest.raises(ValueError, match=r"composite .*inner.* has no derivative rule"):
        jitney.grad(lambda x: inner(x).sum())(X)
    with pytest.raises(ValueError, match="has no rule for linear_transpose"):
        jitney.linear_transpose(inner, X)(X)
    with pytest.raises(NotImplementedError, match=r"composite .*inner.* has no batching rule"):
        jitney.vmap(inner)(X)
    own = jitney.custom_jvp(inner)
    own.defjvp(lambda xs, ts: (own(*xs), ts[0] * 5))
    np.testing.assert_array_equal(jitney.grad(lambda x: own(x).sum())(X), [5, 5])


# --- accuracies and dtypes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", "cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh".split()
)
def test_derivatives_by_accuracy(name):
    def programs(j):
        function = getattr(j.lax, name)
        return [
            j.make_jaxpr(lambda x, a=a: j.jvp(lambda x: function(x, accuracy=a), (x,), (x,)))(1.0)
            for a in (None, j.lax.AccuracyMode.HIGHEST, j.lax.AccuracyMode.DEFAULT)
        ]

    theirs, ours = texts(programs)
    assert ours == theirs


def test_highest_accuracy_of_derivatives():
    lax = jitney.lax
    highest = lax.AccuracyMode.HIGHEST
    for function, x, slope in (
        (lax.tanh, 20.0, 4 * np.exp(-40.0)),
        (lax.logistic, 20.0, np.exp(-20.0)),
        (lax.expm1, -30.0, np.exp(-30.0)),
    ):
        found = jitney.grad(lambda x, f=function: f(x, accuracy=highest))(x)
        np.testing.assert_allclose(found, slope, rtol=1e-5)


def test_tolerances():
    lax = jitney.lax
    one = lax.Tolerance(rtol=1e-3, ulps=2)
    assert one == lax.Tolerance(0.0, 1e-3, 2) and hash(one) == hash(lax.Tolerance(0.0, 1e-3, 2))
    assert re.search(
        r"exp\[\s*accuracy=Tolerance\(",
        str(jitney.make_jaxpr(lambda x: lax.exp(x, accuracy=one))(1.0)),
    )
    np.testing.assert_allclose(jitney.jit(lambda x: lax.exp(x, accuracy=one))(X), np.exp(X), 1e-6)
    for wrong, error in (((-1.0,), ValueError), ((), ValueError), (("a",), TypeError)):
        assert of_jax(lambda j, given=wrong: j.lax.Tolerance(*given)).is_a(error)
        with pytest.raises(error):
            lax.Tolerance(*wrong)
    with pytest.raises(NotImplementedError, match="exp: accuracy must be"):
        lax.exp(X, accuracy="highest")
    assert [(m.name, m.value) for m in lax.AccuracyMode] == [("HIGHEST", 1), ("DEFAULT", 2)]


def test_dtype():
    values = [
        1, 1.0, 1j, True, np.int64(1), np.arange(3), np.float64(1), int, np.float64, "float32",
        np.dtype("int64"), np.float16,
    ]  # fmt: skip

    def found(j):
        with pytest.warns(UserWarning, match="not available"):
            return [j.lax.dtype(v) for v in values]

    assert [jitney.lax.dtype(v) for v in values] == of_jax(found)
    for wrong, error in (([1], TypeError), ("text", TypeError), (None, ValueError)):
        assert of_jax(lambda j, given=wrong: j.lax.dtype(given)).is_a(error)
        with pytest.raises(error):
            jitney.lax.dtype(wrong)
