"""Kernels of reductions and contractions run over kept axes, then reduced ones."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.kernels import interpret
from jitney.compiler.plan.reductions import contraction, reductions

RNG = np.random.default_rng(0)


def computed(write, roots, values):
    """The results of the kernel of `roots`, and the kernel."""
    k, outputs = write(roots, lambda node: isinstance(node, hlo.Parameter))
    for root, out, fn, value, factor in outputs:
        k.reduce(root, out, fn, value, factor)
    found = {root: np.zeros(root.shape, root.dtype) for root in roots}
    arrays = [found[p] if p in found else values[p.index] for p in k.params]
    kernel = k.kernel(lambda p: p.dtype)
    interpret.run(kernel, [a.reshape(-1) for a in arrays])
    return [found[root] for root in roots], kernel


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_reductions_share_their_operand(dims):
    x = RNG.integers(-9, 10, (3, 4, 5)).astype(np.float32)
    b = Builder()
    p = b.parameter(0, TensorType(x.shape, x.dtype))
    roots = [b.reduce(p, "add", dims), b.reduce(b.apply("neg", p), "max", dims)]
    (total, most), kernel = computed(reductions, roots, [x])
    np.testing.assert_array_equal(total, x.sum(dims))
    np.testing.assert_array_equal(most, (-x).max(dims))
    kept = [n for k, n in enumerate(x.shape) if k not in dims]
    assert kernel.parallel == tuple(kept) and kernel.reduced == len(dims)


def test_halves_are_summed_as_float32():
    x = np.concatenate([[2048], np.full(100, 0.5)]).astype(np.float16)
    b = Builder()
    p = b.parameter(0, TensorType(x.shape, x.dtype))
    (total,), kernel = computed(reductions, [b.reduce(p, "add", (0,))], [x])
    assert total == 2098 and kernel.body[kernel.outputs[0].value].dtype == np.float32


@pytest.mark.parametrize(
    ("shapes", "contract", "batch"),
    [
        (((3, 4), (4, 5)), ((1,), (0,)), ((), ())),
        (((4, 3), (5, 4)), ((0,), (1,)), ((), ())),
        (((3, 2, 4), (4, 5, 2)), ((2,), (0,)), ((1,), (2,))),
        (((3, 4, 5), (5, 4)), ((1, 2), (1, 0)), ((), ())),
        (((3,), (4,)), ((), ()), ((), ())),
    ],
)
def test_contractions_are_sums_of_products(shapes, contract, batch):
    values = [RNG.integers(-9, 10, s).astype(np.float32) for s in shapes]
    b = Builder()
    x, y = [b.parameter(k, TensorType(v.shape, v.dtype)) for k, v in enumerate(values)]
    node = b.dot(x, y, contract, batch)
    (found,), kernel = computed(contraction, [node], values)
    np.testing.assert_array_equal(found, run_region(hlo.Region((x, y), (node,)), values)[0])
    assert kernel.parallel == node.shape


def test_the_factor_of_contractions():
    b = Builder()
    x, y = [b.parameter(k, TensorType((3, 3), np.dtype(np.float64))) for k in range(2)]
    node = b.dot(x, y, ((1,), (0,)), ((), ()))
    k, [(_, _, fn, value, factor)] = contraction([node], lambda n: n is not node)
    assert fn == "add" and factor != value and [s.param for s in k.body] == [0, 1]
