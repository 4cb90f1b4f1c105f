"""Contractions of every kind of operand, of sizes at which the compiler chooses other ways."""

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

# Matrices with a vector, vectors, outer products, batches; axes of one; no free axis on either side.
CASES = {
    "matvec": ("ij,j->i", (1500, 1500), (1500,)),
    "matvec of short rows": ("ij,j->i", (80_000, 30), (30,)),
    "matvec of long rows": ("ij,j->i", (30, 80_000), (80_000,)),
    "transposed matvec": ("ji,j->i", (1500, 1500), (1500,)),
    "vecmat": ("j,ji->i", (1500,), (1500, 1500)),
    "vecmat transposed": ("j,ij->i", (1500,), (1500, 1500)),
    "inner": ("i,i->", (2_200_000,), (2_200_000,)),
    "inner of matrices": ("ij,ij->", (1500, 1500), (1500, 1500)),
    "inner of a transpose": ("ij,ji->", (1500, 1500), (1500, 1500)),
    "outer": ("i,j->ij", (1500,), (1500,)),
    "scaled": (",ij->ij", (), (1500, 1500)),
    "scaled on the right": ("ij,->ij", (1500, 1500), ()),
    "batched matvec": ("bij,bj->bi", (4, 800, 800), (4, 800)),
    "batched vecmat": ("bj,bji->bi", (4, 800), (4, 800, 800)),
    "batched inner": ("bi,bi->b", (1500, 1500), (1500, 1500)),
    "batched inner, batch last": ("ib,ib->b", (1500, 1500), (1500, 1500)),
    "batched outer": ("bi,bj->bij", (4, 800), (4, 800)),
    "one column": ("ij,jk->ik", (1500, 1500), (1500, 1)),
    "one row": ("ij,jk->ik", (1, 1500), (1500, 1500)),
    "one contracted": ("ij,jk->ik", (1500, 1), (1, 1500)),
    "few columns": ("ij,jk->ik", (1500, 1024), (1024, 3)),
    "few rows": ("ij,jk->ik", (3, 1024), (1024, 1500)),
    "narrow and transposed": ("ij,kj->ik", (5000, 32), (32, 32)),
    "narrow": ("ij,jk->ik", (5000, 32), (32, 32)),
    "two contracted": ("ijk,jk->i", (1500, 30, 50), (30, 50)),
    "two contracted, in another order": ("ijk,kj->i", (1500, 30, 50), (50, 30)),
    "two free": ("ijk,k->ij", (40, 40, 1500), (1500,)),
    "two free, scattered": ("ikj,k->ij", (40, 1500, 40), (1500,)),
    "batch in the middle": ("ibj,jb->ib", (800, 4, 800), (800, 4)),
    "batch of one": ("bij,bj->bi", (1, 1500, 1500), (1, 1500)),
}  # fmt: skip


def operands(shapes, dtype, seed=3):
    rng = np.random.default_rng(seed)
    found = [np.asarray(rng.integers(-4, 5, shape)).astype(np.float32) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        found = [x + 1j * np.asarray(rng.integers(-4, 5, x.shape)) for x in found]
    return [np.asarray(x).astype(dtype) for x in found]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sizes_at_which_tiles_and_transposes_are_worth_it(case, dtype):
    subscripts, *shapes = case
    with jitney.enable_x64(True):
        xs = operands(shapes, dtype)  # small whole numbers: sums are exact in any order
        wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
        exact = np.einsum(subscripts, *[x.astype(wide) for x in xs], optimize=True)
        got = jitney.jit(lambda *xs: jitney.numpy.einsum(subscripts, *xs))(*xs)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(exact).astype(dtype))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_derivatives_and_eager_calls_of_large_contractions(case):
    subscripts, *shapes = case
    (x, y), result = operands(shapes, "float32"), subscripts.split("->")[1]
    (first, second) = subscripts.split("->")[0].split(",")
    out = np.einsum(subscripts, x.astype(float), y.astype(float), optimize=True)
    (ct,) = operands([out.shape], "float32", seed=4)

    def f(x, y):
        return jitney.numpy.einsum(subscripts, x, y)

    np.testing.assert_array_equal(f(x, y), out.astype(np.float32))
    pulled = jitney.jit(lambda x, y, ct: jitney.vjp(f, x, y)[1](ct))(x, y, ct)
    for got, other, terms, into in ((pulled[0], y, second, first), (pulled[1], x, first, second)):
        want = np.einsum(
            f"{result},{terms}->{into}", ct.astype(float), other.astype(float), optimize=True
        )
        np.testing.assert_array_equal(got, want.astype(np.float32))


BATCHES = [(0, None), (None, 0), (0, 0), (1, None), (None, 1), (2, 1), (1, 0)]


@pytest.mark.parametrize("in_axes", BATCHES, ids=str)
@pytest.mark.parametrize("extent", [1, 5])
@pytest.mark.parametrize("kind", ["matvec", "vecmat", "outer", "inner"])
def test_batches_of_large_contractions(kind, extent, in_axes):
    subscripts, *shapes = {
        "matvec": ("ij,j->i", (1500, 300), (300,)),
        "vecmat": ("j,ji->i", (1500,), (1500, 300)),
        "outer": ("i,j->ij", (1500,), (300,)),
        "inner": ("ij,ij->", (1500, 300), (1500, 300)),
    }[kind]
    axes = tuple([a if a is None else min(a, len(s)) for a, s in zip(in_axes, shapes, strict=True)])
    given = [
        shape if axis is None else (*shape[:axis], extent, *shape[axis:])
        for shape, axis in zip(shapes, axes, strict=True)
    ]
    x, y = operands(given, "float32")
    f = jitney.jit(jitney.vmap(lambda x, y: jitney.numpy.einsum(subscripts, x, y), axes))
    got = f(x, y)
    lanes = [
        [v if a is None else v.take(k, a) for v, a in zip((x, y), axes, strict=True)]
        for k in range(extent)
    ]
    want = np.stack(
        [np.einsum(subscripts, *[v.astype(float) for v in lane], optimize=True) for lane in lanes]
    )
    np.testing.assert_array_equal(got, want.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
@pytest.mark.parametrize("few", [1, 2, 3, 4, 5])
def test_few_rows_and_columns_applied_to_many_vectors(few, dtype):
    """Up to four of each, loops: nothing is transposed, no library is called. All layouts."""
    rng = np.random.default_rng(few)
    many = 9000

    def numbers(*shape):
        x = rng.integers(-9, 9, (2, *shape))
        return (x[0] + 1j * x[1] if dtype == "complex64" else x[0]).astype(dtype)

    u, v, w = numbers(few, few), numbers(few, many), numbers(30, few, 300)

    def f(u, v, w):
        return (
            u @ v,
            v.T @ u,
            (v.T @ u.T).T,
            jnp.moveaxis(jnp.tensordot(u, w, axes=[[1], [1]]), 0, 1),
        )

    with jitney.enable_x64(True):
        got = jitney.jit(f)(u, v, w)
        text = jitney.jit(f).lower(u, v, w).as_text("kernels")
    wanted = u @ v, v.T @ u, u @ v, np.moveaxis(np.tensordot(u, w, axes=[[1], [1]]), 0, 1)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)  # whole numbers: exact in any order
    if few <= 4:
        assert "gemm" not in text
        assert "library_call" not in text
