"""Taylor series, against real jax where it has a rule and against nested forward derivatives."""

from __future__ import annotations

import importlib
import zlib
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.helpers.answers import agree_within
from tests.helpers.both import check_claim, of_both
from tests.helpers.oracle import RealModule, answer, jax
from tests.helpers.rule_checks import close, flat

import jitney
from jitney.experimental import jet as our_jet

jax_jet = RealModule("jax.experimental.jet")

ORDERS = (1, 2, 3, 5)
RNG = np.random.default_rng(0)


class Case(NamedTuple):
    """A function f(j, *args), `j` being jax or jitney, and where its series is taken.

    Attributes:
      oracle: whether real jax has rules for it.
      nested: whether nested derivatives can tell.
      rtol: of the comparisons.
    """

    f: Any
    args: tuple[Any, ...]
    oracle: bool = True
    nested: bool = True
    rtol: float = 1e-9


def module(j: Any) -> Any:
    return importlib.import_module(f"{j.__name__}.experimental.jet")


def series_for(args: Any, order: int) -> list[list[Any]]:
    rng = np.random.default_rng(order)
    out = []
    for x in args:
        x = np.asarray(x)
        terms = [np.asarray(rng.standard_normal(x.shape)) for _ in range(order)]
        if x.dtype.kind == "c":
            terms = [t + 1j * rng.standard_normal(x.shape) for t in terms]
        out.append([t.astype(x.dtype) if x.dtype.kind in "fc" else 0 * t for t in terms])
    return out


def along(f: Any, args: Any, terms: Any, order: int) -> list[Any]:
    """Derivatives of t -> f(x(t)) at 0, by nested forward derivatives; `terms` are derivatives of x."""

    def curve(t: Any) -> Any:
        xs, factor = list(args), 1.0
        power: Any = 1.0
        for k in range(order):
            power, factor = power * t, factor * (k + 1)
            xs = [
                x + ts[k] * (power / factor).astype(ts[k].dtype) if ts[k].dtype.kind in "fc" else x
                for x, ts in zip(xs, terms, strict=True)
            ]
        return f(*xs)

    found, g = [], curve
    for _ in range(order):
        g = derivative(g)
        found.append(g(jitney.numpy.float64(0.0)))
    return found


def derivative(g: Any) -> Any:
    return lambda t: jitney.jvp(g, (t,), (jitney.numpy.ones_like(t),))[1]


def orders_of(terms: Any, order: int) -> list[Any]:
    """Each order's results, from lists of terms for each result."""
    rows = [terms] if not isinstance(terms[0], list | tuple) else terms
    return [[row[k] for row in rows] for k in range(order)]


def series_of_jax(f: Any, args: Any, terms: Any) -> Any:
    with jax.enable_x64(True):
        theirs = [jax.numpy.asarray(x) for x in args]
        return jax_jet.jet(lambda *xs: f(jax, *xs), theirs, terms)


def check(case: Case, orders: tuple[int, ...] = ORDERS) -> None:
    with jitney.enable_x64(True):
        for order in orders:
            terms = series_for(case.args, order)
            ours = [jitney.numpy.asarray(x) for x in case.args]

            def f(*xs: Any) -> Any:
                return case.f(jitney, *xs)

            out, found = our_jet.jet(f, ours, terms)
            compiled = jitney.jit(lambda xs, ts: our_jet.jet(f, xs, ts))(ours, terms)
            close(flat(out), flat(f(*ours)), case.rtol)
            close(flat(compiled[0]), flat(out), case.rtol)
            mine = orders_of(found, order)
            for a, b in zip(orders_of(compiled[1], order), mine, strict=True):
                close(a, b, case.rtol, atol=1e-9)
            if case.oracle:
                wanted, series = answer(lambda: series_of_jax(case.f, case.args, terms))  # noqa: B023
                close(flat(out), flat(wanted), case.rtol)
                for a, b in zip(mine, orders_of(series, order), strict=True):
                    close(a, b, case.rtol, atol=1e-9)
            if case.nested:
                for a, b in zip(mine, along(f, ours, terms, order), strict=True):
                    for u, v in zip(flat(a), flat(b), strict=True):
                        if v.dtype.kind in "fc":
                            np.testing.assert_allclose(u, v, rtol=1e-7, atol=1e-7)


