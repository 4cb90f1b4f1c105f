"""Index maps of nodes: which axes of operands and results run over one factor."""

import numpy as np
import pytest

from jitney.compiler import lapack
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.index_map import index_map, related_operands
from jitney.compiler.tensor_type import TensorType
from jitney.core.util.index_space import IndexMap

F32 = np.dtype(np.float32)


def text(found: IndexMap) -> str:
    """The map as in einsum: `ik,kj->ij`; replicated factors are capitals, no factor is `.`."""

    def letter(factor):
        name = "ijklmnop"[factor]
        return name.upper() if factor in found.replicated else name

    def tensor(dims):
        axes = ["".join(map(letter, factors)) or "." for factors in dims]
        return " ".join(axes)

    operands = ", ".join(map(tensor, found.operands))
    return f"{operands} -> {', '.join(map(tensor, found.results))}"


def parameters(*shapes):
    b = Builder()
    return b, *[b.parameter(k, TensorType(shape, F32)) for k, shape in enumerate(shapes)]


def mapped(make, *shapes):
    b, *xs = parameters(*shapes)
    out = make(b, *xs)
    node = out[0] if isinstance(out, list) else out
    found = index_map(node.node if isinstance(node, ir.Project) else node)
    return None if found is None else text(found)


@pytest.mark.parametrize(
    ("make", "shapes", "expected"),
    [
        (lambda b, x, y: b.apply("add", x, y), [(4, 6), (4, 6)], "i j, i j -> i j"),
        (lambda b, x: b.broadcast(x, (5, 4, 6), (1, 2)), [(1, 6)], ". k -> i j k"),
        (lambda b, x: b.transpose(x, (1, 0)), [(4, 6)], "i j -> j i"),
        (lambda b, x: b.reshape(x, (24,)), [(4, 6)], "i j -> ij"),
        (lambda b, x: b.reshape(x, (2, 12)), [(4, 6)], "ij k -> i jk"),
        (lambda b, x: b.reverse(x, (0,)), [(4, 6)], "i j -> i j"),
        (lambda b, x: b.reduce(x, "add", (0,)), [(4, 6)], "i j -> j"),
        (lambda b, x: b.cumulative(x, "add", 0, False), [(4, 6)], "i j -> i j"),
        (lambda b, x: b.cumulative(x, "logaddexp", 0, False), [(4, 6)], "I j -> I j"),
        (lambda b, x, y: b.dot(x, y, ((1,), (0,)), ((), ())), [(4, 6), (6, 5)], "i j, j k -> i k"),
        (
            lambda b, x, y: b.dot(x, y, ((2,), (1,)), ((0,), (0,))),
            [(3, 4, 6), (3, 6, 5)],
            "i j k, i k l -> i j l",
        ),
        (lambda b, x: b.top_k(x, 2, 1), [(4, 6)], "i J -> i ., i ."),
    ],
)
def test_maps(make, shapes, expected):
    assert mapped(make, *shapes) == expected


def test_axes_that_are_cut_have_the_factor_of_what_they_share():
    b, x = parameters((12, 5))
    cut = index_map(b.slice(x, (0, 0), (8, 5), (1, 1)))
    assert text(cut) == "i j -> i j" and [*cut.sizes[:2]] == [4, 5]
    odd = index_map(b.slice(x, (0, 0), (5, 5), (1, 1)))
    assert text(odd) == "k j -> . j" and odd.sizes[2] == 12


def test_a_roll_reads_the_operand_of_its_slices():
    b, x = parameters((8, 3))
    end, start = b.slice(x, (5, 0), (8, 3), (1, 1)), b.slice(x, (0, 0), (5, 3), (1, 1))
    rolled = b.concatenate([end, start], 0)
    assert text(index_map(rolled)) == "i j -> i j" and related_operands(rolled) == [x]


def test_replicated_factors_are_dropped_for_shards():
    b, x = parameters((4, 6))
    cumulative = index_map(b.cumulative(x, "logaddexp", 0, False))
    assert text(cumulative.divisible()) == ". j -> . j"


def test_batches_of_library_calls():
    b, a, rhs, other = parameters((2, 3, 70, 70), (2, 3, 70, 4), (2, 1, 70, 4))
    routine = lapack.routine("triangular_solve", 70, 4, 1, 1, 0, 0)

    def solved(x):
        (out,) = b.library_call(routine.name, routine.params, [a, x])
        return index_map(out.node if isinstance(out, ir.Project) else out)

    assert text(solved(rhs)) == "i j . ., i j . . -> i j . ."
    assert solved(other) is None
