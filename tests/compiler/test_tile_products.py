"""Products of bytes and of bfloat16: by each set of instructions for them, and as floats."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import library, tile_products
from jitney.compiler.tensor_type import TensorType
from jitney.runtime.compilation import lazy_compiler

RNG = np.random.default_rng(0)
SIZES = [(64, 64, 64), (100, 70, 130), (17, 33, 165), (31, 200, 39), (48, 16, 1000)]
BYTES = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]
WAYS = {"tiles": tile_products.TILES, "dots": tile_products.DOTS, "floats": 0}
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def available(request, size):
    """Returns the instructions of a parameter; skips the test if the processor has none for `size`."""
    lazy_compiler.compiler()
    instructions = WAYS[request.param]
    if instructions & ~tile_products._Native.sets(size):
        pytest.skip(f"this processor has no {request.param}, or the system does not allow them")
    return instructions


def use_only(monkeypatch, instructions):
    monkeypatch.setattr(tile_products._Native, "allowed", instructions)
    jitney.clear_caches()


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Multiplies bytes with one set of instructions, or as if there were none."""
    use_only(monkeypatch, available(request, 1))
    yield request.param
    jitney.clear_caches()


@pytest.fixture(params=WAYS)
def bfloat16_way(request, monkeypatch):
    use_only(monkeypatch, available(request, 2))
    yield request.param
    jitney.clear_caches()


@pytest.fixture(params=["tiles", "dots"])
def byte_instructions(request):
    return available(request, 1)


@pytest.fixture(params=["tiles", "dots"])
def bfloat16_instructions(request):
    return available(request, 2)


def multiplied(x, y, instructions, step=None):
    """Returns the product of batches of matrices by the machine code itself.

    Args:
      step: the number of items that a call computes; all of them if None.
    """
    (batch, m, k), n = x.shape, y.shape[2]
    routine = tile_products.routine("product", x.dtype, y.dtype, m, n, k)
    params = dict(routine.params)
    options = np.array(tile_products._options(**params), np.int64)
    types = [TensorType(v.shape, v.dtype) for v in (x, y)]

    def run(which, items, args, result):
        out = np.full(result.shape, 1, result.dtype)
        slots = (ctypes.c_void_p * 4)(*(v.ctypes.data for v in (options, *args, out)))
        address = tile_products._Native.address(which, instructions)
        code = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
        )(address)
        for first in range(0, items, step or max(items, 1)):
            assert code(None, slots, first, min(first + (step or items), items)) == 1
        return out

    (rows,) = tile_products._row_types(types[0], **params)
    rows = run(0, tile_products._row_items(types[0], **params), [x], rows)
    (columns,) = tile_products._column_types(types[1], **params)
    columns = run(1, tile_products._column_items(types[1], **params), [y], columns)
    assert rows.tobytes() == tile_products._rows(x, **params)[0].tobytes()
    assert columns.tobytes() == tile_products._columns(y, **params)[0].tobytes()
    packed = [TensorType(v.shape, v.dtype) for v in (rows, columns)]
    items = tile_products._product_items(*packed, **params)
    result = TensorType((batch, m, n), tile_products.sum_dtype(x.dtype))
    return run(2, items, [rows, columns], result)


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
    assert ("tiles.product" in text) == (way != "floats")
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
def test_bfloat16(bfloat16_way, sizes, out):
    m, n, k = sizes
    x, y = (RNG.normal(size=s).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, n)))
    f = jitney.jit(lambda x, y: lax.dot(x, y, preferred_element_type=out))
    assert ("tiles.product" in f.lower(x, y).as_text("kernels")) == (bfloat16_way != "floats")
    found = np.asarray(f(x, y))
    exact = x.astype(np.float64) @ y.astype(np.float64)
    size = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
    bound = 20 * np.finfo(np.float32).eps * size
    if out != np.float32:
        bound = bound + np.abs(exact) * 2.0**-8
    assert found.dtype == out
    assert np.all(np.abs(found.astype(np.float64) - exact) <= bound)


def test_bfloat16_that_is_not_finite(bfloat16_way):
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
    (type_,) = library.result_types(own, [TensorType(a.shape, a.dtype) for a in args])
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


SIDES = (1, 15, 16, 17, 63, 64, 65, 1000)


def extremes(dtype, *shape):
    """Returns random integers of which half are the least or the greatest."""
    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max + 1, shape)
    return np.where(RNG.random(shape) < 0.5, x, np.where(x % 2, info.min, info.max)).astype(dtype)


@pytest.mark.parametrize(("left", "right"), BYTES)
@pytest.mark.parametrize("k", SIDES)
def test_bytes_of_all_sizes(byte_instructions, left, right, k):
    for m in SIDES:
        x = extremes(left, 1, m, k)
        for n in SIDES:
            y = extremes(right, 1, k, n)
            found = multiplied(x, y, byte_instructions)
            want = x.astype(np.float64) @ y.astype(np.float64)  # exact
            np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(("left", "right"), BYTES)
