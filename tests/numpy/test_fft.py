"""`jax.numpy.fft` and `lax.fft` against real jax, and against NumPy in double precision."""

import hashlib
import math
import zlib
from functools import partial

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as ours

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 19, 20, 32, 60, 64, 97, 128, 210]
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
OF_REAL = ["rfft", "ihfft", "rfft2", "rfftn"]


def sample(shape, dtype, name, seed=0):
    rng = np.random.default_rng(zlib.crc32(f"{shape} {np.dtype(dtype)} {name} {seed}".encode()))
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        assert name not in OF_REAL
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def bound(dtype, n):
    """Of errors, relative to the largest element."""
    unit = np.finfo(dtype).eps
    return unit * (2 + np.log2(max(n, 1)))


def agrees(got, want, transforms=1):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    size = np.abs(want).max(initial=0)
    limit = transforms * bound(want.dtype, want.size) * size
    assert np.abs(got.astype(wide) - want).max(initial=0) <= limit + np.finfo(want.dtype).tiny


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", ONE)
def test_lengths(name, n, double):
    real = np.float64 if double else np.float32
    dtype = real if name in OF_REAL else np.result_type(real, np.complex64)
    x = sample((3, n), dtype, name)
    if n == 1 and name in ("irfft", "hfft"):
        return  # of no length
    with jitney.enable_x64(double):
        want = getattr(np.fft, name)(x.astype(np.result_type(dtype, np.float64)))
        want = want.astype(np.result_type(real, np.complex64) if want.dtype.kind == "c" else real)
        function = getattr(ours.fft, name)
        agrees(function(x), want)
        agrees(jitney.jit(function)(x), want)
        agrees(jitney.vmap(jitney.jit(function))(x), want)


@pytest.mark.parametrize("n", [2, 7, 13, 16, 30, 64, 97, 100, 128, 255, 300, 512])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_compiled_transforms_are_the_same_whatever_is_beside(name, n):
    """To the bit; eager ones are SciPy's, whose versions round differently."""
    length = n // 2 + 1 if name == "irfft" else n
    x = sample((30, length), np.float32 if name == "rfft" else np.complex64, name)
    function = getattr(ours.fft, name)
    compiled = np.asarray(jitney.jit(function)(x))
    agrees(compiled, np.asarray(function(x)))
    for rows in (slice(3, 5), slice(7, 8), slice(0, 20)):
        np.testing.assert_array_equal(jitney.jit(function)(x[rows]), compiled[rows])


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_cut_filled_up_and_norms(name, norm):
    x = sample((4, 6, 3), np.float32, name)
    for n, axis in ((None, 0), (4, 1), (9, -2), (5, -1), (2, 2)):
        want = of_jax(
            lambda j, n=n, axis=axis: getattr(j.numpy.fft, name)(x, n=n, axis=axis, norm=norm)
        )
        function = getattr(ours.fft, name)
        agrees(function(x, n=n, axis=axis, norm=norm), want)
        agrees(jitney.jit(lambda x, n=n, a=axis, f=function: f(x, n, a, norm))(x), want)


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(
    ("s", "axes"), [(None, (0, 1)), ((3, 5), (1, 0)), ((8, 4), (-1, 1)), (None, (2, 0))]
)
def test_several_axes(name, s, axes):
    dtype = np.float32 if name in OF_REAL else np.complex64
    x = sample((4, 6, 5), dtype, name)
    want = of_jax(lambda j: getattr(j.numpy.fft, name)(x, s=s, axes=axes))
    function = getattr(ours.fft, name)
    agrees(function(x, s, axes), want)
    agrees(jitney.jit(lambda x: function(x, s, axes))(x), want)
    if name.endswith("n"):
        whole, part = of_jax(
            lambda j: (getattr(j.numpy.fft, name)(x), getattr(j.numpy.fft, name)(x, (4, 4)))
        )
        agrees(function(x), whole)
        agrees(function(x, (4, 4)), part)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float32"])
