"""Types for annotations in rules of primitives.

    jvp        (primals: Primals, tangents: Tangents, **params) -> (out, dout)
    transpose  (ct: Cotangent, *operands: Operand, **params) -> cotangents
    batch      (args: Sequence[Value], dims: Dims, **params) -> (out, dim)
    lower      (b: Builder, *nodes: Node, **params) -> node, or list

Eager rules take `np.ndarray`s; type rules take `ShapedArray`s. A rule declares an operand as an
`Array` if it uses attributes that Python scalars do not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from jitney.compiler.hlo.build import Builder as Builder
    from jitney.compiler.hlo.ir import Node as Node
    from jitney.core.typing import Value as Value  # values with which rules compute
    from jitney.transforms.transpose import UndefinedPrimal
    from jitney.transforms.zero import Tangent as Tangent, Zero

Primals: TypeAlias = "Sequence[Value]"
Tangents: TypeAlias = "Sequence[Tangent]"
Cotangent: TypeAlias = "Value | Zero"
Operand: TypeAlias = "Value | UndefinedPrimal"  # in transposition: linear operands are undefined
BatchDim: TypeAlias = "int | None"  # the batch dimension, or None if unbatched
Dims: TypeAlias = "Sequence[BatchDim]"
# Contracted axes of both operands, then batch axes of both. A runtime type: libraries write `|
# None` after it.
DotDimensionNumbers: TypeAlias = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
Param: TypeAlias = Any  # equation parameter; `object` where a rule only passes it on


class SlopeOfOne(Protocol):
    """A rule of `defjvp` for an operation of one operand, with parameters."""

    def __call__(self, t: Value, x: Value, /, **params: Param) -> Tangent: ...


class SlopeOfTwo(Protocol):
    """A rule of `defjvp` for two operands, or of `defjvp2` for the result and one operand."""

    def __call__(self, t: Value, x: Value, y: Value, /, **params: Param) -> Tangent: ...


class TransposeOfOne(Protocol):
    """A rule of `deflinear` for an operation with parameters."""

    def __call__(self, ct: Value, x: Operand, /, **params: Param) -> Cotangent: ...
