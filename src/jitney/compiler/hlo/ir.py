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

Nodes are built through `build.Builder`, which interns them: within one builder two nodes are equal
if and only if they are the same object, so common subexpressions never arise. A node's result is
one tensor, or, where `type` is a tuple, several; a `Project` takes one of them.

All shapes are static. Elementwise operands agree in shape; broadcasting is always a `Broadcast`.
Constraint identifiers (`apply.C1`) are those of `docs/hlo.md` and of the verifier's messages.
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
Groups: TypeAlias = tuple[tuple[int, ...], ...]  # indices of participants
CollectiveKind: TypeAlias = Literal[
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute", "broadcast", "axis_index"
]
Monoid: TypeAlias = Literal["add", "mul", "max", "min", "and", "or", "xor"]


Origin: TypeAlias = "tuple[JaxprEqn, Origin | None]"
"""The equation that a node was lowered from, and the origin of the call that was inlined there."""


class HasOrigin:
    """An object that records its origin beside its fields; the origin does not affect the meaning.

    Attributes:
      origin: the equation it was lowered from; passes copy it to the nodes that replace it.
    """

    __slots__ = ("origin",)
    origin: Origin | None


@record(eq=False)
class Node(HasOrigin):
    """One value of the program. Equality is identity (nodes are interned by their builder).

    Attributes:
      type: the result's type; a tuple of types for nodes with several results.
      id: position in order of construction within its builder: operands have smaller ids.
      is_fusible: whether each element of the result is computed independently, from few elements of
        the operands, so that kernels can compute it where it is used.

    A subclass declares its fields and nothing else: `fields_of` distinguishes operands, regions and
    attributes by their annotations. `docs/adding_a_node.md` adds a node as an example.
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
    """Input number `index` of the enclosing region."""

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
    """out[i] = fn(args[0][i], args[1][i], ...): `fn` is a row of the scalar table.

    `convert` and `bitcast` take their target dtype from the node's type.
    """

    is_fusible = True

    fn: str
    args: tuple[Node, ...]


# --- views ------------------------------------------------------------------------------------


@record(eq=False)
class Broadcast(Node):
    """Axis k of `x` becomes axis `dims[k]`; other axes repeat. Axes of size 1 repeat as well.

    `dims` is strictly increasing (broadcast.C1); x.shape[k] is 1 or shape[dims[k]] (broadcast.C2).
    """

    is_fusible = True

    x: Node
    dims: Axes


@record(eq=False)
class Reshape(Node):
    """The same elements in row-major order, in another shape of the same size (reshape.C1)."""

    is_fusible = True

    x: Node


@record(eq=False)
class Transpose(Node):
    """Axis k of the result is axis `perm[k]` of `x`; `perm` is a permutation (transpose.C1)."""

    is_fusible = True

    x: Node
    perm: Axes


@record(eq=False)
class Slice(Node):
    """Elements starts, starts + strides, ... below limits, per axis; strides >= 1 (slice.C1)."""

    is_fusible = True

    x: Node
    starts: Axes
    limits: Axes
    strides: Axes


@record(eq=False)
class Reverse(Node):
    """`x` with the order of elements reversed along each axis of `dims`."""

    is_fusible = True

    x: Node
    dims: Axes


@record(eq=False)
class Pad(Node):
    """`x` with `value` (a scalar node) around and between its elements.

    Per axis: `interior` copies between neighbors, then `low` before and `high` after; negative
    `low` and `high` remove elements.
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
    """The same bytes, read as a dtype of another width.

    Narrowing appends an axis of size old/new; widening removes the last axis of size new/old.
    (Equal widths are `Apply("bitcast")`.)
    """

    x: Node


# --- indexed reads and writes -------------------------------------------------------------------


@record(eq=False)
class DynamicSlice(Node):
    """Block of shape `sizes` at `starts` (an integer scalar node per axis), clamped into bounds."""

    is_fusible = True

    x: Node
    starts: tuple[Node, ...]
    sizes: Shape


@record(eq=False)
class DynamicUpdateSlice(Node):
    """`x` with the block at `starts` replaced by `update`; starts are clamped into bounds."""

    x: Node
    update: Node
    starts: tuple[Node, ...]


