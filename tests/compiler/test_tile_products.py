"""Products of bytes and of bfloat16: by tile registers where there are some, as floats elsewhere."""

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import library, tile_products
from jitney.runtime.compilation import lazy_compiler

RNG = np.random.default_rng(0)
SIZES = [(64, 64, 64), (100, 70, 130), (17, 33, 165), (31, 200, 19), (48, 16, 1000)]
BYTES = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]


@pytest.fixture(params=["tiles", "floats"])
def way(request, monkeypatch):
    """With tile registers, and as if there were none."""
    lazy_compiler.compiler()
    if request.param == "floats":
        monkeypatch.setattr(tile_products._Native, "address", None)
    elif not tile_products.is_native(np.dtype(np.int8), np.dtype(np.int8)):
        pytest.skip("this processor has no tile registers, or the system keeps them")
    jitney.clear_caches()
    yield request.param
    jitney.clear_caches()


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize(("left", "right"), BYTES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_bytes(way, sizes, left, right):
    m, n, k = sizes
    x, y = integers(left, m, k), integers(right, k, n)
    x[0], y[:, 0] = np.iinfo(left).min, np.iinfo(right).min  # the largest sums
    want = x.astype(np.int32) @ y.astype(np.int32)

    def product(x, y):
        return jnp.matmul(x.astype(np.int32), y.astype(np.int32))

    text = jitney.jit(product).lower(x, y).as_text("kernels")
    assert ("tiles.product" in text) == (way == "tiles")
    assert ("matmul" in text or "blas" in text or "gemm" in text) == (way == "floats"), text
    np.testing.assert_array_equal(jitney.jit(product)(x, y), want)
    if left == right:  # modulo 2**8
        np.testing.assert_array_equal(jitney.jit(jnp.matmul)(x, y), want.astype(left))


def test_many_indices_are_added_in_parts(way):
    x, y = integers("int8", 20, 5000), integers("int8", 5000, 20)
    f = jitney.jit(lambda x, y: lax.dot(x, y, preferred_element_type=np.int32))
    np.testing.assert_array_equal(f(x, y), x.astype(np.int32) @ y.astype(np.int32))


def test_batches_and_layouts(way):
    x, y = integers("int8", 3, 40, 50), integers("int8", 3, 60, 50)

    def product(equation, x, y):
        return jnp.einsum(equation, x, y, preferred_element_type=np.int32)

    for equation in ("bik,bjk->bij", "bik,bjk->ij", "bik,bjk->bji"):
        want = np.einsum(equation, x.astype(np.int32), y.astype(np.int32))
        np.testing.assert_array_equal(jitney.jit(product, static_argnums=0)(equation, x, y), want)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("out", [ml_dtypes.bfloat16, np.float32])
def test_bfloat16(sizes, out):
    m, n, k = sizes
    x, y = (RNG.normal(size=s).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, n)))
    f = jitney.jit(lambda x, y: lax.dot(x, y, preferred_element_type=out))
    found = np.asarray(f(x, y))
    exact = x.astype(np.float64) @ y.astype(np.float64)
    size = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
    bound = 20 * np.finfo(np.float32).eps * size
    if out != np.float32:
        bound = bound + np.abs(exact) * 2.0**-8
    assert found.dtype == out
    assert np.all(np.abs(found.astype(np.float64) - exact) <= bound)


def test_bfloat16_that_is_not_finite():
    x, y = (RNG.normal(size=(64, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
    x[3, 5], x[7, 1], y[2, 9] = np.nan, np.inf, -np.inf
    found = np.asarray(jitney.jit(jnp.matmul)(x, y)).astype(np.float32)
    with np.errstate(invalid="ignore"):
        want = x.astype(np.float32) @ y.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(found) * np.sign(found), np.isinf(want) * np.sign(want))


@pytest.mark.parametrize("name", ["rows", "columns", "product"])
@pytest.mark.parametrize("kind", ["int8", "bfloat16"])
def test_references_lay_out_as_the_machine_code(name, kind):
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    x, y = (RNG.integers(-9, 9, s).astype(dtype) for s in ((2, 37, 150), (2, 150, 41)))
    routine = tile_products.routine("rows", dtype, dtype, 37, 41, 150)
    params = dict(routine.params)
    rows, columns = tile_products._rows(x, **params), tile_products._columns(y, **params)
    found = tile_products._product(*rows, *columns, **params)[0]
    np.testing.assert_array_equal(found, x.astype(np.int64) @ y.astype(np.int64))
    types = {"rows": rows, "columns": columns, "product": [found]}[name]
    args = {"rows": [x], "columns": [y], "product": [*rows, *columns]}[name]
    own = tile_products.routine(name, dtype, dtype, 37, 41, 150)
    (type_,) = library.result_types(own, [tile_products.TensorType(a.shape, a.dtype) for a in args])
    assert (type_.shape, type_.dtype) == (types[0].shape, types[0].dtype)


def test_products_that_tiles_do_not_speed_up_are_left():
    def text(x, y):
        return (
            jitney.jit(lambda x, y: lax.dot(x, y, preferred_element_type=np.int32))
            .lower(x, y)
            .as_text("kernels")
        )

    assert "tiles." not in text(integers("int8", 8, 8), integers("int8", 8, 8))
    assert "tiles." not in text(integers("int8", 2, 9000), integers("int8", 9000, 4))
    wide = jitney.jit(jnp.matmul).lower(np.ones((99, 99), np.int16), np.ones((99, 99), np.int16))
    assert "tiles." not in wide.as_text("kernels")
