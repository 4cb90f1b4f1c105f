"""Primitives of users, defined in JAX's documented way, behave as they do under real jax."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import answer
from tests.helpers.rule_checks import close


class Names:
    """The modules that users define primitives with, of one library."""

    def __init__(self, root: str) -> None:
        def load(name: str) -> Any:
            return importlib.import_module(f"{root}.{name}")

        self.jax = importlib.import_module(root)
        self.jnp = load("numpy")
        self.lax = load("lax")
        self.core = load("extend.core")
        self.linear_util = load("extend.linear_util")
        self.ad = load("interpreters.ad")
        self.batching = load("interpreters.batching")
        self.mlir = load("interpreters.mlir")
        self.partial_eval = load("interpreters.partial_eval")
        self.xla = load("interpreters.xla")
        self.api_util = load("api_util")


OURS = Names("jitney")


def of_both(use: Callable[[Names], Any]) -> tuple[Any, Any]:
    """What `use` returns of JAX, as recorded, and of jitney."""
    return answer(lambda: use(Names("jax"))), use(OURS)


def flat_of_both(use: Callable[[Names], Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The leaves of both results."""
    want, got = of_both(lambda j: j.jax.tree.leaves(use(j)))
    return tuple(want), tuple(got)


X = np.float32(1.5)
Y = np.arange(3, dtype=np.float32)


def multiply_add(j: Names) -> Any:
    """x * y + z as a primitive with all of its rules."""
    prim = j.core.Primitive("multiply_add")

    def bind(x, y, z):
        return prim.bind(x, y, z)

    @prim.def_impl
    def impl(x, y, z):
        return np.add(np.multiply(x, y), z, dtype=np.float32)

    @prim.def_abstract_eval
    def abstract(x, y, z):
        assert x.shape == y.shape == z.shape
        return j.jax.core.ShapedArray(x.shape, x.dtype)

    def jvp(primals, tangents):
        x, y, z = primals
        dx, dy, dz = tangents

        def some(t):
            return j.lax.full_like(x, 0) if type(t) is j.ad.Zero else t

        return bind(x, y, z), bind(some(dx), y, bind(x, some(dy), some(dz)))

    def transpose(ct, x, y, z):
        if not j.ad.is_undefined_primal(x):
            ct_y = (
                j.ad.Zero(y.aval) if type(ct) is j.ad.Zero else bind(x, ct, j.lax.full_like(x, 0))
            )
            return None, ct_y, ct
        ct_x = j.ad.Zero(x.aval) if type(ct) is j.ad.Zero else bind(ct, y, j.lax.full_like(y, 0))
        return ct_x, None, ct

    def batch(args, dims):
        size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
        moved = [j.batching.bdim_at_front(a, d, size) for a, d in zip(args, dims, strict=True)]
        return bind(*moved), 0

    j.ad.primitive_jvps[prim] = jvp
    j.ad.primitive_transposes[prim] = transpose
    j.batching.primitive_batchers[prim] = batch
    j.mlir.register_lowering(
        prim, j.mlir.lower_fun(lambda x, y, z: x * y + z, multiple_results=False)
    )
    return bind


def square_add(f):
    return lambda a, b: f(a, a, b)


@pytest.mark.parametrize(
    "use",
    [
        lambda j, f: f(X, X, X),
        lambda j, f: j.jit(f)(X, X, X),
        lambda j, f: j.jvp(square_add(f), (2.0, 10.0), (1.0, 1.0)),
        lambda j, f: j.jvp(j.jit(square_add(f)), (2.0, 10.0), (1.0, 1.0)),
        lambda j, f: j.grad(square_add(f))(2.0, 10.0),
        lambda j, f: j.grad(square_add(f), argnums=(0, 1))(2.0, 10.0),
        lambda j, f: j.jit(j.grad(square_add(f)))(2.0, 10.0),
        lambda j, f: j.vmap(f)(Y, Y, Y),
        lambda j, f: j.vmap(j.grad(square_add(f)))(Y, Y),
        lambda j, f: j.jacrev(square_add(f))(Y, Y),
        # Its weak type is that of a zero which JAX adds to the tangent of a cotangent.
        lambda j, f: np.asarray(j.hessian(lambda x: f(x, x, x))(3.0)),
        lambda j, f: j.lax.scan(lambda c, y: (f(c, y, y), c), np.float32(1.0), Y),
        lambda j, f: str(j.make_jaxpr(f)(X, X, X)),
    ],
)
def test_multiply_add(use):
    want, got = flat_of_both(lambda j: use(j.jax, multiply_add(j)))
    if isinstance(want[0], str):
        assert got == want
    else:
        close(got, want, rtol=1e-6)


