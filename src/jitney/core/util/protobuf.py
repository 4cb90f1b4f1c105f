"""Protocol buffers in binary form: messages as dicts.

A message is a dict from names of fields to values: numbers, texts, bytes, messages, and lists of
these for repeated fields. A map is a list of messages with the fields `key` and `value`.

Source: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Message: TypeAlias = dict[str, Any]


class Field(NamedTuple):
    """A field of a message.

    Attributes:
      number: its number in the binary form.
      kind: "int", "uint", "bool", "double", "str", "bytes", or the name of a kind of messages.
      repeated: whether it may occur several times.
      keeps_default: whether it is written even if it has the default value, as for a oneof field.
    """

    number: int
    kind: str
    repeated: bool = False
    keeps_default: bool = False


Schema: TypeAlias = Mapping[str, Mapping[str, Field]]
"""The fields of each kind of messages, by name."""

_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5  # how a value is encoded
_BITS = 1 << 64
_WHOLE = ("int", "uint", "bool")


def decode(data: bytes, kind: str, schema: Schema) -> Message:
    """Returns the message with the binary form `data`; unknown fields are left out.

    Raises:
      ValueError: if it is not such a message.
    """
    message: Message = {}
    by_number = {field.number: (name, field) for name, field in schema[kind].items()}
    try:
        for number, value in _values(data):
            name, field = by_number.get(number, ("", None))
            if field is None:
                continue
            for x in _decoded(value, field, schema):
                if field.repeated:
                    message.setdefault(name, []).append(x)
                else:
                    message[name] = x
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"the bytes are not a {kind} message: {error}") from error
    return message


def _values(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yields (number of a field, an integer or bytes)."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        encoding, size = tag & 7, 0
        if encoding == _VARINT:
            value, at = read_varint(data, at)
            yield tag >> 3, value
            continue
        if encoding == _SIZED:
            size, at = read_varint(data, at)
        elif encoding in (_FIXED64, _FIXED32):
            size = 8 if encoding == _FIXED64 else 4
        else:
            raise ValueError(
                f"the bytes are not a protocol buffer: wire type {encoding} is unknown"
            )
        if at + size > len(data):
            raise ValueError("the bytes are not a protocol buffer, or end early")
        yield tag >> 3, data[at : at + size]
        at += size


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the integer that `varint` has encoded at position `at`, and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _decoded(value: Any, field: Field, schema: Schema) -> list[Any]:
    kind = field.kind
    if kind in _WHOLE:
        numbers: list[int] = [value]
        if isinstance(value, bytes):  # packed
            numbers, at = [], 0
            while at < len(value):
                number, at = read_varint(value, at)
                numbers.append(number)
        if kind == "bool":
            return [n != 0 for n in numbers]
        is_signed = kind == "int"
        return [n - _BITS if is_signed and n >= _BITS >> 1 else n for n in numbers]
    if not isinstance(value, bytes):
        raise ValueError(f"the bytes are not a protocol buffer: {value} for a field of {kind}")
    if kind == "double":
        return [struct.unpack("<d", value)[0]]
    if kind == "str":
        return [value.decode()]
    return [value if kind == "bytes" else decode(value, kind, schema)]


def encode(message: Message, kind: str, schema: Schema) -> bytes:
    """Returns the binary form of a message; default values are left out."""
    out = bytearray()
    for name, field in sorted(schema[kind].items(), key=lambda item: item[1].number):
        if name not in message:
            continue
        value = message[name]
        if field.repeated and field.kind in _WHOLE:
            packed = b"".join([varint(x % _BITS) for x in value])
            out += _sized(field, packed) if packed else b""
        elif field.repeated:
            for x in value:
                out += _encoded(x, field, schema)
        elif field.keeps_default or value not in (0, "", b""):
            out += _encoded(value, field, schema)
    return bytes(out)


def _encoded(value: Any, field: Field, schema: Schema) -> bytes:
    if field.kind in _WHOLE:
        return varint(field.number << 3 | _VARINT) + varint(value % _BITS)
    if field.kind == "double":
        return varint(field.number << 3 | _FIXED64) + struct.pack("<d", value)
    if field.kind == "str":
        value = value.encode()
    elif field.kind != "bytes":
        value = encode(value, field.kind, schema)
    return _sized(field, value)


def _sized(field: Field, content: bytes) -> bytes:
    return varint(field.number << 3 | _SIZED) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """Encodes a nonnegative integer in groups of seven bits, the lowest first."""
    out = bytearray()
    while value >> 7:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