def test_dtypes(dtype):
    x = 3 * sample((8,), np.float32, "rfft")

    def results(j):
        a = j.numpy.asarray(x).astype(dtype)
        spectra = [getattr(j.numpy.fft, name)(a) for name in ("fft", "irfft", "rfft")]
        return spectra, str(j.make_jaxpr(j.numpy.fft.rfft)(a))

    (found, text), (wanted, their_text) = results(jitney), of_jax(results)
    for got, want in zip(found, wanted, strict=True):
        agrees(got, want)
    assert text == their_text


@pytest.mark.parametrize("n", [1, 4, 5, 8, 17])
@pytest.mark.parametrize("name", ONE)
def test_derivatives(name, n):
    dtype = np.float32 if name in OF_REAL else np.complex64
    x, t = sample((2, n), dtype, name), sample((2, n), dtype, name, 1)
    if n == 1 and name in ("irfft", "hfft"):
        return

    def of(j):
        f = getattr(j.numpy.fft, name)
        ct = np.asarray(f(j.numpy.asarray(t)))
        _, back = j.vjp(f, x)
        return j.jvp(f, (x,), (t,))[1], back(ct)[0], j.jit(lambda c: back(c)[0])(ct)

    for got, want in zip(of(jitney), of_jax(of), strict=True):
        agrees(got, want)


def test_batching_of_jacobians():
    x = sample((6,), np.float32, "rfft")

    def jacobians(j):
        power = lambda x: j.numpy.abs(j.numpy.fft.rfft(x)) ** 2  # noqa: E731
        return j.jacrev(power)(x), j.jacfwd(power)(x)

    for got, want in zip(jacobians(jitney), of_jax(jacobians), strict=True):
        agrees(got, want)
    agrees(
        jitney.vmap(ours.fft.rfft, in_axes=1, out_axes=1)(np.outer(x, x)),
        np.fft.rfft(np.outer(x, x), axis=0).astype(np.complex64),
    )


@pytest.mark.parametrize("use_jit", [False, True])
def test_nothing_and_no_axes(use_jit):
    for shape, kind, lengths in [
        ((0,), "FFT", (0,)), ((3, 0), "FFT", (0,)), ((0, 4), "RFFT", (4,)), ((0, 3), "IRFFT", (4,)),
        ((2, 3), "FFT", ()), ((0, 4), "IFFT", (0, 4)),
        ((2, 1), "IRFFT", (0,)), ((2, 0), "IRFFT", (0,)),
    ]:  # fmt: skip
        x = np.ones(shape, np.float32 if kind == "RFFT" else np.complex64)

        def of(j, x=x, kind=kind, lengths=lengths):
            f = lambda x: j.lax.fft(x, kind, lengths)  # noqa: E731
            return (j.jit(f) if use_jit else f)(x)

        agrees(of(jitney), of_jax(of))


def test_no_numbers_have_no_spectrum():
    """JAX's type rule says one element; what it compiles has none, and is refused for that."""
    x = np.ones((2, 0), np.float32)
    for f in (ours.fft.rfft, jitney.jit(ours.fft.rfft)):
        assert f(x).shape == (2, 0)
        assert jitney.grad(lambda x, f=f: abs(f(x)).sum())(x).shape == (2, 0)
    empty = np.ones((2, 0), np.complex64)
    assert jitney.grad(lambda x: ours.fft.irfft(x).sum())(empty).shape == (2, 0)


