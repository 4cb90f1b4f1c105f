"""The tensor IR: an immutable graph of typed, interned nodes.

    module ::= Module(name, region)
    region ::= Region(parameters, results, ordered)
    node   ::= leaf | elementwise | view | indexed | reduction | contraction | order | control
             | library | collective | host | placement | Project
    leaf   ::= Parameter(index) | Constant(value) | Iota(dim)
    elementwise ::= Apply(fn, args)
    view   ::= Broadcast | Reshape | Transpose | Slice | Reverse | Pad | Concatenate | Bitcast
    indexed ::= DynamicSlice | DynamicUpdateSlice | Gather | Scatter
    reduction ::= Reduce | ArgReduce | ReduceRegion | Cumulative
    contraction ::= Dot | Convolution
    order  ::= Sort | TopK
    control ::= Cond | While
    library ::= LibraryCall
    collective ::= Collective
    host   ::= HostCall | OptimizationBarrier
    placement ::= ShardingConstraint

Nodes are created by `build.Builder`, which interns them: within one builder, two nodes are equal if
and only if they are the same object, so common subexpressions never arise. A node has one tensor as
its result, or several if its `type` is a tuple; a `Project` node selects one of them.

All shapes are static. Operands of elementwise nodes have equal shapes; broadcasting is always an
explicit `Broadcast` node. `docs/hlo.md` lists the constraints by identifiers such as `apply.C1`,
which the verifier's messages cite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from jitney.compiler.dims import (
    ConvolutionDims as ConvolutionDims,
    GatherDims as GatherDims,
    IndexMode as IndexMode,
    ScatterDims as ScatterDims,
)
from jitney.compiler.library import Param, Params as Params
from jitney.compiler.tensor_type import Shape, TensorType as TensorType
from jitney.core.sharding.shardy import TensorSharding as TensorSharding
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import Jaxpr, JaxprEqn

Axes: TypeAlias = tuple[int, ...]
MeshAxes: TypeAlias = tuple[tuple[str, int], ...]  # names and sizes
Groups: TypeAlias = tuple[tuple[int, ...], ...]  # the participants of each group, by index
CollectiveKind: TypeAlias = Literal[
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute", "broadcast", "axis_index"
]
Monoid: TypeAlias = Literal["add", "mul", "max", "min", "and", "or", "xor"]


Origin: TypeAlias = "tuple[JaxprEqn, Origin | None]"
"""The equation that a node was lowered from, and the origin of the call that was inlined.
"""


class HasOrigin:
    """An object that records where it was lowered from; the origin does not affect its meaning.

    Attributes:
      origin: the equation it was lowered from; passes copy it to the nodes that replace it.
    """

    __slots__ = ("origin",)
    origin: Origin | None


@record(eq=False)
class Node(HasOrigin):
    """An operation of the program and its result. Builders intern nodes, so equality is identity.

    Attributes:
      type: the type of the result; a tuple of types for nodes with several results.
      id: the node's number in the order of construction by its builder; operands have smaller ids.
      is_fusible: whether each element of the result is computed independently of the others, from a
        few elements of the operands, so that a kernel can compute it where it is used.

    A subclass declares only its fields; `fields_of` tells operands, regions and attributes apart by
    their annotations. `docs/adding_a_node.md` shows how to add a node.
    """

    is_fusible = False

    type: TensorType | tuple[TensorType, ...]
    id: int

    @property
    def tensor_type(self) -> TensorType:
        """The type of the result, for a node with one result."""
        assert isinstance(self.type, TensorType)
        return self.type

    @property
    def shape(self) -> Shape:
        assert isinstance(self.type, TensorType)
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        assert isinstance(self.type, TensorType)
        return self.type.dtype


# --- leaves -----------------------------------------------------------------------------------


@record(eq=False)
class Parameter(Node):
    """Parameter number `index` of the enclosing region."""

    index: int


@record(eq=False)
class Constant(Node):
    """A value known at compile time: a read-only C-contiguous array of the node's type."""

    value: np.ndarray


@record(eq=False)
class Iota(Node):
    """out[..., i, ...] = i along axis `dim`."""

    is_fusible = True

    dim: int


# --- elementwise ------------------------------------------------------------------------------


@record(eq=False)
class Apply(Node):
    """out[i] = fn(args[0][i], args[1][i], ...), where `fn` is a function of the scalar table.

    `convert` and `bitcast` take their target dtype from the node's type.
    """

    is_fusible = True

    fn: str
    args: tuple[Node, ...]


# --- views ------------------------------------------------------------------------------------


