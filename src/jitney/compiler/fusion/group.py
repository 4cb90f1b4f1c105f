"""Loop fusion: decides which nodes are stored in buffers, and which are fused into kernels.

A node is *materialized*, that is, written to memory, if it is a result of the program or an operand
of a library call, or if fusion would cost more than it saves because each use would recompute the
node. Materialized nodes are the roots of groups. All other nodes are inlined into the groups that
use them.

    group ::= Loop(roots of one shape) | Reductions(reductions of one shape and axes) | Single(node)

Optimal fusion is NP-hard (Darte, "On the complexity of loop fusion", 1999), so this is a greedy
algorithm that uses cost estimates. It traverses the nodes twice: consumers first, to choose the
nodes to materialize, and then operands first, to combine independent roots into groups. Both
traversals are linear in the size of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.contractions import has_tiles
from jitney.compiler.kernels.build import is_affine_reshape
from jitney.core.util.record import record

_MANY = -1
_ALIASES = (ir.Reshape, ir.Bitcast, ir.Project)


@record
class FusionGroup:
    """Nodes that are computed together, by one kernel or a few.

    Attributes:
      kind: "loop", "reduce", "single".
      roots: the nodes that are stored in buffers.
      size: the approximate number of statements of its kernel.
    """

    kind: str
    roots: list[ir.Node]
    size: int


@record
class Grouping:
    """The result of fusion.

    Attributes:
      groups: the groups, in a valid order of execution.
      materialized: the nodes that are stored in memory.
      reasons: the reason why each of them is materialized.
    """

    groups: list[FusionGroup]
    materialized: set[ir.Node]
    reasons: dict[ir.Node, Reason]


Reason: TypeAlias = tuple[str, object]
"""The reason why a node is materialized: a format string, and the node or number to insert."""

RESULT = "it is a result"
EFFECT = "an operation with an effect needs it"
CALL = "a library call reads it"
OPERAND = "{} reads its operands from memory"
REPEATED = (
    "each of its uses would repeat its computation, which costs as much as {} additions per element"
)
PARTS = "it concatenates operands that separate kernels compute"
ALONE = "{} is computed by a separate kernel"
TOO_LARGE = "its kernel would have more than {} statements"
THROUGH = "no kernel can fuse it with its operand"
REUSED = "{} would recompute it for each element that repeats it"


def reason_text(reason: Reason) -> str:
    """Returns the text of a reason."""
    text, what = reason
    return text.format(ir.word(what) if isinstance(what, ir.Node) else what)


def is_alias(node: ir.Node) -> bool:
    """Returns whether a materialized node shares its operand's buffer."""
    return isinstance(node, _ALIASES)


