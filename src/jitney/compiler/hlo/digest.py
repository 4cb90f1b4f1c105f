"""Digests of programs: two programs have the same digest if their texts are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    # This is the function that `hashlib` exports under the same name; importing `hashlib` itself
    # would take two milliseconds to load OpenSSL.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.library import Procedure


class _NoDigestError(Exception):
    """The program contains something that has no digest."""


def digest(module: ir.Module) -> str | None:
    """Returns the digest of `module`, which does not depend on its name.

    Returns None if the program calls Python functions, whose effects are unknown, or if its
    constants are larger than `COSTS.digested_bytes`.
    """
    writer = _Writer()
    writer.hash.update(f"O{module.optimization_level}\n".encode())
    try:
        writer.region(module.region)
    except _NoDigestError:
        return None
    return writer.hash.hexdigest()


def _is_named(node: ir.HostCall) -> bool:
    """Returns whether a host call calls only named library procedures."""
    return all(isinstance(fn, Procedure) for fn in (node.fn, node.finish) if fn is not None)


class _Writer:
    """Hashes a program."""

    def __init__(self) -> None:
        self.hash = blake2b(digest_size=20)
        self.types: dict[Any, str] = {}
        self.constant_bytes = 0

    def region(self, region: ir.Region) -> None:
        number: dict[ir.Node, int] = {}
        lines: list[str] = [f"region {[self._type(p.type) for p in region.parameters]}"]
        for node in traversal.topological_order(traversal.roots(region)):
            number[node] = len(number)
            operands = [number[x] for x in traversal.operands(node)]
            lines.append(f"{type(node).__name__} {self._type(node.type)} {operands}")
            for name in ir.fields_of(type(node)).attributes:
                lines.append(self._field(getattr(node, name)))
            if isinstance(node, ir.HostCall) and not _is_named(node):
                raise _NoDigestError
            for _, inner in traversal.regions(node):
                self._feed(lines)
                self.region(inner)
        lines.append(f"{[number[x] for x in region.results]} {[number[x] for x in region.ordered]}")
        self._feed(lines)

    def _feed(self, lines: list[str]) -> None:
        self.hash.update("\n".join(lines).encode())
        lines.clear()

    def _type(self, type_: ir.TensorType | tuple[ir.TensorType, ...]) -> str:
        text = self.types.get(type_)
        if text is None:
            each = type_ if isinstance(type_, tuple) else (type_,)
            text = self.types[type_] = " ".join(map(str, each))
        return text

    def _field(self, value: ir.Attribute) -> str:
        if isinstance(value, np.ndarray):
            self.constant_bytes += value.nbytes
            if self.constant_bytes > COSTS.digested_bytes:
                raise _NoDigestError
            data = value.tobytes()
            text = data.hex() if len(data) <= 64 else blake2b(data).hexdigest()
            return f"{value.dtype} {value.shape} {text}"
        return "region" if isinstance(value, ir.Region) else repr(value)
