"""Prints the tensor IR as text, one node per line; `parse` reads it back.

    module f(p0: float32[3]) {
      %1 = constant 2.0 : float32[]
      %2 = broadcast %1 dims=() : float32[3]
      %3 = mul p0, %2 : float32[3]
      return %3
    }

Numbers are printed in decimal if that identifies their value exactly, otherwise as bits
(`0x7fc00001`); complex numbers are printed as `real:imaginary`. Host calls can be printed but not
parsed. `docs/hlo.md` gives the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.library import Param, params_text
from jitney.core.types import dtypes
from jitney.core.util import float_errors
from jitney.core.util.record import fields

if TYPE_CHECKING:
    from jitney.core.typing import Value

# Constants with more elements are elided after the first few; such text cannot be parsed.
ELIDE_ABOVE = 64
_SHOWN = 4
# Attributes that are printed in another way, or not at all.
_UNPRINTED = {
    (ir.Parameter, "index"),
    (ir.Constant, "value"),
    (ir.Apply, "fn"),
    (ir.HostCall, "fn"),
    (ir.HostCall, "finish"),
}


def _no_note(node: ir.Node) -> str:
    return ""


def print_module(
    module: ir.Module, elide_above: int = ELIDE_ABOVE, note: Callable[[ir.Node], str] = _no_note
) -> str:
    """Returns the text of a program.

    Args:
      module: the program.
      elide_above: the number of elements above which constants are elided.
      note: a function that returns a comment to append to a node's line; text with comments cannot
        be parsed.
    """
    return f"module {module.name}{print_region(module.region, '', elide_above, note)}"


def print_region(
    region: ir.Region,
    indent: str = "",
    elide_above: int = ELIDE_ABOVE,
    note: Callable[[ir.Node], str] = _no_note,
) -> str:
    """Returns the text of a region, with its parameters, nodes and results."""
    names: dict[ir.Node, str] = {p: f"p{p.index}" for p in region.parameters}
    params = ", ".join(f"{names[p]}: {p.type}" for p in region.parameters)
    lines = [f"({params}) {{"]
    for node in traversal.topological_order(traversal.roots(region)):
        if node in names:
            continue
        names[node] = f"%{len(names)}"
        text = _node(node, names, indent + "  ", elide_above, note)
        lines.append(f"{indent}  {names[node]} = {text}{note(node)}")
    results = ", ".join(names[r] for r in region.results)
    lines.append(f"{indent}  return {results}".rstrip())
    lines.append(f"{indent}}}")
    return "\n".join(lines)


def _node(
    node: ir.Node,
    names: dict[ir.Node, str],
    indent: str,
    elide_above: int,
    note: Callable[[ir.Node], str],
) -> str:
    if isinstance(node, ir.Constant):
        operands = array_text(node.value, elide_above)
    else:
        operands = ", ".join(names[x] for x in traversal.operands(node))
    parts = [ir.word(node), operands] if operands else [ir.word(node)]
    parts += [f"{name}={value}" for name, value in _attributes(node)]
    parts += [
        f"{name}={print_region(region, indent, elide_above, note)}"
        for name, region in traversal.regions(node)
    ]
    return f"{' '.join(parts)} : {_type(node)}"


def _attributes(node: ir.Node) -> Iterator[tuple[str, str]]:
    kind = type(node)
    for name in ir.fields_of(kind).attributes:
        value: ir.Attribute = getattr(node, name)
        if (
            (kind, name) in _UNPRINTED
            or value is None
            or isinstance(value, ir.Region)
            or (name == "in_order" and not value)
        ):
            continue
        if isinstance(value, ir.GatherDims | ir.ScatterDims | ir.ConvolutionDims):
            for field in fields(value):
                axes = getattr(value, field)
                if axes or "batching" not in field:
                    yield field, str(axes).replace(" ", "")
        elif isinstance(value, np.ndarray):
            yield name, number_text(value)
        elif isinstance(node, ir.LibraryCall | ir.Collective) and name == "params":
            yield name, params_text(node.params)
        elif isinstance(value, tuple):
            yield name, _tuple_text(value)
        else:
            yield name, str(value)


def _tuple_text(value: tuple[Param, ...]) -> str:
    items = [_tuple_text(x) if isinstance(x, tuple) else repr(x) for x in value]
    return f"({','.join(items)}{',' if len(items) == 1 else ''})"


def _type(node: ir.Node) -> str:
    if isinstance(node.type, tuple):
        return "(" + ", ".join(map(str, node.type)) + ")"
    return str(node.type)


# --- numbers ------------------------------------------------------------------------------------


def array_text(value: np.ndarray, elide_above: int = ELIDE_ABOVE) -> str:
    """Returns the text of a constant: a number, or `{1, 2, 3}` in row-major order."""
    if value.ndim == 0:
        return number_text(value)
    flat = value.reshape(-1)
    shown = [number_text(x) for x in (flat if flat.size <= elide_above else flat[:_SHOWN])]
    if len(shown) < flat.size:
        shown.append("...")
    return "{" + ", ".join(shown) + "}"


def number_text(value: Value) -> str:
    """Returns the text of a scalar, which `parse_number` converts back to the same bits."""
    array = np.asarray(value)
    dtype = array.dtype
    if dtype == np.bool_:
        return str(bool(array))
    if dtypes.issubdtype(dtype, np.integer):
        return str(int(array))
    for text in _decimals(array):
        if parse_number(text, dtype).tobytes() == array.tobytes():
            return text
    return "0x" + array.tobytes()[::-1].hex()


def _decimals(array: np.ndarray) -> Iterator[str]:
    """Yields decimal texts of a float or complex number, the shortest first."""
    if array.dtype.kind == "c":
        yield f"{number_text(np.real(array))}:{number_text(np.imag(array))}"
        return
    if array.dtype.itemsize == 4:  # its shortest text is tried first
        short = str(np.float32(array))
        yield short if any(c in short for c in ".ein") else f"{short}.0"
    yield repr(float(array))


def parse_number(text: str, dtype: np.dtype) -> np.ndarray:
    """Parses the text of a scalar.

    Raises:
      ValueError: if `text` is not a number.
    """
    if text.startswith("0x"):
        return np.frombuffer(bytes.fromhex(text[2:])[::-1], dtype).reshape(())
    if dtype == np.bool_:
        return np.asarray({"True": True, "False": False}[text])
    if dtype.kind == "c":
        real, imag = text.split(":")
        half = np.dtype(f"f{dtype.itemsize // 2}")
        out = np.empty((), dtype)
        out.real, out.imag = parse_number(real, half), parse_number(imag, half)
        return out
    if dtypes.issubdtype(dtype, np.integer):
        whole = int(text)
        return np.asarray(whole, np.uint64 if whole >= 2**63 else np.int64).astype(dtype)
    with float_errors.ignored():
        return np.asarray(float(text)).astype(dtype)