class _Marks:
    """The state of the first traversal, from consumers to operands.

    Attributes:
      materialized: the nodes that are stored in memory.
      owner: the id of the root into which each other node is inlined, or _MANY.
      size: the approximate number of statements of the group of each root.
      copies: the number of copies of a node in a group per access path, due to unrolled reductions.
      written_out: the axes of a node that its group can unroll, so that values that do not vary
        along them are computed once.
      access_paths: for each node, the ids of the paths through views by which its group reads it.
        Each path needs a statement of its own, at its own index.
      reductions: the ids of the roots that are reductions.
      long_rows: the nodes that feed reductions of rows too long for a strip.
    """

    def __init__(self) -> None:
        self.materialized: set[ir.Node] = set()
        self.reasons: dict[ir.Node, Reason] = {}
        self.owner: dict[ir.Node, int] = {}
        self.size: dict[int, int] = {}
        self.copies: dict[ir.Node, int] = {}
        self.written_out: dict[ir.Node, frozenset[int]] = {}
        self.access_paths: dict[ir.Node, frozenset[int]] = {}
        self.reductions: set[int] = set()
        self.long_rows: set[ir.Node] = set()

    def store(self, nodes: Iterable[ir.Node], reason: str, what: object = None) -> None:
        """Materializes nodes and records the reason."""
        for node in nodes:
            self.materialized.add(node)
            self.reasons.setdefault(node, (reason, what))

    def inline(
        self, node: ir.Node, owner: int, access_paths: frozenset[int], user: ir.Node
    ) -> None:
        """Records that the group of root `owner` computes `node` as an operand of `user`."""
        copies = 1 if user in self.materialized else self.copies[user]
        if isinstance(user, ir.Reduce) and user not in self.materialized:
            copies *= _count(user)
        self.copies[node] = max(copies, self.copies.get(node, 1))
        if user in self.long_rows or (isinstance(user, ir.Reduce) and _has_long_rows(user)):
            self.long_rows.add(node)
        axes = self.axes_of_operand(user, node)
        self.written_out[node] = axes & self.written_out.get(node, axes)
        known = self.owner.setdefault(node, owner)
        if known != owner:
            self.owner[node] = _MANY
        before = self.access_paths.get(node)
        self.access_paths[node] = (
            access_paths if before is None or before == access_paths else before | access_paths
        )

    def axes_of_operand(self, node: ir.Node, x: ir.Node) -> frozenset[int]:
        """Returns the axes of `x` that can be unrolled if it is inlined as an operand of `node`."""
        if isinstance(node, ir.Reduce):
            kept = [j for j in range(len(x.shape)) if j not in node.dims]
            if node in self.materialized:
                return frozenset([j for j in kept if 2 <= x.shape[j] <= COSTS.short_axis])
            return frozenset([kept[j] for j in self.written_out[node]])
        if node in self.materialized:
            return frozenset()
        axes = self.written_out[node]
        match node:
            case ir.Apply() | ir.Slice():
                return axes
            case ir.Transpose():
                return frozenset([node.perm[j] for j in axes])
            case ir.Broadcast():
                return frozenset(
                    [
                        j
                        for j, d in enumerate(node.dims)
                        if d in axes and x.shape[j] == node.shape[d]
                    ]
                )
            case _:
                return frozenset()

    def paths_to_operand(self, node: ir.Node, x: ir.Node) -> frozenset[int]:
        """Returns the access paths by which a group reads operand `x` of `node`."""
        access_paths = (
            frozenset((node.id,)) if node in self.materialized else self.access_paths[node]
        )
        if isinstance(node, ir.Apply) or _keeps_index(node, x):
            return access_paths
        return frozenset([hash((node.id, path)) for path in access_paths])


def group(
    results: Sequence[ir.Node],
    ordered: Sequence[ir.Node],
    is_native: Callable[[ir.Node], bool],
    is_reduction: Callable[[ir.Node], bool],
    is_scatter: Callable[[ir.Scatter], bool],
    stored: Sequence[ir.Node] = (),
) -> Grouping:
    """Groups the nodes that `results` depend on.

    Args:
      results: the results of the program.
      ordered: the nodes with effects, which are kept.
      is_native: returns whether a kernel can compute an elementwise node or view.
      is_reduction: returns whether a kernel computes a node as a reduction (or contraction).
      is_scatter: returns whether a kernel computes a scatter.
      stored: further nodes that have to be materialized.
    """
    nodes = traversal.topological_order([*results, *ordered])
    marks = _Marks()
    marks.store(results, RESULT)
    marks.store(ordered, EFFECT)
    marks.store(stored, CALL)
    costs = _costs(nodes, marks.materialized)
    for node in reversed(nodes):
        _mark(node, marks, costs, is_native, is_reduction, is_scatter)
    groups = _units(nodes, marks, set(ordered), is_native, is_reduction)
    _drop_inner_roots(nodes, marks, groups, {*results, *ordered, *stored})
    return Grouping(groups, marks.materialized, marks.reasons)


def _own_cost(node: ir.Node) -> int:
    """Returns the cost of `node` itself, without its operands, in additions per element."""
    if isinstance(node, ir.Apply):
        return COSTS.function(node.fn)
    return COSTS.gather if isinstance(node, ir.Gather) else 0


def _costs(nodes: Sequence[ir.Node], stored: set[ir.Node]) -> dict[ir.Node, int]:
    """Returns the cost of computing each node, given that the nodes in `stored` are in memory.

    A node with several uses is counted for each use, as in a tree, up to a cap.
    """
    costs: dict[ir.Node, int] = {}
    for node in nodes:
        if node in stored:
            costs[node] = 0
        elif node.is_fusible or _is_piecewise(node) or is_short(node):
            total = _own_cost(node) + sum(costs[x] for x in traversal.operands(node))
            if isinstance(node, ir.Reduce):
                total = _count(node) * (total + 2)  # a load and an addition for each element
            costs[node] = min(total, COSTS.max_cost)
        else:
            costs[node] = 0
    return costs


