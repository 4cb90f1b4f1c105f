"""Pytree structures as protocol buffers, for programs in other versions and languages.

    message Structure { repeated Node nodes = 1; repeated string strings = 2; }
    message Node { uint32 arity = 1; Type type = 2; Keys keys = 3; }
    message Keys { repeated uint32 string = 1 [packed]; }   // positions in `strings`

Children precede their parents. Types: 1 leaf, 2 list, 3 None, 4 tuple, 5 dictionary with string
keys. The messages are byte for byte those of JAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from jitney.core.util.protobuf import read_varint, varint

LEAF, LIST, NONE, TUPLE, DICT = range(1, 6)

Node: TypeAlias = tuple[int, int, tuple[str, ...]]
"""(type, number of children, keys of a dictionary)."""

_VARINT, _BYTES = 0, 2  # encodings of field values


def encode(nodes: Iterable[Node]) -> bytes:
    """Returns the message of a structure; `nodes` has children before their parents."""
    strings: dict[str, int] = {}
    out = bytearray()
    for kind, arity, keys in nodes:
        message = bytearray()
        if arity:
            message += _number(1, arity)
        message += _number(2, kind)
        if keys:
            places = b"".join(varint(strings.setdefault(key, len(strings))) for key in keys)
            message += _block(3, _block(1, places))
        out += _block(1, bytes(message))
    for text in strings:
        out += _block(2, text.encode())
    return bytes(out)


def decode(data: bytes) -> list[Node]:
    """Returns the nodes of a message, the inverse of `encode`.

    Raises:
      ValueError: if `data` is not such a message.
    """
    try:
        return _decode(data)
    except (IndexError, UnicodeDecodeError, TypeError) as error:
        raise ValueError(
            "PyTreeDef: the data must be a pytree structure serialized as a protocol buffer"
        ) from error


def _decode(data: bytes) -> list[Node]:
    fields = list(_fields(data))
    strings = [_as_bytes(value).decode() for field, value in fields if field == 2]
    nodes: list[Node] = []
    for field, value in fields:
        if field != 1:
            continue
        kind, arity, keys = 0, 0, ()
        for inner, part in _fields(_as_bytes(value)):
            if inner == 1:
                arity = _as_int(part)
            elif inner == 2:
                kind = _as_int(part)
            elif inner == 3:
                packed = [_as_bytes(p) for f, p in _fields(_as_bytes(part)) if f == 1]
                keys = tuple([strings[k] for p in packed for k in _varints(p)])
        nodes.append((kind, arity, keys))
    return nodes


def _as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise TypeError(
            f"PyTreeDef: malformed data: expected a serialized message, got the integer {value}"
        )
    return value


def _as_int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise TypeError(
            f"PyTreeDef: malformed data: expected a serialized integer, got the message {value!r}"
        )
    return value


def _number(field: int, n: int) -> bytes:
    return varint(field << 3 | _VARINT) + varint(n)


def _block(field: int, data: bytes) -> bytes:
    return varint(field << 3 | _BYTES) + varint(len(data)) + data


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        n, at = read_varint(data, at)
        yield n


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields (number, value) of the fields of a message."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        n, at = read_varint(data, at)
        if tag & 7 == _VARINT:
            yield tag >> 3, n
        elif tag & 7 == _BYTES and at + n <= len(data):
            yield tag >> 3, data[at : at + n]
            at += n
        else:
            raise ValueError(
                "PyTreeDef: the data must be a pytree structure serialized as a protocol buffer"
            )
