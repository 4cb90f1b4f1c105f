"""Structures as protocol buffers: bytes derived by hand from the encoding, and round trips."""

import random

import pytest

from jitney.core.pytree.wire import DICT, LEAF, LIST, NONE, TUPLE, decode, encode


@pytest.mark.parametrize(
    "nodes, data",
    [
        ([], ""),
        # Field 1 of length 2: field 2, a varint, is the type.
        ([(LEAF, 0, ())], "0a02 1001"),
        ([(NONE, 0, ()), (LIST, 1, ())], "0a02 1003 0a04 0801 1002"),
        # Keys are positions in the strings, which follow the nodes as field 2.
        ([(DICT, 2, ("k", "é"))], "0a0a 0802 1005 1a04 0a02 0001 12016b 1202c3a9"),
        ([(TUPLE, 300, ())], "0a05 08ac02 1004"),
    ],
)
def test_bytes(nodes, data):
    assert encode(nodes) == bytes.fromhex(data)
    assert decode(encode(nodes)) == nodes


def test_strings_are_stored_once():
    nodes = [(DICT, 1, ("key",)), (DICT, 2, ("other", "key"))]
    assert encode(nodes).count(b"key") == 1
    assert decode(encode(nodes)) == nodes


def test_round_trips_of_random_structures():
    rng = random.Random(1)
    for _ in range(20):
        nodes = [
            (
                rng.randrange(1, 6),
                rng.choice([0, 1, 127, 128, 20_000]),
                tuple(rng.choices("abc", k=k)),
            )
            for k in range(4)
        ]
        assert decode(encode(nodes)) == nodes


@pytest.mark.parametrize(
    "data",
    [
        "0a",  # without a length
        "0a05 10",  # shorter than its length
        "ff",  # an unfinished integer
        "0801",  # an integer where a message must be
        "0a02 1201",  # bytes where an integer must be, without the bytes
        "0b",  # a group, which this format lacks
        "12056b",  # a string that is shorter than its length
        "1201ff",  # no UTF-8
        "0a06 1005 1a02 0a00" + "1202c3",
    ],
)
def test_other_bytes_are_refused(data):
    with pytest.raises(ValueError, match="must be a pytree structure serialized"):
        decode(bytes.fromhex(data))