def _mark(
    node: ir.Node,
    marks: _Marks,
    costs: dict[ir.Node, int],
    is_native: Callable[[ir.Node], bool],
    is_reduction: Callable[[ir.Node], bool],
    is_scatter: Callable[[ir.Scatter], bool],
) -> None:
    if isinstance(node, ir.Parameter | ir.Constant):
        return
    piecewise, reduces = _is_piecewise(node), is_reduction(node)
    inlined = node.is_fusible or piecewise or (reduces and is_short(node))
    inlined = inlined and is_native(node) and not _joins_axes(node)
    if node not in marks.materialized and not _is_free(node):
        owner = marks.owner[node]
        access_paths = len(marks.access_paths[node]) if node.tensor_type.size != 1 else 1
        repeated = (owner == _MANY or access_paths > 1) and costs[node] > COSTS.store_above
        if repeated and isinstance(node, ir.Broadcast):  # its smaller operand will be in memory
            repeated = not _must_be_stored(node, node.x, costs, marks)
        if repeated and node in marks.long_rows and access_paths <= COSTS.recomputed_paths:
            repeated = not _costs_less_than_memory(node, costs, marks.materialized)
        # Separate kernels would reduce the parts separately, in a different order of additions.
        divides = piecewise and (owner == _MANY or owner in marks.reductions)
        statements = access_paths * marks.copies[node]
        if not inlined:
            marks.store([node], ALONE, node)
        elif repeated:
            marks.store([node], REPEATED, costs[node])
        elif divides:
            marks.store([node], PARTS)
        elif statements > COSTS.max_access_paths:
            marks.store([node], TOO_LARGE, COSTS.max_access_paths)
        elif owner != _MANY:
            marks.size[owner] = marks.size.get(owner, 0) + statements
            if marks.size[owner] > COSTS.kernel_statements:
                marks.store([node], TOO_LARGE, COSTS.kernel_statements)
    if node in marks.materialized and is_alias(node):
        marks.store(traversal.operands(node), *marks.reasons[node])
        return
    assembles = isinstance(node, ir.Concatenate | ir.Pad | ir.DynamicUpdateSlice | ir.Dft)
    assembles |= isinstance(node, ir.Scatter) and is_scatter(node)
    if not inlined and not reduces and not assembles:
        marks.store(traversal.operands(node), OPERAND, node)
        return
    if reduces and node in marks.materialized:
        marks.reductions.add(node.id)
    owner = node.id if node in marks.materialized else marks.owner[node]
    for x in traversal.operands(node):
        if _must_be_stored(node, x, costs, marks):
            marks.store([x], REUSED, node)
        elif not isinstance(x, ir.Parameter | ir.Constant):
            marks.inline(x, owner, marks.paths_to_operand(node, x), node)


def _has_long_rows(node: ir.Reduce) -> bool:
    """Returns whether `node` reduces a large array along rows that are too long for a strip.

    Rows that fit into a strip (`plan/row_strips.py`) are still in cache when they are needed again.
    """
    assert isinstance(node.x.type, ir.TensorType)
    size = node.x.type.nbytes
    if size < COSTS.recomputed_bytes:
        return False
    rows = math.prod(node.x.shape[: min(node.dims, default=0)])
    return rows < COSTS.strip_rows or 2 * size > rows * COSTS.strip_bytes


def _costs_less_than_memory(node: ir.Node, costs: dict[ir.Node, int], stored: set[ir.Node]) -> bool:
    """Returns whether recomputing `node` costs less than storing it in memory and loading it.

    Its inputs have to be loaded instead, so they must not be more than a quarter larger.
    """
    if costs[node] > COSTS.recomputed_below:
        return False
    leaves: set[ir.Node] = set()
    seen = {node}
    pending = [node]
    while pending:
        for x in traversal.operands(pending.pop()):
            if x in seen:
                continue
            seen.add(x)
            if x.is_fusible and x not in stored:
                pending.append(x)
            else:
                leaves.add(x)
    read = sum([x.type.nbytes for x in leaves if isinstance(x.type, ir.TensorType)])
    assert isinstance(node.type, ir.TensorType)
    return 4 * read <= 5 * node.type.nbytes