@pytest.mark.parametrize("n", [8, 15, 17])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft"])
def test_special_values(name, n):
    """An infinity or a NaN is in every element of the transform, as a NaN or an infinity."""
    for value in (np.nan, np.inf):
        x = np.ones((2, n), np.float32)
        x[1, n // 2] = value
        for f in (getattr(ours.fft, name), jitney.jit(getattr(ours.fft, name))):
            out = np.asarray(f(x))
            assert not np.isfinite(out[1]).any() and np.isfinite(out[0]).all()


def _with_values_everywhere(n, values):
    """Rows of n numbers, one of which is one of `values`, and finite rows between them."""
    rows = [np.linspace(-1, 2, n)]
    for value in values:
        for place in range(n):
            row = np.arange(1.0, n + 1)
            row[place] = value
            rows += [row, np.linspace(-1, 2, n)]
    return np.array(rows, np.float32)


def _is_as_finite(got, want):
    """What is finite or infinite in `want` is so in `got`, with about these values."""
    got, want = (np.stack([x.real, x.imag]) for x in map(np.asarray, (got, want)))
    finite, infinite = np.isfinite(want), np.isinf(want)
    # Parts that are 0 in theory have the error of others: JAX's roots of unity are rounded products.
    size = np.abs(np.where(finite, want, 0)).max((0, -1), keepdims=True, initial=0)
    error = np.abs(np.where(finite, got, 0) - np.where(finite, want, 0))
    np.testing.assert_array_equal(got[infinite], want[infinite])
    assert np.isfinite(got[finite]).all() and (error <= 1e-5 * size).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfft2"])
def test_infinities_among_few_real_numbers(name, n):
    """Real numbers have no imaginary parts, so nothing of them becomes NaN; rows do not meet."""
    x = _with_values_everywhere(n, [np.inf, -np.inf, np.nan, 2e38])
    if name == "rfft2":
        x = x[:, None]
    want = of_jax(lambda j: getattr(j.numpy.fft, name)(x))
    _is_as_finite(jitney.jit(getattr(ours.fft, name))(x), want)
    _is_as_finite(getattr(ours.fft, name)(x), want)
    _is_as_finite(jitney.jit(jitney.vmap(getattr(ours.fft, name)))(x), want)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_infinities_among_few_elements_of_a_spectrum(name, n):
    """Each real number is a sum of products, which are NaN only where infinities cancel."""
    x = _with_values_everywhere(n // 2 + 1, [np.inf, -np.inf, np.nan])
    others = np.broadcast_to(np.linspace(0, 1, n // 2 + 1), x.shape)
    for re, im in ((x, others), (others, x)):
        z = np.empty(x.shape, np.complex64)
        z.real, z.imag = re, im
        want = of_jax(lambda j, z=z: getattr(j.numpy.fft, name)(z, n))
        ours_ = partial(getattr(ours.fft, name), n=n)
        _is_as_finite(jitney.jit(ours_)(z), want)
        _is_as_finite(jitney.jit(jitney.vmap(ours_))(z), want)


CHIRPED = [199, 211, 269]  # convolutions with a chirp, which mixes all numbers of a row
# JAX's roots of unity that are nearly i are not i: parts of their products with infinities are infinite
# rather than NaN.
NEARLY_I = [60, 300]
MANY = [17, 18, 20, 31, 32, 45, 60, 64, 75, 97, 100, 128, 210, 256, 300, *CHIRPED]  # of each kind


def _bits(x):
    """What is compared exactly: NaN, signs of infinities."""
    x = np.asarray(x)
    x = np.stack([x.real, x.imag]) if x.dtype.kind == "c" else x
    return np.where(np.isnan(x), 2, np.where(np.isinf(x), np.sign(x), 0))


def _checksum(x):
    return hashlib.sha256(np.asarray(x, np.int8).tobytes()).hexdigest()


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("n", MANY)
@pytest.mark.parametrize("name", ["rfft", "ihfft", "fft", "ifft", "irfft", "hfft"])
def test_infinities_among_many_numbers(name, n, double):
    """Each place has what JAX has there, many rows at once and alone, and has about its numbers.

    Of convolutions with a chirp only which places are finite, and no large numbers: which of their sums
    overflow depends on the order. Which places are finite in those of NEARLY_I, too.
    """
    values = [np.inf, -np.inf, np.nan, 1.0 if n in CHIRPED else 3e38]
    length = n // 2 + 1 if name in ("irfft", "hfft") else n
    x = _with_values_everywhere(length, values).astype(np.float64 if double else np.float32)
    options = {"n": n} if name in ("irfft", "hfft") else {}
    compared = np.isfinite if n in CHIRPED + NEARLY_I else _bits

    def facts(j):
        """The dtype, a checksum of what is compared exactly, and a row without infinities."""
        want = np.asarray(getattr(j.numpy.fft, name)(x, **options))
        return want.dtype, _checksum(compared(want)), want[0]

    with jitney.enable_x64(double):
        compiled = jitney.jit(partial(getattr(ours.fft, name), **options))
        got = np.asarray(compiled(x))
        alone = np.stack([compiled(row) for row in x[: 2 * n : n // 5]])
    dtype, checksum, finite = of_jax(facts, x64=double)
    assert got.dtype == dtype
    assert _checksum(compared(got)) == checksum
    np.testing.assert_array_equal(compared(alone), compared(got[: 2 * n : n // 5]))
    agrees(got[::2], np.broadcast_to(finite, got[::2].shape))


@pytest.mark.parametrize("name", ["rfft2", "rfftn", "irfft2", "fft2"])
@pytest.mark.parametrize("shape", [(6, 20), (17, 34), (3, 100)])
def test_infinities_along_two_axes(name, shape):
    x = np.linspace(1, 2, math.prod(shape)).reshape(shape).astype(np.float32)
    function = jitney.jit(getattr(ours.fft, name))
    for place in [(0, 0), (1, 3), (2, shape[1] - 1), (shape[0] - 1, shape[1] // 2)]:
        for value in (np.inf, np.nan):
            y = x.copy()
            y[place] = value
            want = of_jax(lambda j, y=y: _bits(getattr(j.numpy.fft, name)(y)).astype(np.int8))
            np.testing.assert_array_equal(_bits(function(y)), want)


@pytest.mark.parametrize("shape", [(40, 600), (1, 1024), (5, 5000), (1, 2**16)])
def test_infinities_among_longer_rows(shape):
    """Other rows are not touched, and there is nothing finite in the one."""
    x = sample((shape[0] + 1, shape[1]), np.float32, "rfft")
    x[0, 7] = np.inf
    got = np.asarray(jitney.jit(ours.fft.rfft)(x))
    assert not np.isfinite(got[0, 0]) and np.isfinite(got[1:]).all()
    agrees(got[1:], np.fft.rfft(x[1:].astype(np.float64)).astype(np.complex64))


@pytest.mark.parametrize("n", [4, 8, 13, 17, 24, 26, 53, 64, 100, 143, 192])
@pytest.mark.parametrize("name", ["rfft", "fft", "irfft"])
def test_sums_that_overflow(name, n):
    """They are added in JAX's order, but for some of transforms to real numbers."""
    compared = np.isfinite if name == "irfft" else _bits
    for x in (np.full(n, 1e38, np.float32), np.full((20, n), -2e38, np.float32)):
        want = of_jax(lambda j, x=x: compared(getattr(j.numpy.fft, name)(x)))
        np.testing.assert_array_equal(compared(jitney.jit(getattr(ours.fft, name))(x)), want)


def test_frequencies_and_shifts():
    for n in (1, 2, 5, 8):
        for name in ("fftfreq", "rfftfreq"):
            want = of_jax(lambda j, n=n, name=name: getattr(j.numpy.fft, name)(n, d=0.3))
            agrees(getattr(ours.fft, name)(n, d=0.3), want)
    x = np.arange(30).reshape(5, 6)
    for axes in (None, 0, (1,), (0, -1)):
        for name in ("fftshift", "ifftshift"):
            got, want = getattr(ours.fft, name)(x, axes), getattr(np.fft, name)(x, axes)
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda j: j.numpy.fft.fft(np.ones(4), n=0), "a length of at least 1"),
        (lambda j: j.numpy.fft.fft(np.ones(4), norm="x"), "norm"),
        (
            lambda j: j.numpy.fft.fft(np.ones(4), axis=(0,)),
            r"`axis` must be an integer, but it is \(0,\)",
        ),
        (
            lambda j: j.numpy.fft.fft2(np.ones((4, 4)), axes=(0,)),
            r"`axes` must be two axes, but they are \(0,\)",
        ),
        (
            lambda j: j.numpy.fft.fftn(np.ones((4, 4)), axes=(0, 0)),
            r"`axes` must be distinct, but they are \(0, 0\)",
        ),
        (
            lambda j: j.numpy.fft.fftn(np.ones((4, 4)), s=(2,), axes=(0, 1)),
            r"`s` must have a size .* \(2,\)",
        ),
        (
            lambda j: j.numpy.fft.rfft(np.ones(4, np.complex64)),
            "`a` must be real, but it is complex64",
        ),
        (lambda j: j.lax.fft(np.ones(4, np.complex64), "RFFT", (4,)), "real"),
        (lambda j: j.lax.fft(np.ones(4, np.complex64), "FFT", (3,)), "fft_lengths"),
        (lambda j: j.lax.fft(np.ones(4, np.complex64), "FFT", (4, 4)), "fft_lengths"),
        (lambda j: j.lax.fft(np.ones(4, np.complex64), "DCT", (4,)), "DCT"),
    ],
)
def test_errors(call, message):
    theirs = of_jax(call)
    assert theirs.is_a(ValueError)
    with pytest.raises(ValueError, match=message) as ours:
        call(jitney)
    assert theirs.name in [c.__name__ for c in ours.type.__mro__]


def test_a_transform_in_a_loop_calls_no_python():
    def steps(x):
        def step(c, _):
            return ours.fft.ifft(ours.fft.fft(c) * 0.5), None

        return jitney.lax.scan(step, x, None, length=10)[0]

    for n in (256, 100, 97):
        text = jitney.jit(steps).lower(np.ones(n, np.complex64)).as_text("kernels")
        assert "host" not in text
        assert text.count("library_call") == text.count("library_call fourier.") == 2 * (n == 97)
        agrees(jitney.jit(steps)(np.ones(n, np.complex64)), np.full(n, 0.5**10, np.complex64), 20)


@pytest.mark.parametrize("x", [np.ones(3), np.float32(3), 3, True, np.complex64(2 + 1j)])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_no_axes(name, x):
    if name == "rfftn" and np.iscomplexobj(x):
        return

    def results(j):
        f = getattr(j.numpy.fft, name)
        return [f(x, axes=()), *([] if np.ndim(x) else [f(x), j.jit(f)(x)])]

    found, wanted = results(jitney), of_jax(results)
    for all_ways in (found, wanted):
        ways = [np.asarray(y) for y in all_ways]
        assert len({(str(y.dtype), y.shape, complex(y.ravel()[0])) for y in ways}) == 1
    assert (found[0].dtype, found[0].shape) == (wanted[0].dtype, wanted[0].shape)
    np.testing.assert_array_equal(found[0], wanted[0])


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_transforms_of_nothing(name, norm):
    for shape in ((4, 0), (0, 4)):
        if shape == (4, 0) and name in ("irfft", "hfft"):
            continue  # the length of their results is given by that of the operand less one
        found = getattr(ours.fft, name)(ours.ones(shape), norm=norm)
        assert found.size == 0 and found.shape[0] == shape[0]


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_on_a_device(name):
    f = getattr(ours.fft, name)
    one = f(6, device=jitney.devices()[0])
    assert one.committed and not f(6).committed
    np.testing.assert_array_equal(one, f(6))
    mesh = jitney.make_mesh((1,), ("x",))
    divided = jitney.sharding.NamedSharding(mesh, jitney.sharding.PartitionSpec("x"))
    assert f(6, device=divided).sharding == divided
