"""Complex numbers in compiled programs: split into parts, equal to real jax, no Python called."""

import numpy as np
import pytest
from tests.compiler.running import compiled
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jitnp
from jitney.compiler import pipeline
from jitney.compiler.hlo import parse, text
from jitney.compiler.hlo.passes import split_complex

RNG = np.random.default_rng(0)  # of operands made at the start; tests have generators of their own
INF, NAN = np.inf, np.nan


def numbers(*shape, rng=RNG):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)


SPECIAL = np.array(
    [complex(a, b) for a in (0.0, -0.0, 1.5, -INF, INF, NAN) for b in (0.0, -0.0, -2.0, INF, NAN)],
    np.complex64,
)


def loop(lax, np_):
    return lambda x: lax.scan(lambda c, a: (c * a + 1, (c, np_.abs(c))), x[0], x)


def mandelbrot(lax, np_):
    def step(_, state):
        z, count = state
        following = z * z + np_.asarray([0.1 + 0.2j, -1 + 0.1j, 0.5 - 0.5j], np_.complex64)
        inside = np_.abs(following) < 2
        return np_.where(inside, following, z), count + inside

    return lambda z: lax.fori_loop(0, 20, step, (z, np_.zeros(3, np_.int32)))


def rotation(lax, np_):
    """A matrix that a loop never changes, and a vector that it does."""
    return lambda m, v: lax.fori_loop(0, 4, lambda i, x: m @ x + 1j * v, v)


def branches(lax, np_):
    return lambda x: lax.cond(np_.real(x[0]) > 0, lambda y: y * 2j, np_.exp, x)


NATIVE = {
    "arithmetic": (lambda lax, np_: lambda x, y: (x + y, x - y, x * y, -x), (SPECIAL, SPECIAL[::-1])),
    "quotient": (lambda lax, np_: lambda x, y: x / y, (numbers(9), numbers(9))),
    "comparison": (lambda lax, np_: lambda x, y: (x == y, x != y), (SPECIAL, SPECIAL[::-1])),
    "elementary": (
        lambda lax, np_: lambda x: [f(x) for f in (np_.exp, np_.log, np_.sqrt, np_.sin, np_.tanh)],
        (numbers(4, 5),),
    ),
    "parts": (
        lambda lax, np_: lambda x: (x.real, x.imag, np_.conj(x), np_.abs(x), np_.angle(x)),
        (numbers(7),),
    ),
    "powers": (lambda lax, np_: lambda x: (x**2, x**3.5, 2.0**x), (numbers(7),)),
    "sums": (lambda lax, np_: lambda x: (x.sum(), x.mean(0), np_.cumsum(x, 1)), (numbers(40, 30),)),
    "views": (lambda lax, np_: lambda x: x[::-1, ::2].T.reshape(-1) * 1j, (numbers(4, 6),)),
    "joined": (
        lambda lax, np_: lambda x: np_.pad(np_.concatenate([x, 2 * x]), 2, constant_values=1j),
        (numbers(3),),
    ),
    "gather": (
        lambda lax, np_: lambda x: x.at[np_.array([0, 7])].get(mode="fill", fill_value=1 + 2j),
        (numbers(5),),
    ),
    "scatter": (
        lambda lax, np_: lambda x: x.at[np_.array([1, 1])].add(2j).at[0].set(3 - 1j),
        (numbers(5),),
    ),
    "conversions": (
        lambda lax, np_: lambda x: (x.real.astype(np_.complex64) * x, x.astype(bool)),
        (SPECIAL,),
    ),
    "contraction": (
        lambda lax, np_: lambda x, y: (np_.vdot(x, x), np_.einsum("ij,jk->ki", x, y)),
        (numbers(3, 5), numbers(5, 4)),
    ),
    "barrier": (lambda lax, np_: lambda x: lax.optimization_barrier((x * 2, x.real)), (numbers(4),)),
    "loop": (loop, (numbers(6, 3),)),
    "mandelbrot": (mandelbrot, (np.zeros(3, np.complex64),)),
    "rotation": (rotation, (numbers(6, 6) / 4, numbers(6))),
    "branches": (branches, (numbers(4),)),
    "empty": (lambda lax, np_: lambda x: (x * 2, x.sum(0), np_.exp(x)), (numbers(0, 3),)),
    "scalar": (lambda lax, np_: lambda x: np_.exp(x) * x, (numbers(),)),
}  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_native_programs_equal_jax(name):
    make, operands = NATIVE[name]
    with np.errstate(all="ignore"):
        want = of_jax(lambda j: j.tree.leaves(j.jit(make(j.lax, j.numpy))(*operands)))
        fun = jitney.jit(make(jitney.lax, jitnp))
        got = fun(*operands)
    for x, y in zip(want, jitney.tree.leaves(got), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol=2e-5, atol=1e-6)
    assert "_call " not in fun.lower(*operands).as_text("kernels")


