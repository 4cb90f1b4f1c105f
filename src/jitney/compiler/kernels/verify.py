"""Checks that a kernel is well formed; the constraints are listed in `kernels.ir`."""

from __future__ import annotations

from jitney.compiler.kernels import ir


class KernelError(AssertionError):
    """A kernel violates a constraint; the message starts with its identifier."""


def verify(kernel: ir.Kernel) -> None:
    """Raises KernelError at the first violation."""
    rank = len(kernel.extents)

    def need(holds: bool, what: str) -> None:
        if not holds:
            raise KernelError(what)

    def check(index: ir.Affine, limit: int) -> None:
        need(len(index.coefficients) == rank, f"K2: {index} has not {rank} coefficients")
        for statement, _ in index.terms:
            need(statement < limit, f"K1: term {statement} is not an earlier statement")
            need(kernel.body[statement].dtype.kind in "iu", f"K5: term {statement} is no integer")

    for i, s in enumerate(kernel.body):
        match s:
            case ir.Position() | ir.Load():
                check(s.index, i)
            case ir.Call():
                need(all(a < i for a in s.args), f"K1: statement {i} refers to a later one")
            case ir.Number():
                pass
    fixed = ir.invariants(kernel)
    kinds = {type(o) for o in kernel.outputs}
    need(len(kinds) == 1, "K4: a kernel has stores or folds, not both, and at least one")
    need(ir.Fold in kinds or not kernel.reduced, "K4: a kernel of stores has no reduced axes")
    for o in kernel.outputs:
        check(o.index, len(kernel.body))
        need(all(fixed[t] for t, _ in o.index.terms), "K3: a term of an output varies")
        tail = o.index.coefficients[rank - kernel.reduced :]
        need(not any(tail), "K3: a fold's index is constant along reduced axes")
