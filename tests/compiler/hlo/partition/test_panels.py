"""Products of gathered operands are sums, or rows, of products of panels."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.partition.interpret import run
from jitney.compiler.hlo.partition.layout import Mesh
from jitney.compiler.hlo.partition.panels import in_panels
from jitney.compiler.hlo.partition.partitioner import Partitioned
from jitney.core.util.record import replace

F32 = np.dtype(np.float32)
X, Y = ("x",), ("y",)
MESH = Mesh({"x": 2, "y": 2})
RNG = np.random.default_rng(0)
A, C = [RNG.integers(-4, 5, size=s).astype(np.float32) for s in ((8, 12), (12, 16))]


def program(specs, gathered, contract=((1,), (0,)), values=(A, C), uses=1):
    """A product of operands with `specs`, of which those in `gathered` (axis by side) are gathered."""
    b = Builder()
    types = [ir.TensorType(MESH.local(v.shape, s), F32) for v, s in zip(values, specs, strict=True)]
    parameters = [b.parameter(k, t) for k, t in enumerate(types)]
    operands = list(parameters)
    out = [s[1 - contract[k][0]] for k, s in enumerate(specs)]
    for side, dim in gathered.items():
        names = specs[side][dim]
        axes = MESH.axes(names)
        operands[side] = b.collective("all_gather", axes, (("dim", dim),), [operands[side]])
        if dim not in contract[side]:
            out[side] = ()
    results = [b.dot(*operands, contract, ((), ()))]
    results += [b.apply("neg", operands[0])] * (uses - 1)
    outs = [tuple(out), ((), ())][:uses]
    return Partitioned(b.module("f", parameters, results), MESH, tuple(specs), tuple(outs))


def panelled(whole):
    region = in_panels(whole.module.region, least=16)
    return replace(whole, module=replace(whole.module, region=region))


def has_loop(whole):
    nodes = traversal.topological_order(whole.module.region.results)
    return any(isinstance(n, ir.While) for n in nodes)


@pytest.mark.parametrize(
    ("specs", "gathered"),
    [
        ([((), X), ((), ())], {0: 1}),  # along the contracted axis
        ([((), ()), (X, ())], {1: 0}),
        ([((), X), (("x", "y"), ())], {0: 1, 1: 0}),  # both, in different ways
        ([(X, ()), ((), Y)], {0: 0}),  # rows of the result
        ([((), ()), ((), ("x", "y"))], {1: 1}),  # columns
    ],
)
def test_products_in_panels_are_the_whole_product(specs, gathered):
    whole = program(specs, gathered)
    small = panelled(whole)
    assert has_loop(small) and not has_loop(whole)
    for each in (whole, small):
        np.testing.assert_array_equal(run(each, [A, C])[0], A @ C)


def test_transposed_operands():
    whole = program([(X, ()), ((), ())], {0: 0}, contract=((0,), (0,)), values=(A.T.copy(), C))
    small = panelled(whole)
    assert has_loop(small)
    np.testing.assert_array_equal(run(small, [A.T, C])[0], A @ C)


def test_what_is_used_again_or_small_stays_gathered():
    specs, gathered = [((), X), ((), ())], {0: 1}
    assert not has_loop(panelled(program(specs, gathered, uses=2)))
    whole = program(specs, gathered)
    region = in_panels(whole.module.region, least=1 << 20)
    assert not has_loop(replace(whole, module=replace(whole.module, region=region)))