V = np.array([0.3, -0.7, 1.9, 2.5])
P = np.array([0.3, 0.7, 1.9, 2.5])
U = np.array([0.3, -0.7, 0.1, 0.55])
M = RNG.standard_normal((3, 4))
W = RNG.standard_normal((4, 2))
S = RNG.standard_normal((3, 3)) + 3 * np.eye(3)
C = np.array([0.3 + 0.2j, -0.7 + 1.0j, 1.1 - 0.4j])


def lax(name: str, *args: Any, oracle: bool = True, **params: Any) -> Case:
    return Case(lambda j, *xs: getattr(j.lax, name)(*xs, **params), args, oracle)


ELEMENTWISE = {
    **{
        name: lax(name, V)
        for name in "neg abs exp expm1 sin cos sinh cosh tanh asinh logistic square erf erfc".split()
    },
    **{name: lax(name, P) for name in "log log1p sqrt rsqrt".split()},
    **{name: lax(name, V) for name in "floor ceil sign round is_finite".split()},
    **{name: lax(name, U) for name in "atanh erf_inv".split()},
    "acosh": lax("acosh", P + 1),
    **{name: lax(name, V, oracle=False) for name in "tan atan exp2".split()},
    **{name: lax(name, U, oracle=False) for name in "asin acos".split()},
    **{name: lax(name, P, oracle=False) for name in "cbrt lgamma digamma bessel_i0e".split()},
    **{
        f"{name} of complex numbers": lax(name, C)
        for name in "exp log sin cos tanh sqrt logistic real imag conj square".split()
    },
    "abs of complex numbers": lax("abs", C, oracle=False),
    **{f"integer_pow {y}": lax("integer_pow", V, y=y) for y in (-3, -1, 0, 1, 2, 5)},
    "pow": lax("pow", P, V),
    "pow of a constant": Case(lambda j, x: j.lax.pow(x, P), (P,)),
    "pow by integers": Case(lambda j, x: j.lax.pow(x, np.array([2, 0, -1, 3])), (P,), oracle=False),
    "pow of negative numbers": Case(lambda j, x: j.lax.pow(x, 2.0 + 0 * V), (V,), oracle=False),
    "pow to a series": Case(lambda j, y: j.lax.pow(P, y), (V,)),
    "pow of zero to a series": Case(
        lambda j, y: j.lax.pow(np.zeros(4), y), (P,), oracle=False, nested=False
    ),
    **{name: lax(name, V, P) for name in "add sub mul div rem max min atan2".split()},
    "complex": lax("complex", V, P),
    "clamp": Case(lambda j, x: j.lax.clamp(0 * V, x, 0 * V + 1), (V,)),
    "select_n": Case(lambda j, x, y: j.lax.select_n(V > 0, x, y), (V, P)),
    "comparisons": Case(lambda j, x, y: x * (x > y) + (x == y), (V, P)),
    "bits": Case(lambda j, x: x * ((x > 0) & ~(x > 1)).astype(x.dtype), (V,)),
    "broadcasting": Case(lambda j, x, y: (x * y + y) / (1.5 + x[:1] ** 2) - x, (V, M)),
    "scalars": Case(lambda j, x, y: j.lax.sin(x) * y - x / y, (np.float64(0.3), np.float64(1.2))),
    "igamma": lax("igamma", P, P[::-1].copy(), oracle=False)._replace(
        f=lambda j, x: j.lax.igamma(np.float64(1.5), x), args=(np.float64(0.8),)
    ),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    check(ELEMENTWISE[name])


NUMBERS = (((1,), (0,)), ((), ()))
MOVES: dict[str, Case] = {
    "dot_general": lax("dot_general", M, W, dimension_numbers=NUMBERS),
    "reshape": Case(lambda j, x: x.reshape(2, 6), (M,)),
    "transpose": Case(lambda j, x: x.T, (M,)),
    "broadcast": Case(lambda j, x: j.numpy.broadcast_to(x, (2, 3, 4)), (M,)),
    "squeeze": Case(lambda j, x: x[:, None].squeeze(1), (M,)),
    "rev": Case(lambda j, x: x[::-1], (M,)),
    "slice": Case(lambda j, x: x[1:, ::2], (M,)),
    "pad": Case(lambda j, x, y: j.lax.pad(x, y, ((1, 0, 1), (0, 2, 0))), (M, np.float64(3.0))),
    "concatenate": Case(lambda j, x, y: j.numpy.concatenate([x, M, y]), (M, 2 * M)),
    "stack": Case(lambda j, x, y: j.numpy.stack([x, y], 1), (M, 2 * M)),
    "split": Case(lambda j, x: j.lax.split(x, (1, 3), 1), (M,)),
    "reductions": Case(lambda j, x: (x.sum(0), x.max(1), x.min(), x.mean()), (M,)),
    "maximum of equals": Case(
        lambda j, x: (j.numpy.max(x), j.numpy.maximum(x, 1.0)), (np.array([1.0, 1.0, 0.0]),),
        nested=False,
    ),
    "product": Case(lambda j, x: x.prod(1), (M,), oracle=False),
    "argmax": Case(lambda j, x: (x.argmax(), x[x.argmax()]), (V,), oracle=False, nested=False),
    **{
        name: lax(name, M, axis=1, reverse=reverse)
        for name in "cumsum cumprod cummax cummin".split() for reverse in (False, True)
    },
    "cumlogsumexp": lax("cumlogsumexp", M, axis=1, oracle=False),
    "gather": Case(lambda j, x: x[np.array([2, 0, 2])], (M,)),
    "dynamic_slice": Case(lambda j, x: j.lax.dynamic_slice(x, (1, 0), (2, 3)), (M,)),
    "dynamic_update_slice": Case(
        lambda j, x, y: j.lax.dynamic_update_slice(x, y, (1, 2)), (M, W[:2])
    ),
    "scatter_add": Case(lambda j, x, y: x.at[np.array([1, 1])].add(y), (M, 2 * M[:2])),
    "scatter": Case(lambda j, x, y: x.at[np.array([1, 2])].set(y), (M, 2 * M[:2]), oracle=False),
    "sort": Case(lambda j, x: j.numpy.sort(x), (V[::-1].copy(),), oracle=False),
    "top_k": Case(lambda j, x: j.lax.top_k(x, 2)[0], (V,), oracle=False),
    "approx_top_k": Case(lambda j, x: j.lax.approx_max_k(x, 2)[0], (V,), oracle=False),
    "convert": Case(lambda j, x: x.astype(np.float32).astype(np.float64), (V,), nested=False),
    "to integers": Case(lambda j, x: x.astype(np.int32) * x, (V,), oracle=False),
    "stop_gradient": Case(lambda j, x: j.lax.stop_gradient(x) * x, (V,)),
    "copies": Case(lambda j, x: j.numpy.array(x, copy=True), (V,)),
    "reduce_window": Case(
        lambda j, x: j.lax.reduce_window(x, 0.0, j.lax.add, (2,), (1,), "VALID"), (V,)
    ),
    "maximum of windows": Case(
        lambda j, x: j.lax.reduce_window(x, -np.inf, j.lax.max, (2,), (1,), "VALID"), (V,),
        oracle=False,
    ),
    "barrier": Case(lambda j, x: j.lax.optimization_barrier((x, x * x)), (V,), oracle=False),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_moves_and_folds(name):
    check(MOVES[name], (1, 3))


def custom(j, x):
    f = j.custom_jvp(lambda x: j.numpy.sin(x))
    f.defjvp(lambda xs, ts: (f(*xs), j.numpy.cos(xs[0]) * ts[0]))
    return f(x) * x


def with_own_pullback(j, x):
    f = j.custom_vjp(lambda x: j.numpy.sin(x) * x)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (7 * ct,))
    return f(x)


def newton(j, a):
    return j.lax.fori_loop(0, 4, lambda _, x: 0.5 * (x + a / x), a)


def doubling(j, x):
    """A carry that has no terms at first."""
    return j.lax.while_loop(
        lambda c: c[1] < 3, lambda c: (c[0] * x + 1.0, c[1] + 1), (j.numpy.ones(4), 0)
    )[0]


def steps(j, x):
    def step(c, row):
        c = c * 0.9 + j.numpy.tanh(row * c)
        return c, (c * x.sum(), 1.0)

    c, (rows, _) = j.lax.scan(step, x, M, unroll=2, reverse=True)
    return c, rows


CALLS = {
    "jit": Case(lambda j, x: j.jit(lambda v: (j.numpy.sin(v) * x, 1.0))(x)[0], (V,)),
    "jit of integers": Case(lambda j, x: j.jit(lambda v, n: v * n)(x, 3), (V,)),
    "mlp": Case(lambda j, x, w: j.numpy.tanh(j.nn.softmax(x @ w) @ w.T), (M, W)),
    "layers": Case(
        lambda j, x: j.nn.logsumexp((x - x.mean(-1)[:, None]) / x.std(-1)[:, None], -1), (M,)
    ),
    "nn": Case(lambda j, x: j.nn.relu(x) + j.nn.softplus(x), (V,), oracle=False),
    "custom_jvp": Case(custom, (V,), oracle=False),
    "custom_vjp": Case(with_own_pullback, (V,), oracle=False, nested=False),
    "checkpoint": Case(
        lambda j, x: j.checkpoint(lambda v: j.numpy.sin(v) * x)(x), (V,), oracle=False
    ),
    "cond": Case(
        lambda j, x: j.lax.cond(True, lambda v: (v * v, 1.0), lambda v: (v, v[0]), x)[0],
        (V,),
        oracle=False,
    ),
    "while": Case(newton, (P,), oracle=False),
    "carry": Case(doubling, (P,), oracle=False),
    "scan": Case(steps, (V,), oracle=False),
    "solve": Case(lambda j, a, b: j.numpy.linalg.solve(a, b), (S, S[0]), oracle=False),
    "cholesky": Case(lambda j, a: j.numpy.linalg.cholesky(a @ a.T), (S,), oracle=False),
    "inv": Case(lambda j, a: j.numpy.linalg.inv(a), (S,), oracle=False),
    "vmap": Case(lambda j, x: j.vmap(lambda v: j.numpy.sin(v) * x.sum())(x), (V,)),
    "grad": Case(lambda j, x: j.grad(lambda v: (j.numpy.sin(v) * v).sum())(x), (V,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    check(CALLS[name], (1, 2, 3))


def test_custom_vjp_takes_the_function():
    with jitney.enable_x64(True):
        out, terms = our_jet.jet(lambda x: with_own_pullback(jitney, x), (V,), ((V, V),))
        wanted = our_jet.jet(lambda x: jitney.numpy.sin(x) * x, (V,), ((V, V),))
        close([out, *terms], [wanted[0], *wanted[1]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, "bfloat16", np.complex64])
def test_dtypes(dtype):
    x = np.asarray([0.5, 1.5], np.float32).astype(dtype)
    for f in (
        lambda j, v: j.numpy.exp(v) * v,
        lambda j, v: v / (v * v + 1),
        lambda j, v: v**3,
    ):

        def series(j, f=f):
            given = j.numpy.asarray(x)
            return module(j).jet(lambda v: f(j, v), (x,), ([given, 2 * given, given],))

        tolerance = 3e-2 if np.dtype(x.dtype).itemsize == 2 else 2e-5
        confirmed = agree_within(tolerance, 0)
        (got, terms), (want, want_terms) = of_both(series, agrees=confirmed)
        for a, b in zip([got, *terms], [want, *want_terms], strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(
                np.asarray(a, np.complex64), np.asarray(b, np.complex64), rtol=tolerance
            )


def test_conventions():
    def use(j):
        jet, x = module(j).jet, np.zeros((0, 3), np.float32)
        return (
            jet(j.numpy.sin, (0.3,), ((1.0, 2.0, 3.0),)),
            jet(j.numpy.sin, [0.3], [[1.0, 2.0, 3.0]], factorial_scaled=False),
            module(j).jet2(j.numpy.sin, (0.3,), ((1.0, 2.0, 3.0),)),
            jet(j.numpy.sin, (0.3,), ((),)),
            jet(j.numpy.sin, (x,), ((x, x),)),
            jet(lambda a: {"a": a, "n": j.numpy.arange(3), "z": None}, (1.0,), ((1.0, 2.0),)),
            jet(lambda a: (a > 0, j.numpy.sign(a)), (1.0,), ((1.0, 2.0),)),
            jet(lambda a: a * 2.0, (1,), ((1, 2),)),
            jet(j.numpy.sin, (1,), ((1, 2),)),
        )

    def flattened(j):
        leaves, structure = j.tree.flatten(use(j))
        return leaves, str(structure)

    (got, structure), (want, structure_of_jax) = of_both(flattened)
    assert structure == structure_of_jax
    for a, b in zip(got, want, strict=True):
        if hasattr(a, "dtype") and hasattr(b, "dtype"):  # a Python number may stay one
            assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_within_other_transformations():
    def use(j):
        jet = module(j).jet

        def third(x):
            return jet(lambda v: j.numpy.sin(v) * v, (x,), ((1.0, 0.0, 0.0),))[1][2]

        rows = np.linspace(0.1, 1.0, 4).astype(np.float32)
        return (
            j.jit(third)(0.3), j.vmap(third)(rows), j.grad(third)(0.3), j.jacfwd(third)(0.3),
            j.jit(j.vmap(j.grad(third)))(rows),
            jet(third, (0.3,), ((1.0, 0.5),)),
        )  # fmt: skip

    for a, b in zip(*of_both(lambda j: j.tree.leaves(use(j))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


@pytest.mark.parametrize(
    ("error", "use"),
    [
        (ValueError, lambda jet: jet(lambda x, y: x, (1.0, 2.0), ((1.0, 2.0), (1.0,)))),
        (ValueError, lambda jet: jet(lambda: 1.0, (), ())),
        (ValueError, lambda jet: jet(lambda x: x, ({"a": 1.0},), ([1.0],))),
        (ValueError, lambda jet: jet(lambda x: x, (1.0,), ([{"a": 1.0}],))),
        (TypeError, lambda jet: jet(lambda x: x, ("a",), ((1.0,),))),
        (TypeError, lambda jet: jet(lambda x: "text", (1.0,), ((1.0,),))),
    ],
)
def test_errors(error, use):
    def message(j):
        with pytest.raises(error) as found:
            use(module(j).jet)
        said = str(found.value).partition("\n")[0].rpartition(": ")[2]  # without the call
        return zlib.crc32(said.encode())

    ours, theirs = of_both(message)
    with pytest.raises(error) as found:
        use(our_jet.jet)
    if "inconsistent" in str(found.value) or "is not an array" in str(found.value):
        assert ours == theirs


def test_counts_of_arguments():
    with pytest.raises(ValueError, match="2 arguments and 1 list"):
        our_jet.jet(lambda x, y: x, (1.0, 2.0), ((1.0,),))


def test_missing_rule():
    new = importlib.import_module("jitney.extend.core").Primitive("new")
    new.def_impl(lambda x: x)
    new.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="'new' has neither a Taylor-mode rule"):
        our_jet.jet(new.bind, (1.0,), ((1.0,),))


def test_rules_of_users():
    def use(j):
        made = importlib.import_module(f"{j.__name__}.extend.core").Primitive("cube")
        made.def_impl(lambda x: x * x * x)
        made.def_abstract_eval(lambda x: x)
        jet = module(j)

        def rule(primals, series):
            (x,), ((a, b),) = primals, series
            return made.bind(x), [3 * x * x * a, 3 * x * x * b + 3 * x * a * a]

        jet.jet_rules[made] = rule
        first = jet.jet(made.bind, (2.0,), ((1.0, 0.0),))
        jet.def_deriv(made, lambda x: 3 * x * x)
        second = jet.jet(made.bind, (2.0,), ((1.0, 0.5),))
        jet.def_comp(made, lambda x: x * x * x)
        third = jet.jet(made.bind, (2.0,), ((1.0, 0.5),))
        jet.deflinear(made)
        fourth = jet.jet(lambda x: 2 * made.bind(x), (2.0,), ((1.0, 0.5),))[1][0]
        jet.defzero(made)
        fifth = jet.jet(made.bind, (2.0,), ((1.0, 0.5),))
        del jet.jet_rules[made]
        return first, second, third, fourth, fifth

    for a, b in zip(*of_both(lambda j: j.tree.leaves(use(j))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_table_of_rules():
    """Every primitive that jax has a rule for has one here, or a derivative."""
    from jitney.core.tracing.primitive import registry
    from jitney.primitives import load_all

    load_all.load()
    later = {"conv_general_dilated", "fft", "reshard"}
    for name in answer(lambda: [prim.name for prim in jax_jet.jet_rules]):
        if name in later:
            continue
        ours = registry[name]
        assert ours in our_jet.jet_rules or "jvp" in ours.rules, name
    exp = jitney.lax.exp_p
    out, terms = our_jet.jet_rules[exp]((1.0,), ([1.0, 0.0],), accuracy=None)
    want, rest = answer(
        lambda: jax_jet.jet_rules[jax.lax.exp_p]((1.0,), ([1.0, 0.0],), accuracy=None)
    )
    close([out, *terms], [want, *rest], rtol=1e-6)

    def claim(j):
        for f in ("linear_prop", "zero_prop"):
            out, terms = getattr(module(j), f)(j.lax.neg_p, (1.0,), ([1.0, 2.0],))
            assert float(out) == -1.0
            assert isinstance(terms, list) == (f == "linear_prop")

    check_claim(claim)


def test_names():
    theirs = answer(lambda: [n for n in vars(module(jax)) if not n.startswith("_")])
    assert set(theirs) - set(dir(our_jet)) <= {
        "Any", "Callable", "jnp", "lax", "lu",
        "ad_util", "core", "dispatch", "jet_jaxpr", "lax_internal", "np", "partial", "pe", "pjit",
        "register_pytree_node", "safe_zip", "sharding_impls", "tree_flatten", "tree_structure",
        "tree_unflatten", "treedef_is_leaf", "unzip2", "weakref_lru_cache", "api_util",
    }  # fmt: skip
    assert our_jet.fact(4) == 24.0
    assert jitney.tree.leaves([our_jet.zero_series, our_jet.zero_term]) == []


def test_zero_series():
    out, terms = our_jet.jet(
        lambda x, y: x * jitney.numpy.sin(y),
        (1.0, 2.0),
        ((1.0, our_jet.zero_term), our_jet.zero_series),
    )
    np.testing.assert_allclose([out, *terms], [np.sin(2.0), np.sin(2.0), 0.0], rtol=1e-6)


@pytest.mark.parametrize("order", [1, 3])
def test_nothing_is_computed_for_terms_that_are_zero(order):
    """A product with a constant has one product for each term; with a variable, all pairs."""
    x, c = jitney.numpy.ones(3), np.full(3, 2, np.float32)

    def products(f):
        series = jitney.make_jaxpr(lambda *xs: our_jet.jet(f, (x,), (xs,)))(*[x] * order)
        return sum(str(equation.primitive) == "mul" for equation in series.eqns)

    scaling = products(lambda x: x)
    assert products(lambda x: x * c) - scaling == order + 1
    assert products(lambda x: c * x) - scaling == order + 1
    assert products(lambda x: jitney.numpy.floor(x) * x) - scaling == order + 1
    assert products(lambda x: x * (x + c)) - scaling == 1 + sum(range(2, order + 2))
