"""`custom_root`: root finding with implicit differentiation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.api.autodiff.autodiff import jvp, linearize
from jitney.api.autodiff.custom_gradient import closure_convert
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.tracing.trace import state
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.linalg.linear_solve import custom_linear_solve
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import PyTree, Value

R = TypeVar("R")


@api_boundary
def custom_root(
    f: Callable[[PyTree], PyTree],
    initial_guess: PyTree,
    solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    tangent_solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    has_aux: bool = False,
) -> PyTree:
    """Finds a root of `f` with `solve`; derivatives are computed by implicit differentiation.

    Args:
      f: a function that takes and returns pytrees like `initial_guess`. The root is differentiable
        with respect to the values over which `f` closes.
      initial_guess: a pytree of arrays.
      solve: the solver: (f, initial_guess) -> root.
      tangent_solve: the linear solver used for derivatives: (linear function g, y) -> x with g(x) =
        y.
      has_aux: whether `solve` returns (root, auxiliary data).

    Returns: the root, or (root, auxiliary data) with `has_aux`.

    Raises:
      TypeError: if the structures of guess, root and residual do not match.

    Example:
      >>> def square_root(a):
      ...     def newton(f, guess):
      ...         return lax.fori_loop(0, 10, lambda _, x: x - f(x) / jax.grad(f)(x), guess)
      ...     return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
      >>> root, slope = jax.value_and_grad(square_root)(4.0)
      >>> root.item(), slope.item()
      (2.0, 0.25)
    """
    guess = pytrees.tree_map(as_value, initial_guess)
    tree = pytrees.tree_structure(guess)
    converted, consts = closure_convert(_checking(f, tree), guess)

    def solution(at: PyTree, *values: PyTree) -> tuple[object, object]:
        out = solve(_closed(converted, values), at)
        if has_aux:
            root, aux = out
            return _checked("solve", root, tree), aux
        return _checked("solve", out, tree), ()

    def linear_solution(root: PyTree, y: PyTree, *values: PyTree) -> object:
        return tangent_solve(linearize(_closed(converted, values), root)[1], y)

    # Values over which the solvers close become operands, too. Their tangents are ignored, as the
    # root does not depend on them.
    closed_solution: Callable[..., Any] = solution
    search_values: Sequence[PyTree] = ()
    linear, linear_values = linear_solution, search_values
    if state.trace is not state.eval_trace:
        closed_solution, search_values = closure_convert(solution, guess, *consts)
        linear, linear_values = closure_convert(linear_solution, guess, guess, *consts)

    @custom_jvp
    def _custom_root(at: PyTree, others: Any, *values: PyTree) -> tuple[object, object]:
        return closed_solution(at, *values, *others[0])

    def _root_jvp(
        primals: Sequence[PyTree], tangents: Sequence[PyTree]
    ) -> tuple[tuple[object, object], tuple[object, object]]:
        at, others, *values = primals
        root, aux = _custom_root(at, others, *values)
        _, slope = linearize(_closed(converted, values), root)
        if values:
            _, direct = jvp(lambda *vs: converted(root, *vs), tuple(values), tuple(tangents[2:]))
            minus = pytrees.tree_map(operator.neg, direct)
            if linear_values:
                droot = linear(root, minus, *values, *others[1])
            else:
                droot = custom_linear_solve(slope, minus, tangent_solve, tangent_solve)
        else:
            droot = pytrees.tree_map(_no_tangent, root)
        return (root, aux), (droot, pytrees.tree_map(_no_tangent, aux))

    _custom_root.defjvp(_root_jvp)
    root, aux = _custom_root(guess, (search_values, linear_values), *consts)
    return (root, aux) if has_aux else root


def _closed(f: Callable[..., R], values: Sequence[PyTree]) -> Callable[[object], R]:
    """Returns `f` as a function of its first argument, with `values` as the other arguments."""

    def of_first(x: PyTree) -> R:
        return f(x, *values)

    return of_first


def _checking(f: Callable[[PyTree], PyTree], tree: PyTreeDef) -> Callable[[object], object]:
    """Returns `f`, wrapped to check the structure of its results."""

    def checked(x: PyTree) -> object:
        return _checked("f", f(x), tree)

    return checked


def _checked(name: str, x: PyTree, tree: PyTreeDef) -> object:
    """Returns `x`, a result of the function `name`, after checking its structure.

    Raises:
      TypeError: if its structure is not `tree`, that of the initial guess.
    """
    structure = pytrees.tree_structure(x)
    if structure != tree:
        raise TypeError(
            f"custom_root: {name} must return a pytree with the structure of initial_guess, {tree}, "
            f"but returned one with structure {structure}"
        )
    return x


def _no_tangent(x: PyTree) -> Value:
    return Zero.from_primal_value(x).instantiate()