def sum_and_difference(j: Names) -> Any:
    """A linear primitive of several results, run by compiling it."""
    prim = j.core.Primitive("sum_and_difference")
    prim.multiple_results = True
    prim.def_impl(functools.partial(j.xla.apply_primitive, prim))
    prim.def_abstract_eval(lambda x, y, scale: [x, y])
    j.mlir.register_lowering(
        prim, j.mlir.lower_fun(lambda x, y, scale: [x + scale * y, x - scale * y])
    )

    def jvp(primals, tangents, **params):
        dots = [j.ad.instantiate_zeros(t) for t in tangents]
        return prim.bind(*primals, **params), prim.bind(*dots, **params)

    def transpose(cts, x, y, scale):
        a, b = (j.ad.instantiate_zeros(ct) for ct in cts)
        return [a + b, scale * (a - b)]

    def batch(args, dims, **params):
        size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
        moved = [j.batching.bdim_at_front(a, d, size) for a, d in zip(args, dims, strict=True)]
        return prim.bind(*moved, **params), [0, 0]

    j.ad.primitive_jvps[prim] = jvp
    j.ad.primitive_transposes[prim] = transpose
    j.batching.primitive_batchers[prim] = batch
    return lambda x, y: prim.bind(x, y, scale=2.0)


@pytest.mark.parametrize(
    "use",
    [
        lambda j, f: f(X, X + 1),
        lambda j, f: j.jit(f)(X, X + 1),
        lambda j, f: j.jvp(f, (X, X), (X, X + 1)),
        lambda j, f: j.grad(lambda x, y: f(x, y)[1] ** 2, argnums=(0, 1))(X, X + 1),
        lambda j, f: j.vmap(f, in_axes=(0, None))(Y, X),
        lambda j, f: j.linear_transpose(lambda x: f(x, x), X)([X, X]),
    ],
)
def test_several_results(use):
    want, got = flat_of_both(lambda j: use(j.jax, sum_and_difference(j)))
    close(got, want, rtol=1e-6)


def elementwise(j: Names, n: int) -> Any:
    prim = j.core.Primitive("own")
    prim.def_impl(lambda *xs: functools.reduce(np.multiply, [np.asarray(x) for x in xs]))
    prim.def_abstract_eval(lambda *xs: max(xs, key=lambda x: x.ndim))
    j.mlir.register_lowering(
        prim,
        j.mlir.lower_fun(
            lambda *xs: functools.reduce(lambda a, b: a * b, xs), multiple_results=False
        ),
    )
    return prim


