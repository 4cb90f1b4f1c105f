"""Reads the text that `text` prints, so that passes can be tested on text.

    print_module(parse_module(text)) == text

Nodes are made by a `Builder`, which infers their types; a type that the text states otherwise is an
error. Text of host calls and of constants cut short cannot be read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from jitney.compiler.hlo import ir, text as printing
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.verify import arity
from jitney.core import record


class ParseError(ValueError):
    """The text is not that of a program; the message names the line."""


def parse_module(source: str) -> ir.Module:
    """The program that `source` is the text of.

    Raises:
      ParseError: if it is not the text of a program.
    """
    reader = _Reader(source)
    reader.expect("module")
    name = reader.word()
    region = reader.region()
    if reader.rest():
        raise reader.error("text after the program")
    return ir.Module(name, region)


def parse_dtype(name: str) -> np.dtype:
    """The dtype called `name`."""
    return np.dtype(getattr(ml_dtypes, name, name))


class _Reader:
    """A position in the text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def error(self, what: str) -> ParseError:
        line = self.source.count("\n", 0, self.at) + 1
        return ParseError(f"line {line}: {what}")

    # --- tokens -----------------------------------------------------------------------------------

    def rest(self) -> str:
        return self.source[self.at :].strip()

    def peek(self, mark: str) -> bool:
        """Whether `mark` comes next."""
        return re.compile(r"\s*" + re.escape(mark)).match(self.source, self.at) is not None

    def take(self, pattern: str, what: str) -> str:
        """The next text, which matches `pattern`."""
        found = re.compile(r"\s*(" + pattern + ")").match(self.source, self.at)
        if found is None:
            raise self.error(f"{what} expected, found {self.source[self.at : self.at + 20]!r}")
        self.at = found.end()
        return found[1]

    def expect(self, mark: str) -> None:
        self.take(re.escape(mark), repr(mark))

    def accept(self, mark: str) -> bool:
        if self.peek(mark):
            self.expect(mark)
            return True
        return False

    def word(self) -> str:
        return self.take(r"[A-Za-z_<][\w.<>]*", "a word")

    def type(self) -> TensorType:
        name = self.word()
        shape = self.take(r"\[[\d, ]*\]", "a shape")[1:-1]
        try:
            dtype = parse_dtype(name)
        except TypeError:
            raise self.error(f"no dtype {name}") from None
        return TensorType(tuple(int(n) for n in shape.split(",") if n), dtype)

    def result_type(self) -> TensorType | tuple[TensorType, ...]:
        if not self.accept("("):
            return self.type()
        found: list[TensorType] = []
        while not self.accept(")"):
            found.append(self.type())
            self.accept(",")
        return tuple(found)

    # --- regions ----------------------------------------------------------------------------------

    def region(self) -> ir.Region:
        """`(p0: float32[3]) { ... return %1 }`"""
        b = Builder()
        names: dict[str, ir.Node] = {}
        self.expect("(")
        while not self.accept(")"):
            name = self.take(r"p\d+", "a parameter")
            self.expect(":")
            names[name] = b.parameter(len(names), self.type())
            self.accept(",")
        parameters = tuple(names.values())
        self.expect("{")
        while not self.peek("return"):
            name = self.take(r"%\d+", "a node's number")
            self.expect("=")
            names[name] = self.node(b, names)
        self.expect("return")
        results: list[ir.Node] = []
        while not self.accept("}"):
            results.append(self.operand(names))
            self.accept(",")
        return ir.Region(parameters, tuple(results), tuple(b.ordered))  # type: ignore[arg-type]

    def operand(self, names: dict[str, ir.Node]) -> ir.Node:
        name = self.take(r"%\d+|p\d+", "an operand")
        found = names.get(name)
        if found is None:
            raise self.error(f"{name} is not defined")
        return found

    def node(self, b: Builder, names: dict[str, ir.Node]) -> ir.Node:
        word = self.word()
        if word == "constant":
            return self.constant(b)
        operands: list[ir.Node] = []
        while self.peek("%") or re.compile(r"\s*p\d+\b").match(self.source, self.at):
            operands.append(self.operand(names))
            self.accept(",")
        fields: dict[str, Any] = {}
        while not self.accept(":"):
            name = self.word()
            self.expect("=")
            fields[name] = self.field()
        type_ = self.result_type()
        try:
            node = _make(b, word, operands, fields, type_)
        except (AssertionError, KeyError, IndexError, ValueError) as error:
            raise self.error(f"{word}: {error!r}") from error
        if node.type != type_:
            raise self.error(f"{word}: the type is {node.type}")
        return node

    def constant(self, b: Builder) -> ir.Node:
        start = self.at
        if self.accept("{"):
            numbers: list[str] = []
            while not self.accept("}"):
                numbers.append(self.take(r"[^\s,{}]+", "a number"))
                self.accept(",")
        else:
            numbers = [self.take(r"[^\s,{}]+", "a number")]
        self.expect(":")
        type_ = self.type()
        try:
            values = [printing.parse_number(n, type_.dtype) for n in numbers]
            array = np.asarray(values, type_.dtype).reshape(type_.shape)
        except (ValueError, KeyError):
            self.at = start
            raise self.error("this is no constant of its type") from None
        return b.constant(array)

    def field(self) -> Any:
        """A region, a tuple, a number, True or False, or a word."""
        if re.compile(r"\s*\(p0:|\s*\(\) *\{").match(self.source, self.at):
            return self.region()
        if self.peek("("):
            return ast.literal_eval(self.take(r"\([\d(), -]*\)", "axes"))
        plain = self.take(r"[^\s]+", "a value")
        if re.fullmatch(r"-?\d+", plain):
            return int(plain)
        return {"True": True, "False": False}.get(plain, plain)


