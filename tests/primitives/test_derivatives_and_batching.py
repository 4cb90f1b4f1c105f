"""Derivatives and batching of slices, gathers, scatters, sorts, folds and special functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import RealModule, answer, jax
from tests.helpers.rule_checks import Case, check_jvp, check_vjp, check_vmap, same_text

import jitney
from jitney.primitives.random.threefry import threefry2x32_p as our_threefry_p

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 4))
V = RNG.standard_normal(6)
POSITIVE = np.array([0.3, 0.7, 0.9, 0.2, 0.4, 0.6])
ONE, TWO = np.int64(1), np.int64(2)
ROWS = np.array([[0], [3], [1]])
AGAIN = np.array([[0], [3], [0]])
PERM = np.array([3, 1, 2, 1, 0, 9])
OUT = np.array([[7], [-1], [2]])
PAIRS = np.array([[[0, 1], [2, 2]], [[4, 0], [1, 3]]])

# Which equations share one combining program is told differently in these backward programs.
PROGRAM_SHARED = ("jvp", "vmap")


def gather(window: Any, collapsed: Any, index_map: Any, sizes: Any, **options: Any) -> Any:
    batching = options.pop("batching", ((), ()))

    def f(lax: Any, x: Any, indices: Any) -> Any:
        numbers = lax.GatherDimensionNumbers(window, collapsed, index_map, *batching)
        return lax.gather(x, indices, numbers, sizes, **options)

    return f


def scatter(name: str, window: Any, inserted: Any, index_map: Any, **options: Any) -> Any:
    batching = options.pop("batching", ((), ()))

    def f(lax: Any, x: Any, indices: Any, updates: Any) -> Any:
        numbers = lax.ScatterDimensionNumbers(window, inserted, index_map, *batching)
        return getattr(lax, name)(x, indices, updates, numbers, **options)

    return f


CASES: dict[str, Case] = {
    "slice": Case(lambda lax, x: lax.slice(x, (1, 0), (4, 3)), (X,)),
    "slice_strides": Case(lambda lax, x: lax.slice(x, (1, 0), (5, 3), (2, 1)), (X,)),
    "slice_empty": Case(lambda lax, x: lax.slice(x, (1, 0), (1, 3), (2, 1)), (X,)),
    "dynamic_slice": Case(lambda lax, x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), (X, ONE, TWO)),
    "dynamic_slice_beyond": Case(
        lambda lax, x, i: lax.dynamic_slice(x, (i, 1), (2, 3)), (X, np.int64(9))
    ),
    "dynamic_slice_scalar": Case(lambda lax, x: lax.dynamic_slice(x, (), ()), (X[0, 0],), same=()),
    "dynamic_slice_vector": Case(lambda lax, x, i: lax.dynamic_slice(x, (i,), (2,)), (V, TWO)),
    "dynamic_update_slice": Case(
        lambda lax, x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
        (X, X[1:3, :3] * 2, ONE, TWO),
    ),
    "dynamic_update_slice_vector": Case(
        lambda lax, x, u, i: lax.dynamic_update_slice(x, u, (i,)), (V, V[:2] * 2, TWO)
    ),
    "dynamic_update_slice_scalar": Case(
        lambda lax, x, u: lax.dynamic_update_slice(x, u, ()), (V[0], V[1]), same=()
    ),
    "gather_rows": Case(gather((1,), (0,), (0,), (1, 4)), (X, ROWS)),
    "gather_flags": Case(
        gather((1,), (0,), (0,), (1, 4), unique_indices=True, mode="clip"), (X, ROWS)
    ),
    "gather_clip": Case(gather((1,), (0,), (0,), (1, 4), mode="clip"), (X, OUT)),
    "gather_fill": Case(gather((1,), (0,), (0,), (1, 4), mode="fill", fill_value=3), (X, OUT)),
    "gather_elements": Case(gather((), (0, 1), (0, 1), (1, 1)), (X, PAIRS)),
    "gather_windows": Case(gather((0, 3), (), (0, 1), (1, 2), mode="clip"), (X, PAIRS)),
    "gather_batched": Case(
        gather((1,), (), (1,), (1, 2), batching=((0,), (0,)), mode="clip"),
        (X, np.array([[0], [1], [3], [2], [2]])),
    ),
    "scatter": Case(scatter("scatter", (1,), (0,), (0,)), (X, ROWS, X[:3] * 2)),
    "scatter_again": Case(scatter("scatter", (1,), (0,), (0,)), (X, AGAIN, X[:3] * 2)),
    "scatter_again_clip": Case(
        scatter("scatter", (1,), (0,), (0,), mode="clip"), (X, OUT, X[:3] * 2), same=("vjp", "vmap")
    ),
    "scatter_outside": Case(scatter("scatter", (1,), (0,), (0,), mode="drop"), (X, OUT, X[:3] * 2)),
    "scatter_elements": Case(
        scatter("scatter", (), (0, 1), (0, 1), unique_indices=True), (X, PAIRS, X[:2, :2] * 2)
    ),
    "scatter_unique": Case(
        scatter("scatter", (1,), (0,), (0,), unique_indices=True, indices_are_sorted=False),
        (X, ROWS, X[:3] * 2),
    ),
    "scatter_add": Case(scatter("scatter_add", (1,), (0,), (0,)), (X, AGAIN, X[:3] * 2)),
    "scatter_add_clip": Case(
        scatter("scatter_add", (1,), (0,), (0,), mode="clip"), (X, OUT, X[:3] * 2)
    ),
    "scatter_add_batched": Case(
        scatter("scatter_add", (1,), (), (1,), batching=((0,), (0,))),
        (X, np.array([[0], [1], [2], [2], [2]]), X[:, :2] * 2),
    ),
    "scatter_sub": Case(scatter("scatter_sub", (1,), (0,), (0,)), (X, AGAIN, X[:3] * 2)),
    "scatter_mul": Case(
        scatter("scatter_mul", (1,), (0,), (0,), unique_indices=True),
        (X, ROWS, X[:3] * 2),
        same=PROGRAM_SHARED,
    ),
    "scatter_min": Case(
        scatter("scatter_min", (1,), (0,), (0,)), (X, AGAIN, X[1:4] * 2), same=PROGRAM_SHARED
    ),
    "scatter_max": Case(
        scatter("scatter_max", (1,), (0,), (0,)), (X, AGAIN, X[1:4] * 2), same=PROGRAM_SHARED
    ),
    "scatter_max_ties": Case(
        scatter("scatter_max", (1,), (0,), (0,)),
        (np.round(X), AGAIN, np.round(X[1:4])),
        False,
        same=PROGRAM_SHARED,
    ),
    "scatter_min_outside": Case(
        scatter("scatter_min", (1,), (0,), (0,)), (X, OUT, X[1:4] * 2), False, same=PROGRAM_SHARED
    ),
    "sort": Case(lambda lax, x: lax.sort(x, dimension=0), (X,)),
    "sort_vector": Case(lambda lax, x: lax.sort(x), (V,)),
    "sort_pairs": Case(lambda lax, x, y: lax.sort((x, y), dimension=1), (X, X * 2)),
    "sort_two_keys": Case(
        lambda lax, x, y: lax.sort((x, y), dimension=0, num_keys=2), (np.round(X), X), False
    ),
    "sort_values": Case(
        lambda lax, k, y: lax.sort((k, y), is_stable=True), (PERM, V), same=("vmap",)
    ),
    "top_k": Case(lambda lax, x: lax.top_k(x, 2)[0], (X,)),
    "top_k_indices": Case(lambda lax, x: tuple(lax.top_k(x, 2, axis=0)), (X,), same=("vmap",)),
    "top_k_vector": Case(lambda lax, x: lax.top_k(x, 3)[0], (V,)),
    "cumsum": Case(lambda lax, x: lax.cumsum(x), (X,)),
    "cumsum_reverse": Case(lambda lax, x: lax.cumsum(x, axis=1, reverse=True), (X,)),
    "cumprod": Case(lambda lax, x: lax.cumprod(x, axis=0), (X,)),
    "cumprod_reverse": Case(lambda lax, x: lax.cumprod(x, axis=1, reverse=True), (X,)),
    "cumprod_zeros": Case(lambda lax, x: lax.cumprod(x), (np.round(V),), same=("jvp", "vmap")),
    "cumprod_one": Case(lambda lax, x: lax.cumprod(x), (V[:1],)),
    "cummax": Case(lambda lax, x: lax.cummax(x, axis=0), (X,)),
    "cummax_ties": Case(lambda lax, x: lax.cummax(x, axis=0), (np.round(X),), False),
    "cummin": Case(lambda lax, x: lax.cummin(x, axis=1, reverse=True), (X,)),
    "cumlogsumexp": Case(lambda lax, x: lax.cumlogsumexp(x, axis=0), (X,), same=("vmap",)),
    "cumlogsumexp_reverse": Case(
        lambda lax, x: lax.cumlogsumexp(x, axis=1, reverse=True), (X * 99,), same=("vmap",)
    ),
    **{
        name: Case(lambda lax, x, name=name: getattr(lax, name)(x), (POSITIVE[:3],))
        for name in ("erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")
    },
    "bessel_i1e_at_0": Case(lambda lax, x: lax.bessel_i1e(x), (np.array([0.0, -0.5]),)),
    "erf_inv_negative": Case(lambda lax, x: lax.erf_inv(x), (-POSITIVE[:3],)),
    **{
        name: Case(
            lambda lax, a, x, name=name: getattr(lax, name)(a, x),
            (POSITIVE[:3] * 3, POSITIVE[3:] * 4),
            same=("vmap",),  # the derivative by x has a formula of its own for large operands
            step=1e-5,
            rtol=1e-7,
        )
        for name in ("igamma", "igammac")
    },
    "igamma_scalars": Case(
        lambda lax, a, x: lax.igamma(a, x), (POSITIVE[0], POSITIVE[1]), same=("vmap",), rtol=1e-7
    ),
    "random_gamma_grad": Case(
        lambda lax, x: lax.random_gamma_grad(POSITIVE[:3] * 3, x),
        (POSITIVE[3:] * 4,),
        same=(),
        rtol=1e-5,
    ),
    "polygamma": Case(lambda lax, x: lax.polygamma(np.array([1.0, 2, 0]), x), (POSITIVE[:3] * 3,)),
    "betainc": Case(
        lambda lax, x: lax.betainc(lax.full_like(x, 2.5), lax.full_like(x, 0.5), x), (POSITIVE[:3],)
    ),
    "stop_gradient": Case(lambda lax, x: lax.stop_gradient(x) * x, (V,), False),
    "optimization_barrier": Case(lambda lax, x, y: tuple(lax.optimization_barrier((x, y))), (V, X)),
    "optimization_barrier_one": Case(lambda lax, x, y: lax.optimization_barrier((x, y))[0], (V, X)),
    "optimization_barrier_integers": Case(
        lambda lax, x, k: tuple(lax.optimization_barrier((x, k))), (V, PERM), same=("vmap",)
    ),
    "cumlogsumexp_one": Case(lambda lax, x: lax.cumlogsumexp(x), (V[:1],), same=("vmap",)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_jvp(case: Case) -> None:
    check_jvp(case)


BACKWARD = {name: case for name, case in CASES.items() if name != "random_gamma_grad"}


@pytest.mark.parametrize("case", BACKWARD.values(), ids=BACKWARD.keys())
def test_vjp(case: Case) -> None:
    check_vjp(case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_vmap(case: Case) -> None:
    check_vmap(case)


def random_cases(jax: Any, threefry: Any) -> dict[str, tuple[Any, tuple[Any, ...], Any]]:
    """name -> (function, arguments, in_axes), with real jax or with jitney."""
    random, u32 = jax.random, jax.numpy.uint32
    key = random.key(0)
    keys, table = random.split(key, 3), random.split(key, (4, 3))
    words = jax.numpy.arange(12, dtype=u32).reshape(4, 3)
    row, column = words[0], words[:, 0]
    return {
        "seed": (random.key, (jax.numpy.arange(3),), 0),
        "split": (lambda k: random.split(k, (2, 2)), (keys,), 0),
        "bits": (lambda k: random.bits(k, (5,)), (keys,), 0),
        "bits_8": (lambda k: random.bits(k, (5,), "uint8"), (keys,), 0),
        "fold_in": (random.fold_in, (keys, row), 0),
        "fold_in_key": (lambda k: random.fold_in(k, 7), (keys,), 0),
        "fold_in_data": (random.fold_in, (key, row), (None, 0)),
        "wrap": (random.wrap_key_data, (words[:2],), 1),
        "unwrap": (random.key_data, (table,), 1),
        "clone": (random.clone, (table,), 1),
        "indexed": (lambda k: random.split(k[2]), (table,), 1),
        "normal": (lambda k: random.normal(k, (3,)), (keys,), 0),
        "threefry": (threefry, (row, row, column, column), (0, 0, None, None)),
        "threefry_data": (threefry, (row[0], row[1], words, words), (None, None, 1, 1)),
        "threefry_all": (threefry, (row, row, words, words), (0, 0, 1, 1)),
    }


OURS = random_cases(jitney, lambda *words: tuple(our_threefry_p.bind(*words)))


def data(x: Any, module: Any) -> Any:
    """Arrays as NumPy arrays, keys as their words."""
    if isinstance(x, tuple | list):
        return [data(v, module) for v in x]
    is_key = module.dtypes.issubdtype(x.dtype, module.dtypes.prng_key)
    return np.asarray(module.random.key_data(x) if is_key else x)


def random_batch_of_jax(name: str) -> tuple[Any, str]:
    """What real jax's `vmap` makes of a case, and its program."""

    def results() -> Any:
        threefry = RealModule("jax.extend.random").threefry2x32_p
        f, args, axes = random_cases(jax, lambda *words: tuple(threefry.bind(*words)))[name]
        batched = jax.vmap(f, in_axes=axes)
        return data(batched(*args), jax), str(jax.make_jaxpr(batched)(*args))

    return answer(results)


@pytest.mark.parametrize("name", OURS)
def test_vmap_of_random(name: str) -> None:
    f, args, axes = OURS[name]
    wanted, text = random_batch_of_jax(name)
    batched = jitney.vmap(f, in_axes=axes)
    rtol = 1e-6 if name == "normal" else 0
    np.testing.assert_allclose(data(batched(*args), jitney), wanted, rtol)
    np.testing.assert_allclose(data(jitney.jit(batched)(*args), jitney), wanted, rtol)
    if name != "normal":
        same_text(text, jitney.make_jaxpr(batched)(*args))
