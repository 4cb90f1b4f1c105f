"""The text of a partitioned program says what each device has and sends."""

import numpy as np
import pytest
from tests.compiler.hlo.partition.divided import X, Y, divided

from jitney.compiler.hlo.partition.text import bytes_text, print_partitioned

M = np.ones((8, 16), np.float32)


def test_shards_and_traffic():
    program = divided(
        "%1 = reduce p0 fn=add dims=(0,) : float32[16]", [(X, Y)], {"x": 4, "y": 2}, [M]
    )
    lines = print_partitioned(program).splitlines()
    assert lines[:3] == [
        "over x=4, y=2: 8 devices",
        "  p0: float32[2,8] is a shard [x, y]",
        "  result 0: float32[8] is a shard [y]",
    ]
    (collective,) = [line for line in lines if " = collective " in line]
    assert collective.endswith("  # all-reduce, sends 48 B")  # twice 3 of 4 parts of 32 bytes
    assert lines[-1] == "1 collective, each device sends 48 B (loops counted once)"


def test_indices_of_devices_send_nothing():
    body = "%1 = iota dim=0 : float32[8]\n%2 = add p0, %1 : float32[8]"
    program = divided(body, [(X,)], {"x": 4}, [M[:, 0]])
    text = print_partitioned(program)
    assert "axis_index" in text and "#" not in text
    assert text.endswith("0 collectives, each device sends 0 B (loops counted once)")


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"), (95.5, "96 B"), (999, "999 B"), (999.7, "1.00 kB"), (1500, "1.50 kB"),
        (9999, "10.0 kB"), (99_960, "100 kB"), (999_700, "1.00 MB"), (24e6, "24.0 MB"),
        (7.125e15, "7.12 PB"),
    ],
)  # fmt: skip
def test_numbers_of_bytes_have_three_digits(n, text):
    assert bytes_text(n) == text
