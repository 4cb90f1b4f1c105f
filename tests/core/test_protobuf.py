"""Messages are encoded as the format's documentation shows, and decoded to the same messages."""

import pytest

from jitney.core.util.protobuf import Field, decode, encode, read_varint, varint

SCHEMA = {
    "all": {
        "a": Field(1, "int"),
        "b": Field(2, "str"),
        "c": Field(3, "inner"),
        "f": Field(6, "uint", repeated=True),
        "d": Field(4, "double"),
        "flag": Field(5, "bool", keeps_default=True),
        "data": Field(7, "bytes", repeated=True),
        "more": Field(16, "inner", repeated=True),
    },
    "inner": {"a": Field(1, "int")},
}


@pytest.mark.parametrize(
    ("message", "data"),
    [  # the examples of https://protobuf.dev/programming-guides/encoding
        ({"a": 150}, "08 96 01"),
        ({"b": "testing"}, "12 07 74 65 73 74 69 6e 67"),
        ({"c": {"a": 150}}, "1a 03 08 96 01"),
        ({"f": [3, 270, 86942]}, "32 06 03 8e 02 9e a7 05"),
        ({"a": -2}, "08 fe ff ff ff ff ff ff ff ff 01"),
    ],
)
def test_examples_of_the_documentation(message, data):
    assert encode(message, "all", SCHEMA) == bytes.fromhex(data)
    assert decode(bytes.fromhex(data), "all", SCHEMA) == message


def test_all_kinds_of_fields_are_read_back():
    message = {
        "a": -(1 << 63), "b": "\u00fc", "c": {}, "d": -0.5, "flag": True, "f": [0, (1 << 64) - 1],
        "data": [b"", b"\xff"], "more": [{"a": 1}, {}],
    }  # fmt: skip
    assert decode(encode(message, "all", SCHEMA), "all", SCHEMA) == message


def test_defaults_are_left_out_unless_they_are_an_alternative():
    assert encode({"a": 0, "b": "", "f": []}, "all", SCHEMA) == b""
    assert encode({"flag": False}, "all", SCHEMA) == b"\x28\x00"
    assert decode(b"\x28\x00", "all", SCHEMA) == {"flag": False}


def test_unknown_fields_are_skipped_and_single_elements_need_not_be_packed():
    unknown = b"\xf8\x01\x05" + b"\xfd\x01abcd" + b"\xf9\x01abcdefgh" + b"\xfa\x01\x01x"
    assert decode(unknown + b"\x30\x03\x30\x04", "all", SCHEMA) == {"f": [3, 4]}


@pytest.mark.parametrize(
    "data",
    [b"\x08", b"\x08\x96", b"\x12\x07test", b"\x12\x01\xff", b"\x0b", b"\x10\x01", b"\x21abc"],
)
def test_broken_data_are_refused(data):
    with pytest.raises(ValueError, match="not a"):
        decode(data, "all", SCHEMA)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, (1 << 64) - 1])
def test_integers_of_any_size(value):
    data = varint(value)
    assert len(data) == max(-(-value.bit_length() // 7), 1)
    assert read_varint(b"\x80" + data, 1) == (value, 1 + len(data))