def _is_free(node: ir.Node) -> bool:
    """Returns whether all elements of `node` are the same constant.

    Such a node is never worth a buffer, no matter how many uses it has.
    """
    return (
        isinstance(node, ir.Broadcast)
        and isinstance(node.x, ir.Constant)
        and node.x.value.size == 1
    )


def _is_piecewise(node: ir.Node) -> bool:
    """Returns whether kernels for parts of the iteration domain could inline `node`."""
    if isinstance(node, ir.Concatenate):
        return len(node.parts) <= COSTS.max_parts
    return isinstance(node, ir.Pad) and not any(node.interior)


def is_short(node: ir.Node) -> bool:
    """Returns whether `node` is a short reduction, which is unrolled where it is used."""
    return isinstance(node, ir.Reduce) and 1 <= _count(node) <= COSTS.short_axis


def _count(node: ir.Reduce) -> int:
    """Returns the number of elements that are reduced to one element."""
    return math.prod([node.x.shape[d] for d in node.dims])


def _joins_axes(node: ir.Node) -> bool:
    """Returns whether `node` is a reshape whose operand must be in a buffer."""
    return isinstance(node, ir.Reshape) and not is_affine_reshape(node)


def _must_be_stored(node: ir.Node, x: ir.Node, costs: dict[ir.Node, int], marks: _Marks) -> bool:
    """Returns whether inlining operand `x` into `node` is impossible or repeats costly work."""
    if isinstance(node, ir.DynamicUpdateSlice):
        return x is node.x
    if isinstance(node, ir.Dft):  # reads each element once, in several statements
        return x.dtype.kind == "c" or _is_piecewise(x) or costs[x] > COSTS.store_above
    if isinstance(node, ir.Scatter):
        # Scatters are not vectorized, so operands that cost more than a load are computed beforehand.
        if x is node.x or x.dtype.kind == "c":
            return True
        numbers = x.shape[-1] if x is node.indices else 1  # number of indices per update
        repeats = x.tensor_type.size < numbers * node.updates.tensor_type.size
        return repeats or costs[x] > numbers * COSTS.vectorize_above
    if x.dtype.kind == "c":
        return True  # real and imaginary parts are read from memory
    if isinstance(node, ir.DynamicSlice | ir.Gather) and _is_piecewise(x):
        return not _joins_starts(node, x)
    if isinstance(node, ir.Dot) and has_tiles(node):
        return not isinstance(x, ir.Parameter | ir.Constant)  # tiles need contiguous vectors
    repeats = isinstance(node, ir.Broadcast | ir.Dot | ir.Gather)
    if repeats and costs[x] > COSTS.store_above:
        size = x.tensor_type.size
        return size > 1 and size < _points(node) // _copies_written_out(node, marks)
    return False


def _keeps_index(node: ir.Node, x: ir.Node) -> bool:
    """Returns whether `node` reads operand `x` at the same index at which `node` is computed.

    This is true of nodes that only add or remove axes of size 1, and of the indices of a gather of
    single elements.
    """
    if isinstance(node, ir.Reshape | ir.Broadcast):
        return [n for n in node.shape if n != 1] == [n for n in x.shape if n != 1]
    if isinstance(node, ir.Gather) and x is node.indices and x is not node.x:
        return not node.dims.offset_dims and x.shape[-1] == 1
    return False


def _joins_starts(node: ir.Node, x: ir.Node) -> bool:
    """Returns whether `x` concatenates the indices of the gather `node` into index vectors.

    Each part then has the indices of certain axes, so no read can cross parts.
    """
    return (
        isinstance(node, ir.Gather)
        and x is node.indices
        and x is not node.x
        and isinstance(x, ir.Concatenate)
        and x.dim == len(x.shape) - 1
    )