def test_short_forms_of_rules():
    def run(j):
        square = elementwise(j, 1)
        j.ad.defjvp(square, lambda t, x: 3 * t)
        j.batching.defvectorized(square)
        product = elementwise(j, 2)
        j.ad.defbilinear(product, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
        j.batching.defbroadcasting(product)
        linear = elementwise(j, 1)
        j.ad.deflinear(linear, lambda ct: [ct * 5])
        again = elementwise(j, 1)
        j.ad.deflinear2(again, lambda ct, x: [ct * 7])
        with_result = elementwise(j, 1)
        j.ad.defjvp2(with_result, lambda t, out, x: t * out)
        grad, vmap = j.jax.grad, j.jax.vmap
        return [
            grad(square.bind)(X), vmap(square.bind)(Y), grad(product.bind, (0, 1))(X, X + 1),
            vmap(product.bind, in_axes=(0, None))(Y, Y), grad(linear.bind)(X), grad(again.bind)(X),
            grad(with_result.bind)(X), j.jax.jit(vmap(product.bind))(Y, Y),
        ]  # fmt: skip

    want, got = flat_of_both(run)
    close(got, want, rtol=1e-6)


def test_rules_that_ask_for_the_axis():
    def run(j):
        seen = []
        prim = elementwise(j, 1)

        def rule(size, name, trace_type, args, dims):
            seen.append((size, name, trace_type, tuple(dims)))
            return prim.bind(args[0]), dims[0]

        j.batching.axis_primitive_batchers[prim] = rule
        out = [j.jax.vmap(lambda x: (prim.bind(x), prim.bind(1.0)), axis_name="i")(Y)]
        fancy = elementwise(j, 1)

        def fancy_rule(axis_data, args, dims):
            seen.append((axis_data.size, axis_data.name, tuple(dims)))
            return args[0] * axis_data.size, dims[0]

        j.batching.fancy_primitive_batchers[fancy] = fancy_rule
        out.append(j.jax.vmap(fancy.bind)(Y))
        return seen[:2], j.jax.tree.leaves(out)

    (want_seen, want), (got_seen, got) = of_both(run)
    assert got_seen == want_seen
    close(tuple(got), tuple(want))


def test_rules_get_tuples():
    """Rules of packages compare what they are given, as `dims == (0, None)`, and hand it on."""

    def use(n: Names) -> list[Any]:
        product = n.core.Primitive("product")
        product.def_impl(lambda x, y: x * y)
        product.def_abstract_eval(lambda x, y: x)
        n.mlir.register_lowering(product, n.mlir.lower_fun(lambda x, y: x * y, False))
        given = []

        def batch(values, dims):
            given.append([type(values).__name__, dims == (0, None), dims == (0, 0)])
            return product.bind(*values), 0

        def jvp(primals, tangents):
            given.append([type(primals).__name__, type(tangents).__name__])
            return n.jax.jvp(lambda x, y: x * y, primals, tangents)

        n.batching.primitive_batchers[product] = batch
        n.ad.primitive_jvps[product] = jvp
        x, y = n.jnp.ones(2), n.jnp.float32(3.0)
        results = [
            n.jax.vmap(product.bind, (0, None))(x, y),
            n.jax.vmap(product.bind)(x, x),
            *n.jax.jvp(product.bind, (x, x), (x, x)),
            n.jax.jit(n.jax.grad(lambda x: product.bind(x, x).sum()))(x),
        ]
        return [given, [np.asarray(r).tolist() for r in results]]

    theirs, ours = of_both(use)
    assert ours == theirs


def test_rules_of_own_primitives_are_in_the_tables():
    j = OURS
    assert j.lax.sin_p in j.ad.primitive_jvps
    assert j.lax.transpose_p in j.ad.primitive_transposes
    assert j.lax.sin_p in set(j.batching.primitive_batchers)
    prim = elementwise(j, 1)
    assert prim not in j.ad.primitive_jvps and j.ad.primitive_jvps.get(prim) is None
    j.ad.primitive_jvps[prim] = rule = lambda primals, tangents: (primals[0], tangents[0])
    assert j.ad.primitive_jvps[prim] is rule and prim in list(j.ad.primitive_jvps)
    out, dout = j.ad.primitive_jvps[j.lax.sin_p]((X,), (X,), accuracy=None)
    close((out, dout), (np.sin(X), X * np.cos(X)), rtol=1e-6)


@pytest.mark.parametrize(
    "use",
    [
        lambda j, f: f(1.0),
        lambda j, f: j.jit(f)(1.0),
        lambda j, f: j.grad(f)(1.0),
        lambda j, f: j.vmap(f)(Y),
    ],
)
def test_missing_rules(use):
    def claim(j):
        prim = j.core.Primitive("lonely")
        prim.def_abstract_eval(lambda x: x)
        with pytest.raises(NotImplementedError, match="lonely"):
            use(j.jax, prim.bind)

    claim(OURS)
    assert answer(lambda: claim(Names("jax"))) is None


def test_programs():
    def run(j):
        pe, lu = j.partial_eval, j.linear_util
        aval = j.jax.core.ShapedArray((), np.dtype(np.float32))

        def f(x, y):
            return [j.lax.sin(x) * y, y + 1, j.lax.cos(x)]

        info = j.api_util.debug_info("test", f, (1.0, 2.0), {})
        jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(
            lu.wrap_init(f, debug_info=info), [aval] * 2
        )
        out = [str(jaxpr), str(avals), str(consts)]
        for used in ([False, True, False], [False, False, True], True):
            for instantiate in (False, True, [False, True]):
                out.append(str(pe.dce_jaxpr(jaxpr, used, instantiate)))
        call = j.jax.make_jaxpr(lambda x, y: j.jax.jit(lambda a, b: (a * 2, b * 3))(x, y))(1.0, 2.0)
        out.append(str(pe.dce_jaxpr(call.jaxpr, [False, True])))
        known = pe.PartialVal.known(np.float32(2))
        late, pvals, _ = pe.trace_to_jaxpr_nounits(
            lu.wrap_init(f, debug_info=info), [pe.PartialVal.unknown(aval), known]
        )
        out.append((len(late.invars), [p.is_known() for p in pvals], str(pvals[1].get_aval())))
        return out

    want, got = of_both(run)
    assert got == want