@record(eq=False)
class Broadcast(Node):
    """`x` repeated along new axes and axes of size 1; axis k of `x` becomes axis `dims[k]`.

    `dims` is strictly increasing (broadcast.C1); x.shape[k] is 1 or shape[dims[k]] (broadcast.C2).
    """

    is_fusible = True

    x: Node
    dims: Axes


@record(eq=False)
class Reshape(Node):
    """The elements of `x`, in row-major order, in another shape of the same size (reshape.C1)."""

    is_fusible = True

    x: Node


@record(eq=False)
class Transpose(Node):
    """`x` with its axes permuted: axis k of the result is axis `perm[k]` of `x` (transpose.C1)."""

    is_fusible = True

    x: Node
    perm: Axes


@record(eq=False)
class Slice(Node):
    """Elements starts, starts + strides, ... below limits of each axis; strides >= 1 (slice.C1)."""

    is_fusible = True

    x: Node
    starts: Axes
    limits: Axes
    strides: Axes


@record(eq=False)
class Reverse(Node):
    """`x` with its elements in reverse order along each axis of `dims`."""

    is_fusible = True

    x: Node
    dims: Axes


@record(eq=False)
class Pad(Node):
    """`x` padded with `value`, a scalar node.

    Along each axis, `interior` copies are inserted between adjacent elements, then `low` before the
    first and `high` after the last one; negative `low` and `high` remove elements.
    """

    x: Node
    value: Node
    low: Axes
    high: Axes
    interior: Axes


@record(eq=False)
class Concatenate(Node):
    """The concatenation of `parts` along axis `dim`."""

    parts: tuple[Node, ...]
    dim: int


@record(eq=False)
class Bitcast(Node):
    """The bytes of `x`, reinterpreted as a dtype of another width.

    A narrower dtype appends an axis of size old/new; a wider one removes the last axis, of size
    new/old. For dtypes of equal width there is `Apply("bitcast")`.
    """

    x: Node


# --- indexed reads and writes -------------------------------------------------------------------


@record(eq=False)
class DynamicSlice(Node):
    """The block of shape `sizes` at `starts`.

    `starts` are integer scalar nodes, one per axis, and are clamped so that the block is within
    `x`.
    """

    is_fusible = True

    x: Node
    starts: tuple[Node, ...]
    sizes: Shape


@record(eq=False)
class DynamicUpdateSlice(Node):
    """`x` with the block at `starts` replaced by `update`.

    Starts are clamped so that the block is within `x`.
    """

    x: Node
    update: Node
    starts: tuple[Node, ...]


@record(eq=False)
class Gather(Node):
    """Slices of `x` of shape `slice_sizes` that start at the vectors in `indices`.

    In mode "clip", starts are clamped so that slices are within `x`. In mode "fill", a slice that
    is not entirely within `x` is filled with `fill`, a scalar constant of x's dtype. In mode
    "promise_in_bounds", the program guarantees that slices are within `x`; otherwise the result is
    unspecified, but memory is never read out of bounds.
    """

    is_fusible = True

    x: Node
    indices: Node
    dims: GatherDims
    slice_sizes: Shape
    mode: IndexMode
    fill: np.ndarray | None


@record(eq=False)
class Scatter(Node):
    """`x` with windows of `updates` combined into it, in order, at the vectors in `indices`.

    `combine` is None to overwrite elements, the name of a binary scalar function (add, mul, min,
    max), or a region of two scalars (old, update) -> new. The mode "clip" clamps starts; "fill"
    drops windows that are not entirely within `x`; "promise_in_bounds" has the same effect as
    "fill". `unique` promises that no two windows overlap.
    """

    x: Node
    indices: Node
    updates: Node
    dims: ScatterDims
    combine: str | Region | None
    mode: IndexMode
    unique: bool


# --- reductions ---------------------------------------------------------------------------------


@record(eq=False)
class Reduce(Node):
    """The reduction of `x` over the axes `dims`, which are removed, by the monoid `fn`.

    It starts from the neutral element. Sums of float16 and bfloat16 are accumulated in float32. max
    and min propagate NaN. The order of operations is unspecified, unless the reduction is
    `in_order`: then elements are combined in the order of their indices.
    """

    x: Node
    fn: Monoid
    dims: Axes
    in_order: bool = False


@record(eq=False)
class ArgReduce(Node):
    """The index along `dim` of the first largest or smallest element, or of the first NaN.

    The axis `dim` is removed. The node's dtype is that of the index.
    """

    x: Node
    kind: Literal["max", "min"]
    dim: int


