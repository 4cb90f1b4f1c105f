"""Types for annotations of rules: what transformations hand to the rules of primitives.

    jvp        (primals: Primals, tangents: Tangents, **params) -> (out, dout)
    transpose  (ct: Cotangent, *operands: Operand, **params) -> cotangents
    batch      (args: Sequence[Value], dims: Dims, **params) -> (out, dim)
    lower      (b: Builder, *nodes: Node, **params) -> node, or list

Eager rules take `np.ndarray`s, type rules `ShapedArray`s. Rules that ask for attributes of an operand,
which Python scalars do not have, take it as an `Array`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from jitney.compiler.hlo.build import Builder as Builder
    from jitney.compiler.hlo.ir import Node as Node
    from jitney.core.typing import Value as Value  # what rules compute with
    from jitney.transforms.transpose import UndefinedPrimal
    from jitney.transforms.zero import Tangent as Tangent, Zero

Primals: TypeAlias = "Sequence[Value]"
Tangents: TypeAlias = "Sequence[Tangent]"
Cotangent: TypeAlias = "Value | Zero"
Operand: TypeAlias = "Value | UndefinedPrimal"  # of a transposition: linear ones are undefined
BatchDim: TypeAlias = "int | None"  # where the batch axis is; None: there is none
Dims: TypeAlias = "Sequence[BatchDim]"
# Contracted axes of both operands, then batch axes of both. Public: libraries write `| None` after it.
DotDimensionNumbers: TypeAlias = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
Param: TypeAlias = Any  # a parameter of an equation; `object` where a rule only hands it on