def test_sums_of_bytes_wrap_around(byte_instructions, left, right):
    """On all sums of 140,000 products, each as large as possible, as int32 does."""
    k = 140_000
    x, y = np.empty((1, 3, k), left), np.empty((1, k, 2), right)
    x[:] = np.iinfo(left).min or np.iinfo(left).max
    y[:] = np.iinfo(right).min or np.iinfo(right).max
    y[0, :7, 1] = 3
    want = (x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32)
    assert np.any(want != x.astype(np.int64) @ y.astype(np.int64))
    np.testing.assert_array_equal(multiplied(x, y, byte_instructions), want)


def halves(*shape):
    return RNG.normal(size=shape).astype(BFLOAT16)


@pytest.mark.parametrize("k", SIDES)
def test_bfloat16_of_all_sizes(bfloat16_instructions, k):
    for m in SIDES:
        x = halves(1, m, k)
        for n in SIDES:
            y = halves(1, k, n)
            found = multiplied(x, y, bfloat16_instructions)
            wide = x.astype(np.float64), y.astype(np.float64)
            size = np.abs(wide[0]) @ np.abs(wide[1])
            assert np.all(np.abs(found - wide[0] @ wide[1]) <= 20 * np.finfo(np.float32).eps * size)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bfloat16"])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_results_do_not_depend_on_the_division(dtype, step):
    """A batch in one call, and item by item, as threads divide it."""
    dtype = np.dtype(dtype)
    lazy_compiler.compiler()
    for instructions in (tile_products.TILES, tile_products.DOTS):
        if instructions & ~tile_products._Native.sets(dtype.itemsize):
            continue
        x = RNG.integers(0, 99, (3, 65, 70)).astype(dtype)
        y = RNG.integers(0, 99, (3, 70, 81)).astype(dtype)
        whole = multiplied(x, y, instructions)
        np.testing.assert_array_equal(multiplied(x, y, instructions, step), whole)
        want = x.astype(np.int64) @ y.astype(np.int64)
        np.testing.assert_array_equal(whole, want)  # sums of bfloat16 are below 2**24, too


def test_bfloat16_of_infinities_and_nan(bfloat16_instructions):
    values = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], np.float32)
    x, y = (RNG.choice(values, s, p=[0.3, 0.2, 0.2, 0.21, *[0.03] * 3]) for s in ((5, 4), (4, 40)))
    x, y = x.astype(BFLOAT16), y.astype(BFLOAT16)
    found = multiplied(x[None], y[None], bfloat16_instructions)[0]
    with np.errstate(all="ignore"):
        products = x.astype(np.float32)[:, :, None] * y.astype(np.float32)
        want = products[:, 0] + products[:, 1] + products[:, 2] + products[:, 3]
    np.testing.assert_allclose(found, want, rtol=1e-6)  # NaN and infinities, too
    assert np.any(np.isnan(want)) and np.any(np.isinf(want)) and np.any(np.isfinite(want))


def test_subnormal_bfloat16_is_zero(bfloat16_instructions):
    tiny = float(np.finfo(np.float32).tiny)
    x = np.array([[tiny / 16, 0, 0], [0, 2.0**-70, 0], [0, 0, -tiny]], np.float32).astype(BFLOAT16)
    y = np.array([[1.0, 2.0**20], [2.0**-60, 2.0**-56], [0.5, 1]], np.float32).astype(BFLOAT16)
    found = multiplied(x[None], y[None], bfloat16_instructions)[0]
    np.testing.assert_array_equal(found, [[0, 0], [0, 2.0**-126], [0, -tiny]])


def test_transposed_and_empty_operands(way):
    def product(x, y):
        return jnp.matmul(x, y, preferred_element_type=np.int32)

    x, y = integers("int8", 300, 70), integers("int8", 90, 300)
    want = x.T.astype(np.int32) @ y.T.astype(np.int32)
    np.testing.assert_array_equal(jitney.jit(lambda x, y: product(x.T, y.T))(x, y), want)
    for m, n, k in ((0, 70, 80), (70, 0, 80), (70, 80, 0)):
        x, y = integers("int8", m, k), integers("int8", k, n)
        np.testing.assert_array_equal(jitney.jit(product)(x, y), np.zeros((m, n), np.int32))


def test_processor_sets_are_those_of_linux():
    """The processor's features agree with the system's list of them."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next(line for line in file if line.startswith("flags")).split()
    except (OSError, StopIteration):
        pytest.skip("the system has no list of flags")
    lazy_compiler.compiler()
    for size, flag in ((1, "avx512_vnni"), (2, "avx512_bf16")):
        assert bool(tile_products._Native.sets(size) & tile_products.DOTS) == (flag in flags)


@pytest.mark.parametrize(
    ("sets", "allowed", "best"),
    [
        (3, 3, tile_products.TILES),
        (1, 3, tile_products.DOTS),
        (3, 1, tile_products.DOTS),
        (1, 2, 0),
    ],
)
def test_the_best_instructions_are_used(monkeypatch, sets, allowed, best):
    monkeypatch.setattr(tile_products._Native, "sets", lambda size: sets if size == 1 else 0)
    monkeypatch.setattr(tile_products._Native, "allowed", allowed)
    int8 = np.dtype(np.int8)
    assert tile_products.instructions(int8) == best
    assert tile_products.is_native(int8, int8) == (best != 0)
    assert not tile_products.is_native(BFLOAT16, BFLOAT16)  # the processor has none of this size
    assert not tile_products.is_native(int8, BFLOAT16)
