"""Parses the textual form of the tensor IR, which `text` prints; tests of passes are written in it.

    print_module(parse_module(text)) == text

A `Builder` creates the nodes and infers their types; it is an error if the text states another
type. Host calls and elided constants cannot be parsed.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from jitney.compiler.hlo import ir, text as printing, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.library import Param, Params
from jitney.compiler.scalar_functions import find
from jitney.compiler.tensor_type import parse_dtype
from jitney.core.sharding.shardy import parse_tensor_sharding
from jitney.core.util import record


class ParseError(ValueError):
    """A syntax or type error in the text of a program; the message gives the line."""


def parse_module(source: str) -> ir.Module:
    """Parses the text of a program.

    Raises:
      ParseError: if it is not the text of a program.
    """
    reader = _Reader(source)
    reader.expect("module")
    name = reader.word()
    region = reader.region()
    if reader.rest():
        raise reader.error("unexpected text after the program")
    return ir.Module(name, region)


def parse_region(source: str) -> ir.Region:
    """Parses the text of a region.

    Raises:
      ParseError: if it is not the text of a region.
    """
    reader = _Reader(source)
    region = reader.region()
    if reader.rest():
        raise reader.error("unexpected text after the region")
    return region


class _Reader:
    """A recursive-descent parser: the text and the current position in it."""

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
        """Returns whether the remaining text starts with `mark`."""
        return re.compile(r"\s*" + re.escape(mark)).match(self.source, self.at) is not None

    def take(self, pattern: str, what: str) -> str:
        """Consumes and returns the text that matches `pattern`."""
        match = re.compile(r"\s*(" + pattern + ")").match(self.source, self.at)
        if match is None:
            while self.source[self.at : self.at + 1].isspace():  # errors name the next token's line
                self.at += 1
            raise self.error(f"{what} expected, found {self.source[self.at : self.at + 20]!r}")
        self.at = match.end()
        return match[1]

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
        types: list[TensorType] = []
        while not self.accept(")"):
            types.append(self.type())
            self.accept(",")
        return tuple(types)

    # --- regions ----------------------------------------------------------------------------------

    def region(self) -> ir.Region:
        """Parses a region, `(p0: float32[3]) { ... return %1 }`."""
        b = Builder()
        names: dict[str, ir.Node] = {}
        parameters: list[ir.Parameter] = []
        self.expect("(")
        while not self.accept(")"):
            name = self.take(r"p\d+", "a parameter")
            self.expect(":")
            parameter = names[name] = b.parameter(len(names), self.type())
            parameters.append(parameter)
            self.accept(",")
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
        return ir.Region(tuple(parameters), tuple(results), tuple(b.ordered))

    def operand(self, names: dict[str, ir.Node]) -> ir.Node:
        name = self.take(r"%\d+|p\d+", "an operand")
        node = names.get(name)
        if node is None:
            raise self.error(f"{name} is not defined")
        return node

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
            raise self.error("this is not a constant of its type") from None
        return b.constant(array)

    def field(self) -> ir.Attribute:
        """Parses the value of a field.

        It is a region, parameters of a library call, a sharding, a tuple, a number, a Boolean or a
        word.
        """
        if re.compile(r"\s*\(p0:|\s*\(\) *\{").match(self.source, self.at):
            return self.region()
        if self.peek("{"):
            return self.params()
        if self.peek("<@"):
            return parse_tensor_sharding(self.take(r"<@[^>]*>", "a sharding"))
        if self.peek("("):
            return self.literal()
        plain = self.take(r"[^\s]+", "a value")
        if re.fullmatch(r"-?\d+", plain):
            return int(plain)
        return {"True": True, "False": False}.get(plain, plain)

    def params(self) -> Params:
        """Parses parameters, `{m=3, name='x'}`."""
        params: list[tuple[str, Param]] = []
        self.expect("{")
        while not self.accept("}"):
            name = self.word()
            self.expect("=")
            params.append((name, self.literal()))
            self.accept(",")
        return tuple(params)

    def literal(self) -> Param:
        """Parses a literal in Python syntax."""
        number = re.compile(r"\s*\(([^\s,()]+j)\)").match(self.source, self.at)
        if number is not None:
            self.at = number.end()
            return complex(number[1])
        if self.accept("("):
            items: list[Param] = []
            while not self.accept(")"):
                items.append(self.literal())
                self.accept(",")
            return tuple(items)
        text = self.take(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s,(){}]+", "a value")
        plain = text.lstrip("-")
        if plain in ("inf", "nan"):
            return float(text)
        if plain.endswith("j"):
            return complex(text)
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise self.error(f"{text} is not a constant") from None


# --- nodes ----------------------------------------------------------------------------------------


def _kind_of(word: str) -> type[ir.Node] | None:
    """Returns the kind of node that is printed as `word`, or None for scalar functions."""
    if word == ir.SHARDING_CONSTRAINT:
        return ir.ShardingConstraint
    for kind in ir.Node.__subclasses__():
        # `record` creates a second class for each kind; the first, which has no fields, may still
        # exist.
        is_record = "__match_args__" in vars(kind)
        if is_record and kind is not ir.Apply and ir.kind_name(kind) == word:
            return kind
    return None


def _make(b: Builder, word: str, xs: list[ir.Node], fields: dict[str, Any], type_: Any) -> ir.Node:
    kind = _kind_of(word)
    if kind is None:
        if find(word) is None:
            raise ValueError(f"unknown node {word}")
        return b.apply_again(word, xs, type_.dtype)
    values = {**fields, **_operands(kind, xs), **_derived_arguments(kind, fields, type_)}
    method = getattr(b, traversal.builder_method(kind))
    wanted = traversal.builder_parameters(kind)
    built: ir.Node | list[ir.Node] = method(
        **{name: values[name] for name in wanted if name in values}
    )
    if not isinstance(built, list):
        return built
    # The builder returns a constant for a result without elements, and an empty list for a node
    # without results, which is recorded as an effect.
    parts = (x.node for x in built if isinstance(x, ir.Project))
    return next(parts, None) or next(n for n in reversed(b.ordered) if type(n) is kind)


def _operands(kind: type[ir.Node], xs: list[ir.Node]) -> dict[str, ir.Node | tuple[ir.Node, ...]]:
    """Returns the operands of a node by field.

    Fields that contain a single node take one operand each. The remaining operands are divided
    evenly among the fields that contain several nodes.
    """
    operands: dict[str, Any] = {}
    fields = ir.fields_of(kind)
    single = len(fields.operands) - len(fields.several)
    each = (len(xs) - single) // len(fields.several) if fields.several else 0
    at = 0
    for name in fields.operands:
        if name in fields.several:
            operands[name] = tuple(xs[at : at + each])
            at += each
        else:
            operands[name] = xs[at]
            at += 1
    return operands


_DIMS: dict[type[ir.Node], type[Any]] = {
    ir.Gather: ir.GatherDims, ir.Scatter: ir.ScatterDims, ir.Convolution: ir.ConvolutionDims,
}  # fmt: skip


def _derived_arguments(
    kind: type[ir.Node], fields: dict[str, Any], type_: Any
) -> dict[str, object]:
    """Returns the arguments of the builder's method that are derived from the text.

    They are the dtype and the shape of the result, dimension numbers, the combining function of a
    scatter, the fill value, and lists of regions.
    """
    arguments: dict[str, Any] = {}
    if isinstance(type_, TensorType):
        arguments.update(dtype=type_.dtype, shape=type_.shape)
    dims = _DIMS.get(kind)
    if dims is not None:
        arguments["dims"] = dims(
            **{name: fields[name] for name in record.fields(dims) if name in fields}
        )
        arguments["combine"] = fields.get("combine")
    if "fill" in fields:
        arguments["fill"] = printing.parse_number(str(fields["fill"]), type_.dtype)
    for name in ir.fields_of(kind).regions:
        several = [value for key, value in fields.items() if re.fullmatch(f"{name[:-1]}\\d+", key)]
        if several:
            arguments[name] = several
    return arguments
