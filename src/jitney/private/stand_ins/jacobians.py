"""`jax._src.api`: components from which packages build variants of `jacfwd` and `jacrev`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.api.autodiff import autodiff, gradient, jacobian

if TYPE_CHECKING:
    from jitney.core.typing import Array, PyTree

check_input_dtype_jacfwd = functools.partial(jacobian.check_input, "jacfwd")
check_input_dtype_jacrev = functools.partial(gradient.check_input_dtype, "jacrev")
check_output_dtype_jacrev = functools.partial(gradient.check_output_dtype, "jacrev")
check_input_dtype_grad = functools.partial(gradient.check_input_dtype, "grad")
check_output_dtype_grad = functools.partial(gradient.check_output_dtype, "grad")


def check_output_dtype_jacfwd(holomorphic: bool, x: PyTree) -> None:
    """Raises TypeError if `holomorphic` is set and a result like `x` is not complex."""
    if holomorphic:
        gradient.check_output_dtype("jacfwd", True, x)


def std_basis(pytree: PyTree) -> object:
    """Returns the standard basis: entry i is 1 at flat position i, and 0 elsewhere.

    The result has the structure of `pytree`. Its leaves have a new leading axis, whose size is the
    total number of elements.
    """
    return jacobian.standard_basis(pytree, of_tangents=True)


def jacfwd_unravel(input_pytree: PyTree, output_pytree_leaf: object, arr: Array) -> object:
    """Splits the last axis of `arr` into leaves of the shapes in `input_pytree`."""
    return jacobian.divided(input_pytree, -1, arr)


def jacrev_unravel(output_pytree: PyTree, input_pytree_leaf: object, arr: Array) -> object:
    """Splits the first axis of `arr` into leaves of the shapes in `output_pytree`."""
    return jacobian.divided(output_pytree, 0, arr)


def jvp(
    fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False
) -> tuple[object, ...]:
    """Computes `jax.jvp` of a function, which can be wrapped by `linear_util.wrap_init`."""
    return autodiff.jvp(_callable(fun), primals, tangents, has_aux=has_aux)


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[object, ...]:
    """Computes `jax.vjp` of a function, which can be wrapped by `linear_util.wrap_init`."""
    return autodiff.vjp(_callable(fun), *primals, has_aux=has_aux)


def _callable(fun: Any) -> Callable[..., Any]:
    return getattr(fun, "call_wrapped", fun)
