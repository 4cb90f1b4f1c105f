"""XSpace, the protocol buffer in which XLA writes profiles: its binary form and its text form.

Source: `xplane.proto` of OpenXLA's profiler, in https://github.com/openxla/xla.
"""

from __future__ import annotations

import re
from typing import Any

from jitney.core.util import protobuf
from jitney.core.util.protobuf import Field, Message, Schema


def _entry(value: str) -> dict[str, Field]:
    return {"key": Field(1, "int"), "value": Field(2, value)}


FIELDS: Schema = {
    "XSpace": {
        "planes": Field(1, "XPlane", True),
        "errors": Field(2, "str", True),
        "warnings": Field(3, "str", True),
        "hostnames": Field(4, "str", True),
    },
    "XPlane": {
        "id": Field(1, "int"),
        "name": Field(2, "str"),
        "lines": Field(3, "XLine", True),
        "event_metadata": Field(4, "EventEntry", True),
        "stat_metadata": Field(5, "StatEntry", True),
        "stats": Field(6, "XStat", True),
    },
    "EventEntry": _entry("XEventMetadata"),
    "StatEntry": _entry("XStatMetadata"),
    "XLine": {
        "id": Field(1, "int"),
        "name": Field(2, "str"),
        "timestamp_ns": Field(3, "int"),
        "events": Field(4, "XEvent", True),
        "duration_ps": Field(9, "int"),
        "display_id": Field(10, "int"),
        "display_name": Field(11, "str"),
    },
    "XEvent": {
        "metadata_id": Field(1, "int"),
        "offset_ps": Field(2, "int"),
        "duration_ps": Field(3, "int"),
        "stats": Field(4, "XStat", True),
        "num_occurrences": Field(5, "int"),
    },
    "XStat": {
        "metadata_id": Field(1, "int"),
        "double_value": Field(2, "double", keeps_default=True),
        "uint64_value": Field(3, "uint", keeps_default=True),
        "int64_value": Field(4, "int", keeps_default=True),
        "str_value": Field(5, "str", keeps_default=True),
        "bytes_value": Field(6, "bytes", keeps_default=True),
        "ref_value": Field(7, "uint", keeps_default=True),
    },
    "XEventMetadata": {
        "id": Field(1, "int"),
        "name": Field(2, "str"),
        "metadata": Field(3, "bytes"),
        "display_name": Field(4, "str"),
        "stats": Field(5, "XStat", True),
        "child_id": Field(6, "int", True),
    },
    "XStatMetadata": {
        "id": Field(1, "int"),
        "name": Field(2, "str"),
        "description": Field(3, "str"),
    },
}


def decode(data: bytes) -> Message:
    """Returns the XSpace with the binary form `data`; unknown fields are omitted.

    Raises:
      ValueError: if `data` is not the binary form of an XSpace.
    """
    return protobuf.decode(data, "XSpace", FIELDS)


def encode(message: Message) -> bytes:
    """Returns the binary form of an XSpace."""
    return protobuf.encode(message, "XSpace", FIELDS)


# --- text form ------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s+ | \#[^\n]* | (?P<token> [A-Za-z_]\w* | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | [-+]?(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan)
    | [{}<>\[\]:;,] )""",
    re.VERBOSE,
)


class _Tokens:
    """The tokens of a text, read one by one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.next = ""  # empty at the end
        self.line = 1
        self.advance()

    def advance(self) -> str:
        """Returns the current token, and moves to the following one."""
        token = self.next
        self.next = ""
        while self._at < len(self._text) and not self.next:
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                raise self.error(f"unexpected {self._text[self._at]!r}")
            self.line += found.group().count("\n")
            self._at = found.end()
            self.next = found.group("token") or ""
        return token

    def take(self, *tokens: str) -> bool:
        """Moves past the current token if it is one of `tokens`; returns whether it is."""
        is_there = self.next in tokens
        if is_there:
            self.advance()
        return is_there

    def error(self, what: str) -> ValueError:
        return ValueError(f"line {self.line} of the text of a profile: {what}")


def parse(text: str) -> Message:
    """Returns the XSpace with the text form `text`.

    Raises:
      ValueError: if the text does not have this form; the message contains the line number.
    """
    tokens = _Tokens(text)
    message = _message(tokens, "XSpace", "")
    if tokens.next:
        raise tokens.error(f"unexpected {tokens.next!r}")
    return message


def _message(tokens: _Tokens, kind: str, end: str) -> Message:
    message: Message = {}
    while tokens.next and tokens.next != end:
        name = tokens.advance()
        field = FIELDS[kind].get(name)
        if field is None:
            raise tokens.error(f"{kind} has no field {name!r}; its fields are {[*FIELDS[kind]]}")
        tokens.take(":")
        values = (
            [_value(tokens, field, name)] if not tokens.take("[") else _list(tokens, field, name)
        )
        tokens.take(",", ";")
        if field.repeated:
            message.setdefault(name, []).extend(values)
        else:
            message[name] = values[-1]
    if end and not tokens.take(end):
        raise tokens.error(f"{end!r} is missing at the end of {kind}")
    return message


def _list(tokens: _Tokens, field: Field, name: str) -> list[Any]:
    values: list[Any] = []
    while not tokens.take("]"):
        if not tokens.next:
            raise tokens.error(f"']' is missing after the values of {name}")
        values.append(_value(tokens, field, name))
        tokens.take(",")
    return values


def _value(tokens: _Tokens, field: Field, name: str) -> Any:
    kind = field.kind
    if kind in FIELDS:
        opening = tokens.advance()
        if opening not in ("{", "<"):
            raise tokens.error(f"the field {name} holds a message, {{...}}, but got {opening!r}")
        return _message(tokens, kind, "}" if opening == "{" else ">")
    token = tokens.advance()
    if kind in ("str", "bytes"):
        if token[:1] not in ("'", '"'):
            raise tokens.error(f"the field {name} holds a quoted string, but got {token!r}")
        data = _unescaped(token[1:-1])
        while tokens.next[:1] in ("'", '"') and tokens.next:
            data += _unescaped(tokens.advance()[1:-1])
        return data if kind == "bytes" else data.decode()
    try:
        return float(token) if kind == "double" else int(token, 0)
    except ValueError:
        what = "number" if kind == "double" else "whole number"
        raise tokens.error(f"the field {name} holds a {what}, but got {token!r}") from None


_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _unescaped(text: str) -> bytes:
    out, at = b"", 0
    for found in _ESCAPE.finditer(text):
        out += text[at : found.start()].encode()
        code = found.group(1)
        if code[0] == "x" and len(code) > 1:
            out += bytes([int(code[1:], 16)])
        elif code[0] in "01234567":
            out += bytes([int(code, 8) & 0xFF])
        else:
            out += _ESCAPED.get(code, code).encode()
        at = found.end()
    return out + text[at:].encode()