# --- nodes ----------------------------------------------------------------------------------------


def _make(b: Builder, word: str, xs: list[ir.Node], fields: dict[str, Any], type_: Any) -> ir.Node:
    rule = _rules.get(word)
    if rule is None:
        if arity(word) is None:
            raise ValueError(f"there is no node {word}")
        return b.apply(word, *xs)
    made = rule(b, xs, fields, type_)
    return made[0].node if isinstance(made, list) else made


def _gather_dims(kind: type[Any], f: dict[str, Any]) -> Any:
    return kind(**{name: f[name] for name in record.fields(kind) if name in f})


def _gather(b: Builder, xs: Any, f: dict[str, Any], t: Any) -> ir.Node:
    dims = _gather_dims(ir.GatherDims, f)
    fill = None if "fill" not in f else printing.parse_number(str(f["fill"]), t.dtype)
    x, indices = xs
    return b.gather(x, indices, dims, f["slice_sizes"], f["mode"], fill)


def _scatter(b: Builder, xs: Any, f: dict[str, Any], t: Any) -> ir.Node:
    dims = _gather_dims(ir.ScatterDims, f)
    x, indices, updates = xs
    return b.scatter(x, indices, updates, dims, f.get("combine"), f["mode"], f["unique"])


def _cond(b: Builder, xs: Any, f: dict[str, Any], t: Any) -> list[ir.Node] | ir.Node:
    branches = [f[f"case{i}"] for i in range(len(f))]
    return _several(b, b.cond(xs[0], branches, xs[1:]), ir.Cond)


def _while(b: Builder, xs: Any, f: dict[str, Any], t: Any) -> list[ir.Node] | ir.Node:
    return _several(b, b.while_(f["cond"], f["body"], xs), ir.While)


def _several(b: Builder, made: list[ir.Node], kind: type[Any]) -> list[ir.Node] | ir.Node:
    """What `made` are the results of; where there are none, the node is the one with effects."""
    return made or next(n for n in reversed(b.ordered) if isinstance(n, kind))


_Rule = Callable[[Builder, list[ir.Node], dict[str, Any], Any], Any]

_rules: dict[str, _Rule] = {
    "iota": lambda b, xs, f, t: b.iota(t.dtype, t.shape, f["dim"]),
    "convert": lambda b, xs, f, t: b.convert(xs[0], t.dtype),
    "bitcast": lambda b, xs, f, t: b.bitcast(xs[0], t.dtype),
    "broadcast": lambda b, xs, f, t: b.broadcast(xs[0], t.shape, f["dims"]),
    "reshape": lambda b, xs, f, t: b.reshape(xs[0], t.shape),
    "transpose": lambda b, xs, f, t: b.transpose(xs[0], f["perm"]),
    "slice": lambda b, xs, f, t: b.slice(xs[0], f["starts"], f["limits"], f["strides"]),
    "reverse": lambda b, xs, f, t: b.reverse(xs[0], f["dims"]),
    "pad": lambda b, xs, f, t: b.pad(xs[0], xs[1], f["low"], f["high"], f["interior"]),
    "concatenate": lambda b, xs, f, t: b.concatenate(xs, f["dim"]),
    "dynamic_slice": lambda b, xs, f, t: b.dynamic_slice(xs[0], xs[1:], f["sizes"]),
    "dynamic_update_slice": lambda b, xs, f, t: b.dynamic_update_slice(xs[0], xs[1], xs[2:]),
    "gather": _gather,
    "scatter": _scatter,
    "reduce": lambda b, xs, f, t: b.reduce(xs[0], f["fn"], f["dims"], f.get("in_order", False)),
    "arg_reduce": lambda b, xs, f, t: b.arg_reduce(xs[0], f["kind"], f["dim"], t.dtype),
    "reduce_region": lambda b, xs, f, t: b.reduce_region(
        xs[: len(xs) // 2], xs[len(xs) // 2 :], f["dims"], f["body"]
    ),
    "cumulative": lambda b, xs, f, t: b.cumulative(xs[0], f["fn"], f["dim"], f["reverse"]),
    "dot": lambda b, xs, f, t: b.dot(xs[0], xs[1], f["contract"], f["batch"], t.dtype),
    "sort": lambda b, xs, f, t: b.sort(xs, f["dim"], f["num_keys"], f["stable"]),
    "top_k": lambda b, xs, f, t: b.top_k(xs[0], f["k"], f["dim"]),
    "cond": _cond,
    "while": _while,
    "fence": lambda b, xs, f, t: b.fence(xs),
    "project": lambda b, xs, f, t: b.project(xs[0], f["index"]),
}