@record(eq=False)
class Gather(Node):
    """Slices of `x` of shape `slice_sizes` at the start vectors in `indices`.

    mode "clip": starts are clamped; "fill": a slice not entirely inside yields `fill` (a scalar
    constant of x's dtype); "promise_in_bounds": starts are inside, else the result is unspecified
    (but memory is never read out of bounds).
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
    """`x` with windows of `updates` combined in at the start vectors in `indices`, in order.

    `combine` is None to overwrite, the name of a binary scalar function (add, mul, min, max), or a
    region of two scalars (old, update) -> new. mode "clip" clamps starts; "fill" drops windows not
    entirely inside; "promise_in_bounds" has the effect of "fill". `unique` promises that no two
    windows overlap.
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
    """Reduction of `x` over the axes `dims` (removed) by the monoid `fn`, from its neutral element.

    Sums of float16 and bfloat16 are accumulated in float32. max and min propagate NaN. The order of
    elements is unspecified unless the reduction is `in_order`: then it is that of their indices.
    """

    x: Node
    fn: Monoid
    dims: Axes
    in_order: bool = False


@record(eq=False)
class ArgReduce(Node):
    """Index along `dim` (removed) of the first largest or smallest element, or of the first NaN.

    The index dtype is the node's.
    """

    x: Node
    kind: Literal["max", "min"]
    dim: int


@record(eq=False)
class ReduceRegion(Node):
    """Reduction of several tensors over `dims` by a region of scalars.

    region: (acc_0 .. acc_n, x_0 .. x_n) -> (acc_0 .. acc_n); starts from scalar nodes `inits`.
    """

    xs: tuple[Node, ...]
    inits: tuple[Node, ...]
    dims: Axes
    body: Region


@record(eq=False)
class Cumulative(Node):
    """Running reduction of `x` along `dim` (kept), from the end if `reverse`.

    fn is add, mul, max, min, or "logaddexp".
    """

    x: Node
    fn: Literal["add", "mul", "max", "min", "logaddexp"]
    dim: int
    reverse: bool


# --- contraction and order ------------------------------------------------------------------------


@record(eq=False)
class Dot(Node):
    """Contraction over paired axes: result axes are batch, free axes of x, free axes of y.

    x and y have the same dtype; the result's dtype is that of accumulation and storage, except that
    float16 and bfloat16 results are accumulated in float32.
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
    """Operands of one shape sorted together along `dim`, lexicographically by the first `num_keys`.

    Ascending and stable if `stable`; floats in total order with -0.0 equal to 0.0 and every NaN
    equal and last; complex by (real, imag).
    """

    xs: tuple[Node, ...]
    dim: int
    num_keys: int
    stable: bool


@record(eq=False)
class TopK(Node):
    """The k largest elements along axis `dim`, descending, and their int32 indices.

    Of equal elements, those with lower indices come first.
    """

    x: Node
    k: int
    dim: int


@record(eq=False)
class Dft(Node):
    """Real and imaginary part of the discrete Fourier transform of re + i im along axis `dim`.

    The kernel is exp(-2 pi i j k / n), or exp(+2 pi i j k / n) if `inverse`; `normalized` divides
    by n. If `of_real`, `im` is not read, and the results are the first n // 2 + 1 elements. If
    `to_real` is not 0, the only result is that many real elements, of which the operands are the
    first half of the transform: the inverse transform, divided by `to_real`.
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
    """A function of tensors: `results` computed from `parameters` and nothing else.

    Nodes of a region belong to the region's own builder. `ordered` are those that must run, in this
    order, whether results depend on them or not: ordered host calls, and conditionals and loops
    with such calls in their regions.
    """

    parameters: tuple[Parameter, ...]
    results: tuple[Node, ...]
    ordered: tuple[Node, ...] = ()


@record(eq=False)
class Cond(Node):
    """cases[clamp(index)](*args); `index` is an int32 scalar."""

    index: Node
    cases: tuple[Region, ...]
    args: tuple[Node, ...]


@record(eq=False)
class While(Node):
    """Repeats carry = body(*carry) while cond(*carry) holds, starting from `init`."""

    cond: Region
    body: Region
    init: tuple[Node, ...]


@record(eq=False)
class LibraryCall(Node):
    """Results of the library function `name` (`compiler/library.py`) on `args`."""

    name: str
    params: Params
    args: tuple[Node, ...]