@pytest.mark.parametrize(
    "fun",
    [
        lambda np_, x: np_.prod(x),
        lambda np_, x: np_.sort(x),
        lambda np_, x: np_.arcsin(x),
        lambda np_, x: np_.outer(x, x).T @ np_.outer(x, 1j * x),
    ],
)
def test_what_has_no_form_by_parts_is_left_whole(fun):
    x = numbers(70, rng=np.random.default_rng(1))
    want = of_jax(lambda j: j.jit(lambda x: fun(j.numpy, x * 1j) + 1)(x))
    got = jitney.jit(lambda x: fun(jitnp, x * 1j) + 1)(x)
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("ij,jk->ik", (40, 30), (30, 50)),
        ("ji,jk->ik", (30, 40), (30, 50)),
        ("ij,kj->ik", (40, 30), (50, 30)),
        ("bij,bjk->bik", (3, 40, 30), (3, 30, 50)),
        ("ij,jk->ik", (400, 300), (300, 200)),
    ],
)
def test_large_products_are_calls_of_blas(dtype, equation, left, right):
    x, y = (numbers(*shape).astype(dtype) for shape in (left, right))
    with jitney.enable_x64():
        fun = jitney.jit(lambda x, y: jitnp.einsum(equation, x, y))
        np.testing.assert_allclose(fun(x, y), np.einsum(equation, x, y), rtol=1e-3)
        assert f"gemm.{np.dtype(dtype)}" in fun.lower(x, y).as_text("kernels")


def test_gradients_equal_jax():
    x = numbers(12, rng=np.random.default_rng(2)).real

    def loss(np_):
        return lambda x: np_.sum(np_.abs(np_.exp(1j * x) + x) ** 2)

    want = of_jax(lambda j: j.grad(loss(j.numpy))(x))
    for grad in (jitney.grad(loss(jitnp)), jitney.jit(jitney.grad(loss(jitnp)))):
        np.testing.assert_allclose(grad(x), want, rtol=2e-5)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 1000])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_neighbours_in_memory_at_every_length(n, dtype):
    with jitney.enable_x64():
        x = (np.arange(n) + 1j * np.arange(n, 0, -1)).astype(dtype)
        fun = jitney.jit(lambda x: (x * 1j, jitnp.conj(x), x.real + x.imag, x.sum()))
        turned, mirrored, parts, total = fun(x)
    np.testing.assert_array_equal(turned, x * 1j)
    np.testing.assert_array_equal(mirrored, x.conj())
    np.testing.assert_array_equal(parts, x.real + x.imag)
    np.testing.assert_allclose(total, x.sum(), rtol=1e-6)


def test_the_pass_changes_no_meaning():
    lowered = jitney.jit(lambda x, y: (x * y, jitnp.exp(x).sum(0))).lower(
        numbers(3, 4), numbers(3, 4)
    )
    module = lowered.compiler_ir()
    split = split_complex.run(module)
    operands = [numbers(3, 4), numbers(3, 4)]
    for want, got in zip(
        pipeline.interpret(module, operands), pipeline.interpret(split, operands), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert text.print_module(parse.parse_module(text.print_module(split)))


def test_programs_of_real_numbers_are_left_alone():
    assert not split_complex.is_needed(jitney.jit(jitnp.sin).lower(1.0).compiler_ir().region)


def test_a_number_is_finite_if_both_parts_are():
    """An operation of the intermediate language: `jnp.isfinite` asks the parts itself."""
    source = "module f(p0: complex64[5]) {\n  %1 = is_finite p0 : bool[5]\n  return %1\n}"
    module = parse.parse_module(source)
    x = np.array(
        [1, complex(np.inf, 0), complex(0, np.inf), complex(np.nan, 1), complex(1, np.nan)]
    )
    (found,) = compiled(module, [x.astype(np.complex64)])
    np.testing.assert_array_equal(found, [True, False, False, False, False])