@record(eq=False)
class ReduceRegion(Node):
    """The joint reduction of several tensors over `dims` by a region of scalars.

    The region maps (acc_0 .. acc_n, x_0 .. x_n) to (acc_0 .. acc_n). The accumulators start from
    the scalar nodes `inits`.
    """

    xs: tuple[Node, ...]
    inits: tuple[Node, ...]
    dims: Axes
    body: Region


@record(eq=False)
class Cumulative(Node):
    """The running reduction of `x` along `dim`, from the end if `reverse`.

    `fn` is "add", "mul", "max", "min" or "logaddexp".
    """

    x: Node
    fn: Literal["add", "mul", "max", "min", "logaddexp"]
    dim: int
    reverse: bool


# --- contraction and order ------------------------------------------------------------------------


@record(eq=False)
class Dot(Node):
    """A contraction over pairs of axes.

    The axes of the result are the batch axes, the free axes of x, and the free axes of y. x and y
    have the same dtype. Products are accumulated in the dtype of the result, except that float16
    and bfloat16 results are accumulated in float32.
    """

    x: Node
    y: Node
    contract: tuple[Axes, Axes]
    batch: tuple[Axes, Axes]


@record(eq=False)
class Convolution(Node):
    """Sums of products of windows of x with w; x, w and the result have the same dtype.

    out[n, o, f] = sum over k, c of x[n, o * stride + k * dilation - low, c] * w[k, c, f], where o
    and k are indices along all spatial axes; x is padded with zeros. float16 and bfloat16 are
    summed in float32.
    """

    x: Node
    w: Node
    dims: ConvolutionDims


@record(eq=False)
class Sort(Node):
    """Operands of equal shape sorted jointly along `dim`.

    The first `num_keys` of them are the keys, which are compared lexicographically. The order is
    ascending; equal elements keep their order if `stable`. -0.0 equals 0.0; all NaN are equal to
    each other and come last. Complex numbers are ordered by (real, imag).
    """

    xs: tuple[Node, ...]
    dim: int
    num_keys: int
    stable: bool


@record(eq=False)
class TopK(Node):
    """The k largest elements along axis `dim`, in descending order, and their int32 indices.

    Of equal elements, those with lower indices come first.
    """

    x: Node
    k: int
    dim: int


@record(eq=False)
class Dft(Node):
    """The real and imaginary parts of the discrete Fourier transform of re + i im along axis `dim`.

    The kernel is exp(-2 pi i j k / n), or exp(+2 pi i j k / n) if `inverse`; `normalized` divides
    by n. If `of_real`, `im` is ignored, and the results are the first n // 2 + 1 elements. If
    `to_real` is not 0, the node is the inverse of such a transform, divided by `to_real`: its
    operands are the first to_real // 2 + 1 elements, and its only result has `to_real` real
    elements.
    """

    re: Node
    im: Node
    dim: int
    inverse: bool
    normalized: bool
    of_real: bool
    to_real: int


# --- control ----------------------------------------------------------------------------------


@record(eq=False)
class Region:
    """A function of tensors: its `results` depend on its `parameters` only.

    Each region has its own builder, to which its nodes belong. `ordered` lists the nodes with side
    effects, which run in this order, whether or not results depend on them: ordered host calls, and
    conditionals and loops that contain such calls.
    """

    parameters: tuple[Parameter, ...]
    results: tuple[Node, ...]
    ordered: tuple[Node, ...] = ()


@record(eq=False)
class Cond(Node):
    """cases[index](*args); `index` is an int32 scalar, which is clamped to the valid range."""

    index: Node
    cases: tuple[Region, ...]
    args: tuple[Node, ...]


@record(eq=False)
class While(Node):
    """The final carries of a loop: from `init`, carry = body(*carry) while cond(*carry) is true."""

    cond: Region
    body: Region
    init: tuple[Node, ...]


@record(eq=False)
class LibraryCall(Node):
    """The results of the library function `name` (`compiler/library.py`) on `args`."""

    name: str
    params: Params
    args: tuple[Node, ...]


