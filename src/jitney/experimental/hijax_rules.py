"""Derives rules of user-defined operations from other rules; helpers for batching rules.

An operation that defines `lin` and `linearized` derives its other differentiation rules by

    jvp = hijax.jvp_from_lin
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin

An operation that defines `jvp` derives the others by `linearize_from_jvp` and `vjp_from_jvp`. VJPs
are computed by transposing the linear function of the tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from jitney.api.autodiff.autodiff import linear_transpose
from jitney.core.pytree import pytrees
from jitney.core.types.avals import get_aval
from jitney.primitives import calculus
from jitney.primitives.call.hi_call import VJPHiPrimitive as HiPrim
from jitney.transforms.batch import batch_flat, move_to
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.program.shape_dtype import ShapeDtypeStruct
    from jitney.core.typing import PyTree, Value
    from jitney.primitives.rule_types import BatchDim
    from jitney.transforms.batch import AxisData
    from jitney.transforms.zero import Tangent

T = TypeVar("T")
R = TypeVar("R")

# --- axis specifications --------------------------------------------------------------------------


class MappingSpec:
    """Base class of specifications of which axis of a user-defined type is mapped or scanned."""


# --- derivatives ----------------------------------------------------------------------------------


def _is_zero(x: object) -> bool:
    return isinstance(x, Zero)


def _with_tangents(
    nzs_in: PyTree, primals: PyTree, nonzero_tangents: Sequence[Any]
) -> tuple[Tangent, ...]:
    """Returns tangents of `primals`: those given where `nzs_in` is true, else symbolic zeros."""
    leaves, tree = pytrees.tree_flatten(primals)
    marked = pytrees.broadcast_prefix(nzs_in, primals)
    remaining = iter(nonzero_tangents)
    tangents = [
        next(remaining) if nz else Zero(get_aval(x).to_tangent_aval())
        for nz, x in zip(marked, leaves, strict=True)
    ]
    return pytrees.tree_unflatten(tree, tangents)


def _transposed(
    prim: HiPrim, linear: Callable[..., PyTree], nzs_in: PyTree, primals: PyTree, out_ct: PyTree
) -> object:
    """Applies the transpose of `linear`, a map of tangents, to `out_ct`; returns cotangents."""
    _, tree = pytrees.tree_flatten(primals)
    marked = pytrees.broadcast_prefix(nzs_in, primals)
    avals: list[Any] = [*prim.in_avals_flat]
    tangent_avals = [a.to_tangent_aval() for a, nz in zip(avals, marked, strict=True) if nz]
    out_leaves = pytrees.tree_leaves(out_ct, is_leaf=_is_zero)

    def flat(*nonzero_tangents: Any) -> list[Value]:
        out = linear(*_with_tangents(nzs_in, primals, nonzero_tangents))
        return [instantiate(t) for t in pytrees.tree_leaves(out, is_leaf=_is_zero)]

    nonzero_cts = iter(
        linear_transpose(flat, *map(_abstract, tangent_avals))([*map(instantiate, out_leaves)])
    )
    cts = [
        next(nonzero_cts) if nz else Zero(a.to_cotangent_aval())
        for nz, a in zip(marked, avals, strict=True)
    ]
    return pytrees.tree_unflatten(tree, cts)


def _abstract(aval: Any) -> ShapeDtypeStruct:
    from jitney.core.program.shape_dtype import ShapeDtypeStruct

    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


class LinearizeRules(NamedTuple):
    """The rules `lin` and `linearized` of an operation."""

    lin: Callable[..., Any]
    linearized: Callable[..., Any]


class ReverseRules(NamedTuple):
    """The rules `vjp_fwd` and `vjp_bwd_retval` of an operation."""

    vjp_fwd: Callable[..., Any]
    vjp_bwd_retval: Callable[..., Any]


def jvp_from_lin(self: HiPrim, primals: PyTree, tangents: PyTree) -> tuple[object, object]:
    """Computes the JVP of an operation from its `lin` and `linearized`; to be assigned to `jvp`."""
    nzs_in = pytrees.tree_map(lambda t: not _is_zero(t), tangents, is_leaf=_is_zero)
    out, residuals, *_ = self.lin(nzs_in, *primals)
    return out, self.linearized(residuals, *tangents)


def _lin(self: HiPrim, nzs_in: PyTree, *primals: PyTree) -> tuple[object, tuple[object, ...]]:
    return self(*primals), primals


def _linearized(self: HiPrim, residuals: PyTree, *tangents: PyTree) -> object:
    return self.jvp(residuals, tangents)[1]


linearize_from_jvp = LinearizeRules(_lin, _linearized)
"""The rules `lin` and `linearized`, derived from `jvp`; the residuals are the operands."""


class _Marked:
    """Residuals, with flags for the operands that have nonzero tangents."""

    def __init__(self, nzs_in: PyTree, primals: PyTree, residuals: PyTree) -> None:
        self.nzs_in, self.primals, self.residuals = nzs_in, primals, residuals


pytrees.register_pytree_node(
    _Marked,
    lambda m: ((m.primals, m.residuals), tuple(pytrees.tree_leaves(m.nzs_in))),
    lambda nzs, children: _Marked(_like(nzs, children[0]), *children),
)


def _like(marks: tuple[bool, ...], primals: PyTree) -> object:
    """Returns the flags as a pytree with the structure of `primals`."""
    tree = pytrees.tree_structure(primals)
    return tree.unflatten(marks) if len(marks) == tree.num_leaves else marks


def _vjp_fwd_of_jvp(self: HiPrim, nzs_in: PyTree, *primals: PyTree) -> tuple[object, _Marked]:
    return self(*primals), _Marked(nzs_in, primals, ())


def _vjp_bwd_of_jvp(self: HiPrim, res: _Marked, out_ct: PyTree) -> object:
    def linear(*tangents: PyTree) -> object:
        return self.jvp(res.primals, tangents)[1]

    return _transposed(self, linear, res.nzs_in, res.primals, out_ct)


vjp_from_jvp = ReverseRules(_vjp_fwd_of_jvp, _vjp_bwd_of_jvp)
"""The rules `vjp_fwd` and `vjp_bwd_retval` derived from `jvp`."""


def _vjp_fwd_of_lin(self: HiPrim, nzs_in: PyTree, *primals: PyTree) -> tuple[object, ...]:
    out, residuals, *extra = self.lin(nzs_in, *primals)
    return out, _Marked(nzs_in, primals, residuals), *extra


def _vjp_bwd_of_lin(self: HiPrim, res: _Marked, out_ct: PyTree) -> object:
    def linear(*tangents: PyTree) -> object:
        return self.linearized(res.residuals, *tangents)

    return _transposed(self, linear, res.nzs_in, res.primals, out_ct)


vjp_from_lin = ReverseRules(_vjp_fwd_of_lin, _vjp_bwd_of_lin)
"""The rules `vjp_fwd` and `vjp_bwd_retval` derived from `lin` and `linearized`."""


# --- batching -------------------------------------------------------------------------------------


def _dims_like(trees: PyTree, dims: PyTree) -> list[BatchDim]:
    return pytrees.broadcast_prefix(dims, trees, is_leaf=lambda d: d is None or _is_zero(d))


def bdims_at_front(axis_data: AxisData, args: T, dims: PyTree) -> T:
    """Returns `args` with batch dimension 0; values that are not mapped are broadcast."""
    leaves, tree = pytrees.tree_flatten(args)
    moved = [
        move_to(x, d, 0, axis_data.size, axis_data.along)
        for x, d in zip(leaves, _dims_like(args, dims), strict=True)
    ]
    return pytrees.tree_unflatten(tree, moved)


def unmap_avals(axis_data: AxisData, avals: T, dims: PyTree) -> T:
    """Returns `avals` with the mapped axis inserted at `dims`; types whose dim is None are kept."""
    leaves, tree = pytrees.tree_flatten(avals)
    out: list[Any] = []
    for aval, d in zip(leaves, _dims_like(avals, dims), strict=True):
        out.append(aval if d is None else aval.inc_rank(axis_data.size, d))
    return pytrees.tree_unflatten(tree, out)


def vmap_rule(
    axis_data: AxisData,
    f: Callable[..., R],
    in_axes: PyTree,
    out_axes: PyTree,
    *,
    sum_match: bool = False,
) -> Callable[..., R]:
    """Returns `f` mapped over the axis of a batching rule.

    Args:
      axis_data: size and name of the mapped axis.
      f: a function of pytrees of arrays.
      in_axes: batch dimension of each argument; None if it is not mapped.
      out_axes: batch dimension of each result; None if it is not mapped.
      sum_match: whether to sum mapped results over the axis if their entry in `out_axes` is None,
        instead of raising an error.
    """

    def batched(*args: PyTree) -> R:
        leaves, tree = pytrees.tree_flatten(args, is_leaf=_is_zero)
        dims = _dims_like(args, in_axes)
        zeros = [_is_zero(x) for x in leaves]
        out_trees: list[Any] = []

        def flat(*values: Any) -> list[Tangent]:
            nonzeros = iter(values)
            operands = [
                _one_of(x, d, axis_data) if z else next(nonzeros)
                for x, d, z in zip(leaves, dims, zeros, strict=True)
            ]
            out = f(*pytrees.tree_unflatten(tree, operands))
            outs, out_tree = pytrees.tree_flatten(out, is_leaf=_is_zero)
            out_trees[:] = [out_tree]
            return outs

        values = [x for x, z in zip(leaves, zeros, strict=True) if not z]
        at = [d for d, z in zip(dims, zeros, strict=True) if not z]
        outs, out_dims = batch_flat(flat, axis_data, values, at)
        destinations = _dims_like(pytrees.tree_unflatten(out_trees[0], outs), out_axes)
        placed = [
            _placed(x, d, w, axis_data, sum_match)
            for x, d, w in zip(outs, out_dims, destinations, strict=True)
        ]
        return pytrees.tree_unflatten(out_trees[0], placed)

    return batched


def _one_of(zero: Zero, dim: int | None, axis_data: AxisData) -> Zero:
    """Returns the symbolic zero of a single example of a batch."""
    aval: Any = zero.aval
    return zero if dim is None else Zero(aval.dec_rank(axis_data.size, dim))


def _placed(x: Any, dim: int | None, dest: int | None, axis_data: AxisData, sums: bool) -> Tangent:
    """Moves the batch dimension of a result to `dest`, or sums over it if `dest` is None."""
    if isinstance(x, Zero):
        aval: Any = x.aval
        return x if dest is None else Zero(aval.inc_rank(axis_data.size, dest))
    if dest is not None:
        return move_to(x, dim, dest, axis_data.size, axis_data.along)
    if dim is None:
        return x
    if not sums:
        raise ValueError(
            "vmap_rule: a result is mapped, but its entry in out_axes is None; set a batch "
            "dimension, or sum_match=True"
        )
    return calculus.reduce_sum(x, axes=(dim,))
