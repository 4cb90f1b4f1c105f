"""Random programs as plain data, and as Python source.

    Program ::= inputs, Block, mode            what `mode` makes of a function, applied to inputs
    Block   ::= parameters, Op*, results       the body of a function
    Op      ::= results = text(operands)       one call; `text` may name blocks: bodies of loops ...

All names are unique within a program, so that an operation can be taken away or replaced without
renaming. The source of a program is what runs it, what reports show, and what the corpus keeps.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

HEADER = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy import inf, nan
"""
# Operations whose results may be NaN in more places than NaN of their operands reaches.
SPREADING = ("linalg.", "fft.", "convolve(", "correlate(", "conv_general_dilated(")
# Ends the part of a source that is imports.
CUT = "# ---\n"
# A matrix of good condition made of an operand.
MATRIX = "(jnp.eye(3, dtype={0}.dtype) * 4 + jnp.tanh(jnp.resize({0}, (3, 3))))"


class Type(NamedTuple):
    """Type of a value."""

    dtype: str
    shape: tuple[int, ...]
    weak: bool = False


@dataclass(frozen=True)
class Input:
    """An argument: flat `values` of Python numbers, or a Python scalar if its type is weak."""

    name: str
    type: Type
    values: tuple[bool | int | float | complex, ...]

    def source(self) -> str:
        if self.type.weak:
            return repr(self.values[0])
        flat = f"np.array([{', '.join(map(_literal, self.values))}])"
        return f'{flat}.astype("{self.type.dtype}").reshape({self.type.shape})'


def _literal(x: bool | int | float | complex) -> str:
    return f"complex({x.real!r}, {x.imag!r})" if isinstance(x, complex) else repr(x)


@dataclass(frozen=True)
class Op:
    """`results = text`, where {0}, {1} ... stand for operands and {b0}, {b1} ... for blocks.

    Attributes:
      exact: whether the documents promise that compiled code has the bits of the reference.
      types: those of the results.
    """

    results: tuple[str, ...]
    text: str
    operands: tuple[str, ...]
    exact: bool
    blocks: tuple[Block, ...] = ()
    types: tuple[Type, ...] = ()

    def source(self, noisy: bool) -> str:
        names = {f"b{i}": f"{self.results[0]}_{i}" for i in range(len(self.blocks))}
        functions = [
            block.source(name, noisy)
            for block, name in zip(self.blocks, names.values(), strict=True)
        ]
        operands = self.operands
        if noisy and not self.blocks and not self.exact:
            # An inexact operation rounds on the way: as if each operand was a little off.
            operands = tuple([f"noise({x}, True)" for x in operands])
        text = self.text
        if noisy and "prod(" in text and "{0}" in text:
            operands = (f"noise({operands[0]}, True, (), True)", *operands[1:])
        if noisy:  # tanh saturates: noise of the operand does not reach the matrix
            text = text.replace(MATRIX, f"noise({MATRIX}, True)")
        call = text.format(*operands, **names)
        if noisy and not self.blocks:
            spreads = any(word in self.text for word in SPREADING)
            of = f", ({', '.join(self.operands)},)" if spreads else ""
            call = f"noise({call}, {not self.exact}{of})"
            if "nn.gelu(" in self.text:  # the rounding of x (1 + tanh ...) is that of x
                call = f"(noise({call} + {self.operands[0]}, True) - {self.operands[0]})"
        return "".join([*functions, f"{', '.join(self.results)} = {call}\n"])


@dataclass(frozen=True)
class Block:
    """A function: `signature` is its parameters' text, `opening` a statement that unpacks them.

    Attributes:
      returns: text of the result, with {0}, {1} ... for `results`.
    """

    signature: str
    opening: str
    ops: tuple[Op, ...]
    results: tuple[str, ...]
    returns: str

    def source(self, name: str, noisy: bool = False) -> str:
        lines = [self.opening + "\n" if self.opening else ""]
        if noisy and name == "f":
            lines += [f"{x} = noise({x})\n" for x in self.signature.split(", ")]
        lines += [op.source(noisy) for op in self.ops]
        lines += [f"return {self.returns.format(*self.results)}\n"]
        return f"def {name}({self.signature}):\n" + textwrap.indent("".join(lines), "    ")


@dataclass(frozen=True)
class Program:
    """A program; `mode` are names and arguments of functions of `modes`, innermost first."""

    inputs: tuple[Input, ...]
    block: Block
    mode: tuple[tuple[str, str], ...] = ()
    x64: bool = False

    def body(self, noisy: bool = False) -> str:
        """Source that defines `arguments` and the function `program` of them."""
        from tests.fuzz.differential import modes

        arguments = "".join([f"    {x.source()},\n" for x in self.inputs])
        call = "f"
        for name, argument in self.mode:
            call = f"{name}({', '.join([call, argument] if argument else [call])})"
        parts = [
            f'jax.config.update("jax_enable_x64", {self.x64})\n',
            modes.source([name for name, _ in self.mode], noisy),
            self.block.source("f", noisy),
            f"program = {call}\narguments = (\n{arguments})\n",
        ]
        return "\n".join([part for part in parts if part])

    def source(self) -> str:
        """A script that prints the program's results."""
        return f"{HEADER}{CUT}\n{self.body()}\nprint(jax.jit(program)(*arguments))\n"

    def all_ops(self) -> Iterator[Op]:
        """All operations, those in blocks of others as well."""
        waiting = list(self.block.ops)
        while waiting:
            op = waiting.pop()
            yield op
            waiting += [inner for block in op.blocks for inner in block.ops]

    @property
    def is_exact(self) -> bool:
        """Whether all of it, transformations included, is promised to the bit."""
        keep_bits = {"jitted", "mapped", "forward"}
        return all(op.exact for op in self.all_ops()) and {n for n, _ in self.mode} <= keep_bits
