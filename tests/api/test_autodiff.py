"""How derivatives are called, and what functions see under them, against real jax."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import check_claim, of_both
from tests.helpers.rule_checks import agree

import jitney

X = np.array([0.3, -0.7, 1.2], np.float32)


def both_raise(error: type[Exception], use: Any, match: str | None = None) -> None:
    name = error.__name__

    def claim(j):
        with pytest.raises(getattr(j.errors, name, error), match=match):
            use(j)

    check_claim(claim)


# --- results aside --------------------------------------------------------------------------------


def with_aux(x):
    return (x**2).sum(), {"double": 2 * x, "sign": x > 0, "n": 3, "none": None}


@pytest.mark.parametrize(
    "use",
    [
        lambda j: j.grad(with_aux, has_aux=True)(X),
        lambda j: j.value_and_grad(with_aux, has_aux=True)(X),
        lambda j: j.jit(j.value_and_grad(with_aux, has_aux=True))(X),
        lambda j: j.vmap(j.grad(lambda x: (x**2, x * 3), has_aux=True))(X),
        lambda j: j.grad(lambda x: j.grad(lambda y: (y**3, y * x), has_aux=True)(x)[1])(2.0),
        lambda j: j.jvp(with_aux, (X,), (X,), has_aux=True),
        lambda j: j.linearize(with_aux, X, has_aux=True)[2],
        lambda j: j.vjp(with_aux, X, has_aux=True)[2],
        lambda j: j.jacfwd(lambda x: (x**2, 2 * x), has_aux=True)(X),
        lambda j: j.jacrev(lambda x: (x**2, 2 * x), has_aux=True)(X),
        lambda j: j.hessian(lambda x: ((x**3).sum(), 2 * x), has_aux=True)(X),
    ],
)
def test_results_aside(use):
    agree(use)


def test_anything_can_be_returned_aside():
    _, aux = jitney.grad(lambda x: (x, ("text", np.sum, x)), has_aux=True)(2.0)
    assert aux[:2] == ("text", np.sum) and float(aux[2]) == 2.0


# --- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), (1, 0), [0, 1], (1,)], ids=repr)
def test_argnums(argnums):
    def use(j):
        def f(x, y):
            return (x * y**2).sum()

        return (
            j.grad(f, argnums)(X, 2.0), j.value_and_grad(f, argnums)(X, 2.0),
            j.jacfwd(f, argnums)(X, 2.0), j.jacrev(f, argnums)(X, 2.0),
        )  # fmt: skip

    agree(use)


def test_argnums_errors():
    both_raise(TypeError, lambda j: j.grad(lambda x: x, argnums="x")(1.0), "as an integer")
    both_raise(TypeError, lambda j: j.grad(lambda x: x, argnums=1.5)(1.0))
    both_raise(TypeError, lambda j: j.grad(lambda x: x, argnums=2)(1.0), "argnums=2.* 3 positional")
    both_raise(ValueError, lambda j: j.grad(lambda x: x, argnums=-2)(1.0))
    with pytest.raises(ValueError, match="once"):
        jitney.grad(lambda x, y: x, argnums=(0, 0))(1.0, 1.0)


def test_kinds_of_results():
    agree(lambda j: j.jacfwd(lambda z: z**2, holomorphic=True)(X + 1j * X))
    agree(lambda j: j.jacrev(lambda z: j.numpy.abs(z))(X + 1j * X))
    both_raise(TypeError, lambda j: j.jacrev(lambda z: z * 1j)(X), "floating.*complex64")
    both_raise(TypeError, lambda j: j.jacrev(lambda z: z > 0)(X), "floating.*bool")
    for name in ("jacfwd", "jacrev"):
        both_raise(
            TypeError,
            lambda j, name=name: getattr(j, name)(abs, holomorphic=True)(X + 1j),
            "holomorphic=True.* float32",
        )
    both_raise(NotImplementedError, lambda j: j.grad(lambda x: x, reduce_axes=("i",)), "deprecated")
    both_raise(NotImplementedError, lambda j: j.vjp(lambda x: x, 1.0, reduce_axes=("i",)))


@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: 1 / x, lambda x: x @ x])
def test_transposes_of_what_is_not_linear(f):
    with pytest.raises(TypeError, match="linear"):
        jitney.linear_transpose(f, X)(X if f(X).ndim else np.float32(1))


# --- what functions see ---------------------------------------------------------------------------

ASKED: dict[str, Any] = {
    "bool": bool, "int": int, "float": float, "complex": complex, "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(), "asarray": np.asarray, "np.sin": np.sin,
    "devices": lambda x: x.devices(), "round": round, "compare": lambda x: bool(x > 1 and x < 3),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("value", [2.0, np.float32(2), "array"], ids=str)
def test_python_may_ask_for_what_loses_no_derivative(name, value):
    """Branching on a value is fine; turning it into a number would drop its derivative."""
    ask = ASKED[name]

    def found(j):
        x = j.numpy.float32(2) if isinstance(value, str) else value
        seen: list[Any] = []
        error = ""
        try:
            j.grad(lambda x: (seen.append(ask(x)), x * 1.0)[1])(x)
        except Exception as e:
            error = type(e).__name__
        if name == "devices":
            seen = [len(x) for x in seen]
        return error, bool(seen) and name != "round" and seen[0]

    ours, theirs = of_both(found)
    assert ours == theirs


MADE: dict[str, Any] = {
    "asarray": lambda jnp: jnp.asarray(1), "float32": lambda jnp: jnp.float32(3),
    "list": lambda jnp: jnp.asarray([1, 2]), "bool": lambda jnp: jnp.asarray(True),
    "mean": lambda jnp: jnp.mean(1.0), "reshape": lambda jnp: jnp.reshape(1, ()),
    "astype": lambda jnp: jnp.astype(1, float), "ravel": lambda jnp: jnp.ravel(1),
    "sum": lambda jnp: jnp.sum(3), "numpy": lambda jnp: jnp.asarray(np.int8(3)),
    "copy": lambda jnp: jnp.array(np.arange(3)), "at": lambda jnp: jnp.asarray([1, 2]).at[0].set(5),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_constants_are_arrays(name):
    make = MADE[name]

    def found(j):
        seen = []

        def f(x):
            made = make(j.numpy)
            assert isinstance(made, j.Array)
            seen.append((made.shape, str(made.dtype), made.weak_type))
            return x

        for transform in ("grad", "vmap", "jit"):
            getattr(j, transform)(f)(np.ones(1, np.float32) if transform == "vmap" else 1.0)
        return seen

    ours, theirs = of_both(found, name)
    assert len(ours) == 3 and ours == theirs


# --- arguments that rules get as they are ---------------------------------------------------------


def scaled(j, kind, **options):
    """a -> x times the sum of a, whose derivative is said to be 7 times what it is."""

    def total(a):
        return sum(j.numpy.asarray(v).sum() for v in j.tree.leaves(a))

    if kind == "jvp":
        f = j.custom_jvp(lambda a, x: x * total(a), **options)
        f.defjvp(lambda a, xs, ts: (f(a, *xs), 7 * ts[0] * total(a)))
    else:
        f = j.custom_vjp(lambda a, x: x * total(a), **options)
        f.defvjp(lambda a, x: (f(a, x), None), lambda a, _, ct: (7 * ct * total(a),))
    return f


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize(
    "options", [{"nondiff_argnums": (0,)}, {"nondiff_argnames": ("a",)}], ids=str
)
@pytest.mark.parametrize(
    "a", [3.0, [1, 2], {0: 3.0}, X, "array", (1, 2)], ids=lambda a: type(a).__name__
)
def test_nondifferentiable_arguments(kind, options, a):
    def use(j):
        given = (j.numpy.asarray(X),) if isinstance(a, str) else a
        f = partial(scaled(j, kind, **options), given)
        return (
            f(2.0), j.grad(f)(2.0), j.jit(j.grad(f))(2.0), j.grad(j.jit(f))(2.0), j.jit(f)(2.0),
            j.vmap(j.grad(f))(X), j.grad(lambda x: j.vmap(f)(x).sum())(X),
        )  # fmt: skip

    agree(use)


def product(j):
    f = j.custom_jvp(lambda x, n: x * n, nondiff_argnums=(1,))
    f.defjvp(lambda n, xs, ts: (f(xs[0], n), 9 * ts[0] * n))
    return f


@pytest.mark.parametrize(
    "use",
    [
        lambda j, f: j.jit(lambda x, n: j.grad(lambda x: f(x, n))(x))(2.0, 3.0),
        lambda j, f: j.grad(lambda n: f(2.0, n))(3.0),
        lambda j, f: j.vmap(lambda n: f(2.0, n))(X),
        lambda j, f: j.vmap(lambda n: j.grad(f)(2.0, n))(X),
        lambda j, f: j.grad(lambda x: j.vmap(lambda n: f(x, n))(X).sum())(2.0),
        lambda j, f: j.grad(lambda x: j.vmap(lambda x, n: f(x, n))(X * x, X).sum())(2.0),
        lambda j, f: j.jit(j.grad(lambda x, n: f(x, n * 2)))(2.0, 3.0),
        lambda j, f: j.grad(lambda x: f(x, x))(2.0),
        lambda j, f: j.jvp(lambda x: j.jit(lambda x: f(2.0, x) + x)(x), (2.0,), (1.0,)),
        lambda j, f: j.grad(j.grad(lambda x: f(x, 3.0) * x))(2.0),
    ],
)
def test_traced_nondifferentiable_arguments(use):
    agree(lambda j: use(j, product(j)))


def test_traced_arguments_where_jax_has_none():
    f = product(jitney)
    assert float(jitney.grad(lambda x: jitney.jit(f)(x, 3.0))(2.0)) == 27.0
    both_raise(
        Exception,
        lambda j: j.jit(lambda n, x: scaled(j, "vjp", nondiff_argnums=(0,))(n, x))(2.0, 3.0),
    )
    with pytest.raises(jitney.errors.UnexpectedTracerError, match="nondiff_argnums"):
        jitney.grad(lambda n: scaled(jitney, "vjp", nondiff_argnums=(0,))(n, 3.0))(2.0)


def test_order_of_nondifferentiable_arguments():
    def claim(j):
        seen: list[Any] = []
        for numbers in ((2, 0), (0, 2)):
            f = j.custom_jvp(lambda a, x, b: x, nondiff_argnums=numbers)
            f.defjvp(lambda a, b, xs, ts: (seen.append((a, b)), (xs[0], ts[0]))[1])
            j.grad(lambda x, f=f: f("first", x, "last"))(2.0)
        assert seen == [("first", "last")] * 2

    check_claim(claim)
    with pytest.raises(ValueError, match="no parameter 'q'"):
        jitney.custom_vjp(lambda x: x, nondiff_argnames="q")


def test_backward_functions_get_arrays():
    def claim(j):
        f = j.custom_vjp(lambda x: x)
        kinds: list[bool] = []
        f.defvjp(
            lambda x: (x, None),
            lambda _, ct: (kinds.append(isinstance(ct, j.Array)), (ct,))[1],
        )
        j.grad(f)(2.0)
        with contextlib.suppress(TypeError):
            j.jit(j.grad(f))(2.0)
        assert kinds == [True, True]

    check_claim(claim)


# --- where operations come from ---------------------------------------------------------------------


def wave(x):
    y = jitney.numpy.sin(x)
    return (y * jitney.numpy.exp(y)).sum()


def test_residuals_come_from_the_function_that_is_checkpointed(capsys):
    policy = jitney.checkpoint_policies.everything_saveable
    jitney.ad_checkpoint.print_saved_residuals(jitney.checkpoint(wave, policy=policy), X)
    lines = capsys.readouterr().out.splitlines()
    first = wave.__code__.co_firstlineno
    places = [line.rpartition(":")[0].rpartition(":")[2] for line in lines if "output of" in line]
    assert set(places) == {str(first + 1), str(first + 2)}
    assert all("(wave)" in line for line in lines if "output of" in line)


def test_positions_of_mapped_results():
    def shapes(j):
        found = []
        for function in (lambda x: x, lambda x: 1.0, lambda x: np.ones(2)):
            for axis in (0, 1, -1, -2, 2, -3):
                try:
                    found.append(j.vmap(function, out_axes=axis)(X).shape)
                except ValueError:
                    found.append("ValueError")
        return found

    ours, theirs = of_both(shapes)
    assert ours == theirs


@pytest.mark.parametrize("compiled", [False, True])
def test_linear_transpose_of_a_jvp_whose_point_is_known(compiled):
    """Calls and loops within have known parts, which are computed, and linear ones."""

    def transposed(lib):
        x = lib.numpy.arange(3.0)
        inner = lib.jit(lambda x: lib.numpy.sin(x) * lib.numpy.cos(x))

        def f(x):
            loop = lib.lax.scan(lambda c, _: (inner(c) + x, c), x, length=2)[0]
            return lib.numpy.tanh(inner(x)) * loop

        transpose = lib.linear_transpose(lambda t: lib.jvp(f, (x,), (t,))[1], x)
        return (lib.jit(transpose) if compiled else transpose)(x + 1)[0]

    np.testing.assert_allclose(*of_both(transposed), rtol=1e-5)
