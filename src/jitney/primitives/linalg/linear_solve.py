"""`custom_linear_solve`: solutions of linear systems, with implicit differentiation.

The derivative of x = A^-1 b is A^-1 (db - dA x), whose transpose solves a system with A^T. Both use
the user's solvers, which may be arbitrary functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from jitney.compiler import lower as lowering
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.primitives import calculus, rules
from jitney.primitives.call.call import with_weakness
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.batch import AxisData, batch_jaxpr
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.transpose import UndefinedPrimal, backward_pass
from jitney.transforms.zero import Zero, add_tangents, instantiate

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import PyTree
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

T = TypeVar("T")


class _LinearSolveTuple(NamedTuple):
    """A tuple with one item for each function of a linear solve, such as its traced program.

    Attributes:
      matvec: the item of the linear function.
      vecmat: the item of the transpose of `matvec`.
      solve: the item of the solver.
      transpose_solve: the item of the solver for the transposed system.
    """

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> _LinearSolveTuple:
        return _LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


linear_solve_p = declare("custom_linear_solve", multiple_results=True)
linear_solve_p.declares_sharding = True


@linear_solve_p.abstract
def _linear_solve_abstract(
    *avals: AbstractValue, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
) -> list[AbstractValue]:
    of_b = avals[sum(const_lengths) :]
    outs = jaxprs.solve.out_avals  # the solution has the same weak types as the right-hand side
    weak = [isinstance(a, ShapedArray) and a.weak_type for a in of_b]
    return [*with_weakness(outs[: len(of_b)], weak), *outs[len(of_b) :]]


def _split(args: Sequence[T], lengths: _LinearSolveTuple) -> tuple[_LinearSolveTuple, list[T]]:
    """Splits operands into the constants of each function and the right-hand side."""
    parts: list[list[Any]] = []
    start = 0
    for n in lengths:
        parts.append(list(args[start : start + n]))
        start += n
    return _LinearSolveTuple(*parts), list(args[start:])


@linear_solve_p.lower
def _linear_solve_lower(
    b: Builder, *nodes: Node, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
) -> list[Node]:
    consts, rhs = _split(nodes, const_lengths)
    return lowering.inline(b, jaxprs.solve, [*consts.solve, *rhs])


linear_solve_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)


@linear_solve_p.jvp
def _linear_solve_jvp(
    primals: Primals,
    tangents: Tangents,
    *,
    const_lengths: _LinearSolveTuple,
    jaxprs: _LinearSolveTuple,
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    params = {"const_lengths": const_lengths, "jaxprs": jaxprs}
    n_consts = sum(const_lengths)
    x = linear_solve_p.bind(*primals, **params)
    consts, _ = _split(primals, const_lengths)
    dconsts, db = _split(tangents, const_lengths)
    n_x = len(db)  # the tangents of auxiliary results of the solver are zero
    if any(not isinstance(t, Zero) for t in dconsts.matvec):
        matvec: ClosedJaxpr = jaxprs.matvec
        zeros = [Zero(get_aval(v).to_tangent_aval()) for v in x[:n_x]]
        _, dax = jvp_flat(
            lambda *xs: eval_jaxpr(matvec.jaxpr, matvec.consts, *xs),
            [*consts.matvec, *x[:n_x]],
            [*dconsts.matvec, *zeros],
        )
        db = [
            t if isinstance(d, Zero) else add_tangents(t, calculus.neg(d))
            for t, d in zip(db, dax, strict=True)
        ]
    if all(isinstance(t, Zero) for t in db):
        return x, [Zero(get_aval(v).to_tangent_aval()) for v in x]
    dx = linear_solve_p.bind(*primals[:n_consts], *[instantiate(t) for t in db], **params)
    aux_tangents = [Zero(get_aval(v).to_tangent_aval()) for v in x[n_x:]]
    return x, [*dx[:n_x], *aux_tangents]


@linear_solve_p.transpose
def _linear_solve_transpose(
    cts: Sequence[Cotangent],
    *args: Operand,
    const_lengths: _LinearSolveTuple,
    jaxprs: _LinearSolveTuple,
) -> Sequence[Cotangent | None]:
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "custom_linear_solve: the reverse-mode derivative solves the transposed system, which "
            "requires a function `transpose_solve`"
        )
    consts, b = _split(args, const_lengths)
    n = sum(const_lengths)
    flat = [c for part in consts.transposed() for c in part]
    if any(type(c) is UndefinedPrimal for c in flat):
        raise TypeError("custom_linear_solve is linear in its right-hand side only")
    if all(type(ct) is Zero for ct in cts[: len(b)]):
        return [None] * n + [Zero(rules.aval_of(x).to_cotangent_aval()) for x in b]
    instantiated = [instantiate(ct) for ct in cts[: len(b)]]
    out = linear_solve_p.bind(
        *flat, *instantiated, const_lengths=const_lengths.transposed(), jaxprs=jaxprs.transposed()
    )
    return [None] * n + list(out[: len(b)])


@linear_solve_p.batch_with_axis
def _linear_solve_batch_with_axis(
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    const_lengths: _LinearSolveTuple,
    jaxprs: _LinearSolveTuple,
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    const_dims, b_dims = _split(dims, const_lengths)
    n_b = len(b_dims)
    batched = _LinearSolveTuple(*([d is not None for d in part] for part in const_dims))
    b_batched = [d is not None for d in b_dims]
    n_out = len(jaxprs.solve.out_avals)
    x_batched = list(b_batched)
    while True:  # b = A x is batched if x is, and vice versa: iterate to a fixpoint
        wider = list(x_batched)
        for jaxpr, flags in zip(jaxprs, batched, strict=True):
            if jaxpr is not None:
                _, batched_out = batch_jaxpr(jaxpr, axis_data, (*flags, *x_batched), False)
                wider = [a or b for a, b in zip(wider, batched_out[:n_b], strict=True)]
        if wider == x_batched:
            break
        x_batched = wider
    x_flags = tuple(x_batched)

    def of(jaxpr: ClosedJaxpr | None, flags: list[bool]) -> ClosedJaxpr | None:
        if jaxpr is None:
            return None
        extra = len(jaxpr.out_avals) - n_b
        wanted = x_flags + (False,) * extra
        return batch_jaxpr(jaxpr, axis_data, (*flags, *x_flags), wanted)[0]

    programs = _LinearSolveTuple(*(of(j, f) for j, f in zip(jaxprs, batched, strict=True)))
    _, out_batched = batch_jaxpr(
        jaxprs.solve, axis_data, (*batched.solve, *x_flags), x_flags + (False,) * (n_out - n_b)
    )
    moved = [
        x if d is None else rules.move_axis(x, d, 0)
        for x, d in zip(args[: -n_b or None], dims[: -n_b or None], strict=True)
    ]
    rhs = [
        rules.to_front(x, d, axis_data.size) if m else x
        for x, d, m in zip(args[-n_b:], b_dims, x_flags, strict=True)
    ]
    outs = linear_solve_p.bind(*moved, *rhs, const_lengths=const_lengths, jaxprs=programs)
    return outs, [0 if m else None for m in out_batched]


# --- the public function ----------------------------------------------------------------------------


def _traced(
    name: str,
    fun: Callable[[PyTree], PyTree],
    tree: pytrees.PyTreeDef,
    avals: Sequence[Any],
    has_aux: bool = False,
) -> tuple[ClosedJaxpr, list[Value], PyTreeDef]:
    """Traces a function of a pytree like `b`.

    Returns: a tuple (program that maps constants and operands to results, values of the constants,
      structure of aux).
    """

    def with_aux(x: PyTree) -> tuple[PyTree, PyTree]:
        out = fun(x)
        if not has_aux:
            return out, None
        pair: tuple[PyTree, ...] | None = out
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"custom_linear_solve: `{name}` must return a pair (solution, aux), got {out!r}"
            )
        return pair

    flat = FlatFunction(with_aux, pytrees.treedef_tuple((tree,)))
    info = DebugInfo(f"custom_linear_solve {name}", name)
    jaxpr, out_avals, consts = trace_to_jaxpr(flat, avals, info)
    out_tree, aux_tree = flat.out_tree.children()
    if out_tree != tree:
        raise TypeError(
            f"custom_linear_solve: `{name}` must return a pytree with the structure of `b`, {tree}, "
            f"but returns one with structure {out_tree}"
        )
    shapes = [a.shape for a in out_avals[: out_tree.num_leaves]]
    wanted = [a.shape for a in avals]
    if shapes != wanted:
        raise ValueError(
            f"custom_linear_solve: `{name}` must return the shapes of `b`, {wanted}, but "
            f"returns {shapes}"
        )
    whole = jaxpr.replace(
        constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars],
        debug_info=jaxpr.debug_info._replace(arg_names=None),
    )  # fmt: skip
    return ClosedJaxpr(whole, []), list(consts), aux_tree


@api_boundary
def custom_linear_solve(
    matvec: Callable[[PyTree], PyTree],
    b: PyTree,
    solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    transpose_solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree:
    """Solves matvec(x) = b with the function `solve`; derivatives are implicit.

    Args:
      matvec: a linear function from pytrees like `b` to pytrees like `b`. Derivatives with respect
        to values over which it closes are supported.
      b: the right-hand side, a pytree of arrays.
      solve: the solver, a function (matvec, b) -> x.
      transpose_solve: the solver for the transposed system, a function (transpose of matvec, b) ->
        x. It is required for reverse mode, unless `symmetric` is true.
      symmetric: whether `matvec` is its own transpose, so that `solve` can also solve the
        transposed system.
      has_aux: whether the solvers return pairs (x, auxiliary data).

    Returns: x, or (x, auxiliary data) if `has_aux`. The derivative of auxiliary data is zero.

    Raises:
      TypeError: if a function returns a structure other than that of `b`.
      ValueError: if a function returns shapes other than those of `b`.

    Example:
      >>> def scaled(a):
      ...     divide = lambda matvec, b: b / a
      ...     return lax.custom_linear_solve(lambda x: a * x, 6.0, divide, divide)
      >>> quotient, derivative = jax.value_and_grad(scaled)(2.0)
      >>> float(quotient), float(derivative)
      (3.0, -1.5)
    """
    leaves, tree = pytrees.tree_flatten(b)
    values = [as_value(x) for x in leaves]
    avals = [get_aval(x) for x in values]
    matvec_jaxpr, matvec_consts, _ = _traced("matvec", matvec, tree, avals)
    solve_jaxpr, solve_consts, aux_tree = _traced(
        "solve", lambda x: solve(matvec, x), tree, avals, has_aux
    )
    vecmat_jaxpr, vecmat_consts = (matvec_jaxpr, matvec_consts) if symmetric else (None, [])
    back_jaxpr, back_consts = (solve_jaxpr, solve_consts) if symmetric else (None, [])
    if transpose_solve is not None and not symmetric:

        def vecmat(x: object) -> object:
            cts = pytrees.tree_leaves(x)
            operands = [*matvec_consts, *(UndefinedPrimal(a) for a in avals)]
            outs = backward_pass(matvec_jaxpr.jaxpr, [], operands, cts)
            return pytrees.tree_unflatten(
                tree, [instantiate(t) for t in outs[len(matvec_consts) :]]
            )

        vecmat_jaxpr, vecmat_consts, _ = _traced("vecmat", vecmat, tree, avals)
        back_jaxpr, back_consts, _ = _traced(
            "transpose_solve", lambda x: transpose_solve(vecmat, x), tree, avals, has_aux
        )
    consts = (matvec_consts, vecmat_consts, solve_consts, back_consts)
    outs = linear_solve_p.bind(
        *(c for part in consts for c in part),
        *values,
        const_lengths=_LinearSolveTuple(*(len(part) for part in consts)),
        jaxprs=_LinearSolveTuple(matvec_jaxpr, vecmat_jaxpr, solve_jaxpr, back_jaxpr),
    )
    x = pytrees.tree_unflatten(tree, outs[: len(avals)])
    return (x, pytrees.tree_unflatten(aux_tree, outs[len(avals) :])) if has_aux else x
