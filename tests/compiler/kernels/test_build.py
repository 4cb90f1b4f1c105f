"""Views become index arithmetic: a kernel reads through them at the right elements."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import GatherDims, TensorType
from jitney.compiler.kernels import interpret, ir
from jitney.compiler.kernels.build import (
    CrossingError,
    KernelBuilder,
    UnresolvedError,
    combine,
    is_affine_reshape,
    row_major,
)
from jitney.compiler.kernels.ir import Affine

F32 = np.dtype(np.float32)
X = np.arange(24, dtype=np.float32).reshape(4, 6)


def start(*types):
    b = Builder()
    given = types or (TensorType(X.shape, F32),)
    return b, *[b.parameter(k, t) for k, t in enumerate(given)]


def written(node, extents=None, origin=None):
    """A builder that has written a store of `node` over the domain, and the kernel."""
    k = KernelBuilder(extents or node.shape, 0, lambda n: isinstance(n, hlo.Parameter), origin)
    value = k.value(node, k.identity())
    here = [k.scaled(i, 1, -o) for i, o in zip(k.identity(), k.origin, strict=True)]
    k.store("out", k.linear(k.extents, tuple(here)), value)
    return k, k.kernel(lambda p: node.dtype if p == "out" else p.dtype)


def computed(node, values):
    """What the kernel of `node` stores; the same as the node's value."""
    k, kernel = written(node)
    out = np.zeros(node.shape, node.dtype)
    arrays = [out.reshape(-1) if p == "out" else values[p.index].reshape(-1) for p in k.params]
    interpret.run(kernel, arrays)
    parameters = tuple([p for p in k.params if p != "out"])
    if {p.index for p in parameters} == set(range(len(values))):
        ordered = tuple(sorted(parameters, key=lambda p: p.index))
        expected = run_region(hlo.Region(ordered, (node,)), values)[0]
        np.testing.assert_array_equal(out, expected)
    return kernel


@pytest.mark.parametrize(
    "make",
    [
        lambda b, x: b.transpose(x, (1, 0)),
        lambda b, x: b.slice(x, (1, 0), (4, 6), (2, 3)),
        lambda b, x: b.reverse(x, (0, 1)),
        lambda b, x: b.broadcast(b.slice(x, (0, 0), (1, 6), (1, 1)), (3, 5, 6), (1, 2)),
        lambda b, x: b.reshape(x, (2, 2, 3, 2)),
        lambda b, x: b.transpose(b.reshape(x, (2, 2, 6)), (2, 0, 1)),
        lambda b, x: b.apply("mul", x, b.iota(F32, x.shape, 1)),
        lambda b, x: b.reduce(b.slice(x, (0, 0), (4, 3), (1, 1)), "add", (1,)),
        lambda b, x: b.pad(x, b.constant(np.float32(9)), (-1, 0), (-1, -2), (0, 0)),
        lambda b, x: b.slice(b.concatenate([x, b.apply("neg", x)], 0), (5, 0), (7, 6), (1, 1)),
        lambda b, x: b.reshape(b.reverse(x, (1,)), (4, 2, 3)),
    ],
)
def test_views(make):
    b, x = start()
    computed(make(b, x), [X])


@pytest.mark.parametrize("starts", [(0, 0), (2, 3), (-1, 9)])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_slices_at_values_are_clamped(starts, dtype):
    scalar = TensorType((), np.dtype(dtype))
    b, x, i, j = start(TensorType(X.shape, F32), scalar, scalar)
    values = [np.asarray(s).astype(dtype) for s in starts]
    computed(b.dynamic_slice(x, [i, j], (2, 3)), [X, *values])


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64])
def test_gathers(mode, dtype):
    indices = np.array([[3], [0], [120], [1]]).astype(dtype)
    if np.dtype(dtype).kind == "i":
        indices[1] = -1
    b, x, at = start(TensorType(X.shape, F32), TensorType(indices.shape, np.dtype(dtype)))
    dims = GatherDims((1,), (0,), (0,))
    computed(b.gather(x, at, dims, (1, 6), mode, np.nan), [X, indices])