@record(eq=False)
class Collective(Node):
    """A collective operation of the participants of a group, which all run this program.

    Participant k of n, whose operands are x_0 ... x_(n-1), gets

        all_reduce(fn)                      x_0 fn x_1 fn ... fn x_(n-1)
        all_gather(dim)                     x_0, x_1 ... one after another along axis `dim`
        reduce_scatter(fn, dim)             the k-th of n parts of the all_reduce along `dim`
        all_to_all(split_dim, concat_dim)   the k-th of n parts along `split_dim` of each operand,
                                            one after another along `concat_dim`
        permute(pairs)                      x_i for the pair (i, k), zeros if there is none
        broadcast(source)                   x_source
        axis_index()                        k, an int32 scalar; it has no operand

    A single participant gets its own operand: `simplify` replaces the node by it.

    Attributes:
      axes: the mesh axes that participants of a group differ in. Participants are numbered in
        row-major order along them.
      groups: the participants of each group, in its order, unless all form one group.
      params: parameters of the kind.
      args: the operand, or none.
    """

    kind: CollectiveKind
    axes: MeshAxes
    groups: Groups | None
    params: Params
    args: tuple[Node, ...]


@record(eq=False)
class HostCall(Node):
    """Results of `fn`, a user's Python function of NumPy arrays, called from the running program.

    `name` is for printing. Pure calls (`ordered` is False) may be merged or dropped; ordered ones
    are executed exactly once each, in order of construction. With `in_place`, `fn` takes the arrays
    of its results after its operands, and writes to them; with `finish`, `fn` may only start that,
    and `finish`, called later with the same arrays, waits until it is done. Either may be a
    procedure of a library (`library.Procedure`) instead, which programs know by its name.
    """

    name: str
    fn: Callable[..., tuple[np.ndarray, ...] | None]
    args: tuple[Node, ...]
    ordered: bool
    in_place: bool = False
    finish: Callable[..., None] | None = None


@record(eq=False)
class OptimizationBarrier(Node):
    """Its arguments, behind a barrier that no rewrite crosses."""

    args: tuple[Node, ...]


@record(eq=False)
class ShardingConstraint(Node):
    """The value of `x`, constrained to `sharding`.

    Sharding propagation and the partitioner obey it; `simplify` removes it from programs that are
    not partitioned.
    """

    x: Node
    sharding: TensorSharding


@record(eq=False)
class Project(Node):
    """Result number `index` of a node with several results."""

    node: Node
    index: int


# Types of the attributes of nodes, except the function of a host call.
Attribute: TypeAlias = (
    Param | np.ndarray | Region | GatherDims | ScatterDims | ConvolutionDims | TensorSharding
)


@record(eq=False)
class Module:
    """A complete program.

    Attributes:
      name: its name in texts.
      region: what it computes.
      jaxpr: the jaxpr it was lowered from, for readers; None if there was none.
      optimization_level: LLVM's level for its machine code; level 0 compiles in a third of the
        time.
    """

    name: str
    region: Region
    jaxpr: Jaxpr | None = None
    optimization_level: int = 2


# --- fields of nodes --------------------------------------------------------------------------------


@record(frozen=True)
class NodeFields:
    """The fields of a kind of node by what they contain; derived from the annotations of its class.

    Attributes:
      operands: fields that contain a node, or a tuple of nodes, in order.
      several: those of the operands that contain tuples.
      regions: fields that may contain a region, or a tuple of regions.
      attributes: all others, and those that may contain a region or something else.
    """

    operands: tuple[str, ...]
    several: frozenset[str]
    regions: tuple[str, ...]
    attributes: tuple[str, ...]


_ALWAYS_REGIONS = ("Region", "tuple[Region, ...]")
_fields: dict[type, NodeFields] = {}


def fields_of(kind: type[Node]) -> NodeFields:
    """Returns the fields that the class `kind` declares."""
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


# The name of the operation in Shardy, whose notation shardings use.
SHARDING_CONSTRAINT = "sdy.sharding_constraint"


def word(node: Node) -> str:
    """Returns the name that a node is printed with: its kind, or its scalar function."""
    if isinstance(node, Apply):
        return node.fn
    if isinstance(node, ShardingConstraint):
        return SHARDING_CONSTRAINT
    return kind_name(type(node))