def _copies_written_out(node: ir.Node, marks: _Marks) -> int:
    """Returns how many equal elements of a broadcast each point of its kernel uses.

    They are the repetitions along axes that the kernel unrolls. The result is 1 for all other
    nodes.
    """
    count = 1
    if isinstance(node, ir.Broadcast) and node not in marks.materialized:
        for axis in marks.written_out[node]:
            if axis not in node.dims or node.x.shape[node.dims.index(axis)] == 1:
                count *= node.shape[axis]
    return count


def _points(node: ir.Node) -> int:
    assert isinstance(node.type, ir.TensorType)
    if isinstance(node, ir.Dot):
        n = node.type.size
        for axis in node.contract[0]:
            n *= node.x.shape[axis]
        return n
    return node.type.size


def _units(
    nodes: Sequence[ir.Node],
    marks: _Marks,
    ordered: set[ir.Node],
    is_native: Callable[[ir.Node], bool],
    is_reduction: Callable[[ir.Node], bool],
) -> list[FusionGroup]:
    # The level of a root is the length of the longest chain of groups that it depends on; each
    # ordered node counts as a dependence of the next one. A root that reads another root only at
    # the same element, through elementwise nodes, can share its group. `near` is the highest level
    # of such roots among the dependences of a node, and `below` that of all other roots.
    below: dict[ir.Node, int] = {}
    near: dict[ir.Node, int] = {}
    last_ordered = 0
    groups: dict[object, FusionGroup] = {}
    order: list[tuple[int, int, FusionGroup]] = []
    for node in nodes:
        xs = traversal.operands(node)
        elementwise = isinstance(node, ir.Apply) and is_native(node)
        if elementwise:
            near[node] = max([near[x] for x in xs], default=0)
            below[node] = max([below[x] for x in xs], default=0)
        else:
            near[node] = 0
            below[node] = max([max(below[x], near[x]) for x in xs], default=0)
        if node in ordered:
            below[node] = max(below[node], last_ordered)
            last_ordered = below[node] + 1
        is_root = (
            node in marks.materialized
            and not is_alias(node)
            and not isinstance(node, ir.Parameter | ir.Constant)
        )
        if not is_root:
            continue
        level = max(below[node] + 1, near[node])
        key: object
        if is_reduction(node):
            kind, key = "reduce", (level, reduction_signature(node))
        elif node.is_fusible and is_native(node):
            kind, key = "loop", (level, node.shape)
        else:
            kind, key = "single", node
        below[node], near[node] = (level - 1, level) if kind == "loop" else (level, 0)
        group = groups.get(key)
        size = 1 + marks.size.get(node.id, 0)
        if (
            group is None
            or len(group.roots) >= COSTS.max_roots
            or group.size + size > COSTS.kernel_statements
        ):
            group = groups[key] = FusionGroup(kind, [], 0)
            order.append((level, node.id, group))
        group.roots.append(node)
        group.size += size
    order.sort(key=lambda entry: entry[:2])
    return [group for _, _, group in order]


def _drop_inner_roots(
    nodes: Sequence[ir.Node],
    marks: _Marks,
    groups: Sequence[FusionGroup],
    kept: set[ir.Node],
) -> None:
    """Removes the buffers of roots that only their own group reads, at the same element."""
    materialized = marks.materialized
    group_of = {root: group for group in groups for root in group.roots}
    readers: dict[ir.Node, FusionGroup | None] = {}  # None: several, or one that needs memory
    for node in reversed(nodes):
        reader = group_of.get(node) if node in materialized else readers.get(node)
        for x in traversal.operands(node):
            readers[x] = reader if readers.get(x, reader) is reader else None
    for group in groups:
        if group.kind == "loop" and len(group.roots) > 1:
            inner = [
                root
                for root in group.roots
                if readers.get(root) is group and root not in kept and root.dtype.kind != "c"
            ]
            materialized.difference_update(inner)
            for root in inner:
                del marks.reasons[root]
            group.roots = [root for root in group.roots if root not in inner]


def reduction_signature(node: ir.Node) -> object:
    """Returns a key that is equal for reductions that can share a loop nest."""
    if isinstance(node, ir.Reduce):
        return (node.x.shape, node.dims, node.in_order)
    return node
