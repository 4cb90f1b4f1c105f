"""Results of collectives are those of MPI, for operands that tell the participants apart."""

import numpy as np
import pytest

from jitney.compiler.reference.collective import KINDS, collective

XS = [np.arange(6).reshape(2, 3) + 10 * k for k in range(3)]
WHOLE = np.stack(XS)


def test_all_participants_get_the_sum():
    found = collective("all_reduce", XS, fn="add")
    assert len(found) == 3
    for x in found:
        np.testing.assert_array_equal(x, WHOLE.sum(0))


def test_gathered_operands_come_in_order():
    for dim in (0, 1):
        for x in collective("all_gather", XS, dim=dim):
            np.testing.assert_array_equal(x, np.concatenate(XS, dim))


def test_a_scattered_sum_is_a_gathered_sum():
    parts = collective("reduce_scatter", XS, fn="max", dim=1)
    assert [p.shape for p in parts] == [(2, 1)] * 3
    np.testing.assert_array_equal(np.concatenate(parts, 1), WHOLE.max(0))


def test_exchanging_twice_restores_the_operands():
    there = collective("all_to_all", XS, split_dim=1, concat_dim=0)
    np.testing.assert_array_equal(there[1], np.concatenate([x[:, 1:2] for x in XS]))
    back = collective("all_to_all", there, split_dim=0, concat_dim=1)
    np.testing.assert_array_equal(back, XS)


def test_permutations_leave_zeros_where_nothing_is_sent():
    found = collective("permute", XS, pairs=((0, 2), (1, 0)))
    np.testing.assert_array_equal(found, [XS[1], np.zeros((2, 3)), XS[0]])


def test_one_participant_broadcasts():
    np.testing.assert_array_equal(collective("broadcast", XS, source=1), [XS[1]] * 3)
    indices = collective("axis_index", [None] * 3)
    assert [int(i) for i in indices] == [0, 1, 2] and all(i.dtype == np.int32 for i in indices)


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("all_reduce", {"fn": "add"}), ("all_gather", {"dim": 0}), ("broadcast", {"source": 0}),
        ("reduce_scatter", {"fn": "add", "dim": 0}), ("permute", {"pairs": ((0, 0),)}),
        ("all_to_all", {"split_dim": 0, "concat_dim": 1}),
    ],
)  # fmt: skip
def test_a_single_participant_gets_its_own_operand(kind, params):
    assert kind in KINDS
    np.testing.assert_array_equal(collective(kind, XS[:1], **params), XS[:1])