@record(eq=False)
class Collective(Node):
    """A collective operation among the participants of a group, which all run this program.

    The result of participant k of n, given their operands x_0 ... x_(n-1), is

        all_reduce(fn)                      x_0 fn x_1 fn ... fn x_(n-1)
        all_gather(dim)                     x_0, x_1 ... concatenated along axis `dim`
        reduce_scatter(fn, dim)             the k-th of n parts of the all_reduce along `dim`
        all_to_all(split_dim, concat_dim)   the k-th of n parts along `split_dim` of each operand,
                                            concatenated along `concat_dim`
        permute(pairs)                      x_i for the pair (i, k), or zeros without one
        broadcast(source)                   x_source
        axis_index()                        k, an int32 scalar; there is no operand

    In a group of one participant, `simplify` replaces the node by its operand, or by zero.

    Attributes:
      axes: the mesh axes along which the participants of a group differ. Participants are numbered
        in row-major order along them.
      groups: the participants of each group, in order; None if all form one group.
      params: the parameters of this kind, as listed above.
      args: the operand; empty for `axis_index`.
    """

    kind: CollectiveKind
    axes: MeshAxes
    groups: Groups | None
    params: Params
    args: tuple[Node, ...]


@record(eq=False)
class HostCall(Node):
    """The results of a Python function on NumPy arrays, called back from the running program.

    `name` is used in printed programs. Pure calls (`ordered` is False) may be merged or removed;
    each ordered call is executed exactly once, in order of construction. With `in_place`, `fn`
    takes arrays for its results after its operands, and writes to them. With `finish`, `fn` may
    return before the results are written; `finish` is called later with the same arrays and waits
    for completion. Both can also be library procedures (`library.Procedure`), which programs refer
    to by name.
    """

    name: str
    fn: Callable[..., tuple[np.ndarray, ...] | None]
    args: tuple[Node, ...]
    ordered: bool
    in_place: bool = False
    finish: Callable[..., None] | None = None


@record(eq=False)
class OptimizationBarrier(Node):
    """The arguments, behind a barrier that no rewrite moves operations across."""

    args: tuple[Node, ...]


@record(eq=False)
class ShardingConstraint(Node):
    """The value of `x`, constrained to `sharding`.

    Sharding propagation and the partitioner honor it; `simplify` removes it from programs that are
    not partitioned.
    """

    x: Node
    sharding: TensorSharding


@record(eq=False)
class Project(Node):
    """Result number `index` of a node with several results."""

    node: Node
    index: int


# The types of node attributes, except the function of a host call.
Attribute: TypeAlias = (
    Param | np.ndarray | Region | GatherDims | ScatterDims | ConvolutionDims | TensorSharding
)


@record(eq=False)
class Module:
    """A complete program.

    Attributes:
      name: its name in printed programs.
      region: the function that it computes.
      jaxpr: the jaxpr it was lowered from, for printing, or None.
      optimization_level: LLVM's optimization level. Level 0 compiles in a third of the time.
    """

    name: str
    region: Region
    jaxpr: Jaxpr | None = None
    optimization_level: int = 2


# --- fields of nodes --------------------------------------------------------------------------------


@record(frozen=True)
class NodeFields:
    """The fields of a kind of node, classified by what they contain, from its class's annotations.

    Attributes:
      operands: the fields that contain a node or a tuple of nodes, in order.
      several: those of `operands` that contain tuples.
      regions: the fields that can contain a region or a tuple of regions.
      attributes: all other fields, and those that can contain a region or something else.
    """

    operands: tuple[str, ...]
    several: frozenset[str]
    regions: tuple[str, ...]
    attributes: tuple[str, ...]


_ALWAYS_REGIONS = ("Region", "tuple[Region, ...]")
_fields: dict[type, NodeFields] = {}


def fields_of(kind: type[Node]) -> NodeFields:
    """Returns the fields of the class `kind`, classified."""
    fields = _fields.get(kind)
    if fields is None:
        annotations = {} if kind is Node else kind.__annotations__
        several = frozenset([n for n, note in annotations.items() if note == "tuple[Node, ...]"])
        fields = _fields[kind] = NodeFields(
            tuple([n for n, note in annotations.items() if note == "Node" or n in several]),
            several,
            tuple([n for n, note in annotations.items() if "Region" in note]),
            tuple([
                n for n, note in annotations.items()
                if note != "Node" and n not in several and note not in _ALWAYS_REGIONS
            ]),
        )  # fmt: skip
    return fields


def kind_name(kind: type[Node]) -> str:
    """Returns the printed name of a kind of node: `dynamic_slice` for `DynamicSlice`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__).lstrip("_")


# The operation's name in Shardy, whose notation is used for shardings.
SHARDING_CONSTRAINT = "sdy.sharding_constraint"


def word(node: Node) -> str:
    """Returns the printed name of a node: that of its kind, or of its scalar function."""
    if isinstance(node, Apply):
        return node.fn
    if isinstance(node, ShardingConstraint):
        return SHARDING_CONSTRAINT
    return kind_name(type(node))
