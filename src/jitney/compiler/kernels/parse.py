"""Parses the text of kernels, such that print_kernel(parse_kernel(text), name) == text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from jitney.compiler.hlo.parse import ParseError
from jitney.compiler.hlo.text import parse_number
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.text import axis_name
from jitney.compiler.tensor_type import parse_dtype

_HEAD = re.compile(r"kernel (\S+?)\((.*?)\)(.*) \{")
_AXIS = re.compile(r"(for|reduce) (\w+) < (\d+)")
_WHILE = re.compile(r"while %(\d+)(?: \((\d+) trips\))?")
_CARRIED = re.compile(r"carried (\d+) = p(\d+)\[(.*)\] : (\w+)( by lane)?")
_NEXT = re.compile(r"carried (\d+) <- %(\d+)")
_FINALLY = re.compile(r"finally p(\d+)\[(.*)\] <- carried (\d+)")
_TERM = re.compile(r"(%?-?\w+)(?:\*(-?\d+))?")


def parse_kernel(source: str) -> ir.Kernel:
    """Parses the text of a kernel.

    Raises:
      ParseError: if it is not the text of a kernel.
    """
    lines = source.strip().splitlines()
    head = _HEAD.fullmatch(lines[0])
    if head is None or lines[-1] != "}":
        raise ParseError("this is not the text of one kernel")
    params = tuple([parse_dtype(p.split(": ")[1]) for p in head[2].split(", ") if p])
    axes = _AXIS.findall(head[3])
    reader = _Reader([name for _, name, _ in axes])
    for number, line in enumerate(lines[1:-1], start=2):
        try:
            reader.line(line.strip())
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ParseError(f"line {number}: {line.strip()!r}: {error}") from error
    loop = _WHILE.search(head[3])
    counts = {len(reader.starts), len(reader.next_values), len(reader.finishes)}
    if len(counts) != 1 or (loop is None and counts != {0}):
        raise ParseError("a carry lacks its loop, or its initial, next or final value")
    return ir.Kernel(
        tuple([int(n) for _, _, n in axes]),
        sum(kind == "reduce" for kind, _, _ in axes),
        params,
        tuple(reader.body),
        tuple(reader.outputs),
        head[3].endswith(" in order"),
        None if loop is None else reader.loop(int(loop[1]), int(loop[2]) if loop[2] else None),
    )


def _check_number(text: str, earlier: Sequence[object]) -> None:
    if int(text) != len(earlier):
        raise ValueError("carries are numbered from 0")


class _Reader:
    """The statements and outputs that have been parsed so far."""

    def __init__(self, axes: list[str]) -> None:
        if axes != [axis_name(k) for k in range(len(axes))]:
            raise ParseError(f"axes {axes}")
        self.axes = {name: k for k, name in enumerate(axes)}
        self.body: list[ir.Statement] = []
        self.outputs: list[ir.Store | ir.Reduce] = []
        self.starts: list[tuple[int, ir.Affine, np.dtype, bool]] = []
        self.next_values: list[int] = []
        self.finishes: list[int] = []

    def loop(self, condition: int, trips: int | None) -> ir.While:
        """Returns the loop whose carries have been parsed."""
        carries = [
            ir.Carry(start, finish, index, dtype, varies)
            for (start, index, dtype, varies), finish in zip(
                self.starts, self.finishes, strict=True
            )
        ]
        return ir.While(tuple(carries), condition, tuple(self.next_values), trips)

    def index(self, text: str) -> ir.Affine:
        """Parses the text of an index, such as `i*4 + j + %2 + 7`."""
        coefficients = [0] * len(self.axes)
        terms: list[tuple[int, int]] = []
        offset = 0
        for part in text.split(" + "):
            match = _TERM.fullmatch(part)
            if match is None:
                raise ValueError(f"index {text}")
            name, factor = match[1], int(match[2] or 1)
            if name.startswith("%"):
                terms.append((int(name[1:]), factor))
            elif name in self.axes:
                coefficients[self.axes[name]] = factor
            else:
                offset = int(name)
        return ir.Affine(offset, tuple(coefficients), tuple(terms))

    def line(self, text: str) -> None:
        if text.startswith("%"):
            number, text = text.split(" = ", 1)
            if int(number[1:]) != len(self.body):
                raise ValueError("statements are numbered from 0")
            self.body.append(self.statement(text))
        elif match := _CARRIED.fullmatch(text):
            _check_number(match[1], self.starts)
            self.starts.append(
                (int(match[2]), self.index(match[3]), parse_dtype(match[4]), bool(match[5]))
            )
        elif match := _NEXT.fullmatch(text):
            _check_number(match[1], self.next_values)
            self.next_values.append(int(match[2]))
        elif match := _FINALLY.fullmatch(text):
            _check_number(match[3], self.finishes)
            if self.index(match[2]) != self.starts[len(self.finishes)][1]:
                raise ValueError(
                    "the final value of a carry has another index than the initial one"
                )
            self.finishes.append(int(match[1]))
        else:
            self.outputs.append(self.output(text))

    def statement(self, text: str) -> ir.Statement:
        if " : " not in text:
            dtype, value = text.split(" ")
            return ir.Const(parse_number(value, parse_dtype(dtype)))
        left, dtype = text.rsplit(" : ", 1)
        word, operands = left.split(" ", 1)
        if word == "index":
            return ir.IndexValue(self.index(operands), parse_dtype(dtype))
        if word == "load":
            param, index = operands[1:-1].split("[")
            return ir.Load(int(param), self.index(index), parse_dtype(dtype))
        if word == "carried":
            number = int(operands)
            return ir.Carried(number, parse_dtype(dtype), self.starts[number][3])
        args = tuple([int(a[1:]) for a in operands.split(", ")])
        return ir.Call(word, args, parse_dtype(dtype))

    def output(self, text: str) -> ir.Store | ir.Reduce:
        left, value = text.split(" <- %")
        value, _, where = value.partition(" where %")
        *words, place = left.split(" ", 2 if left.startswith("reduce") else 1)
        param, index = place[1:-1].split("[")
        if words[0] == "store":
            return ir.Store(
                int(param), self.index(index), int(value), int(where) if where else None
            )
        value, _, factor = value.partition(" * %")
        return ir.Reduce(
            int(param), self.index(index), words[1], int(value), int(factor) if factor else None
        )