def test_equal_statements_are_written_once():
    b, x = start()
    y = b.apply("sin", x)
    kernel = computed(b.apply("add", b.apply("mul", y, y), y), [X])
    assert [s.fn for s in kernel.body if isinstance(s, ir.Call)] == ["sin", "mul", "add"]
    turned = computed(b.apply("add", x, b.reverse(x, (0,))), [X])
    assert sum(isinstance(s, ir.Load) for s in turned.body) == 2


def test_sums_of_few_elements_are_never_negative_zero():
    b, x = start(TensorType((2, 3), F32))
    node = b.reduce(x, "add", (1,))
    k, kernel = written(node)
    out = np.ones(2, np.float32)
    interpret.run(kernel, [np.full(6, -0.0, np.float32), out])
    assert not np.signbit(out).any() and len(k.params) == 2


def test_parts_of_complex_elements_are_adjacent():
    b, z = start(TensorType((3,), np.dtype(np.complex64)))
    _, kernel = written(b.apply("imag", z))
    (load,) = [s for s in kernel.body if isinstance(s, ir.Load)]
    assert load.index == Affine(1, (2,)) and kernel.params == (F32, F32)


@pytest.mark.parametrize(
    ("make", "axis", "at"),
    [
        (lambda b, x: b.concatenate([x, x], 0), 0, 4),
        (lambda b, x: b.reverse(b.concatenate([x, b.apply("neg", x)], 1), (1,)), 1, 6),
        (lambda b, x: b.pad(x, b.constant(np.float32(0)), (0, 2), (0, 0), (0, 0)), 1, 2),
    ],
)
def test_domains_that_cross_parts_are_split_there(make, axis, at):
    b, x = start()
    node = make(b, x)
    with pytest.raises(CrossingError) as error:
        written(node)
    assert (error.value.axis, error.value.at) == (axis, at)
    for first, last in ((0, at), (at, node.shape[axis])):
        extents, origin = list(node.shape), [0, 0]
        extents[axis], origin[axis] = last - first, first
        k, kernel = written(node, extents, origin)
        out = np.zeros(extents, np.float32)
        interpret.run(kernel, [out.reshape(-1) if p == "out" else X.reshape(-1) for p in k.params])
        whole = run_region(hlo.Region((x,), (node,)), [X])[0]
        np.testing.assert_array_equal(out, whole.take(range(first, last), axis))


def test_what_is_not_affine_needs_a_buffer():
    b, x = start()
    joined = b.reshape(b.reverse(x, (1,)), (24,))
    with pytest.raises(UnresolvedError) as error:
        written(joined)
    assert error.value.node is joined and not is_affine_reshape(joined)
    assert is_affine_reshape(b.reshape(x, (2, 2, 6)))
    inner = b.pad(x, b.constant(np.float32(0)), (0, 0), (0, 0), (1, 0))
    with pytest.raises(UnresolvedError, match="Pad"):
        written(inner)


def test_positions_are_divided():
    _, x = start()
    k = KernelBuilder((3, 4), 0, lambda n: True)
    whole, rest = k.divided(x, Affine(13, (6, 1)), 6)
    assert (whole, rest) == (Affine(2, (1, 0)), Affine(1, (0, 1)))
    back = k.divided(x, Affine(23, (-6, -1)), 6)
    assert back == (Affine(3, (-1, 0)), Affine(5, (0, -1)))
    for crossing in (Affine(13, (6, 2)), Affine(19, (-6, -1))):
        with pytest.raises(UnresolvedError):
            k.divided(x, crossing, 6)
    for i in range(3):
        for j in range(4):
            assert divmod(13 + 6 * i + j, 6) == (2 + i, 1 + j)


def test_indices_are_combined_with_their_terms():
    first, second = Affine(1, (2, 0), ((5, 1),)), Affine(3, (1, 1), ((5, 2), (6, 1)))
    assert combine([first, second], [10, 1], 7, 2) == Affine(20, (21, 1), ((5, 12), (6, 1)))
    assert combine([second], [0], 7, 2) == Affine(7, (0, 0))
    assert row_major((2, 3, 4)) == [12, 4, 1] and row_major(()) == []
