"""`jax._src.api`: the parts that packages build their own `jacfwd` and `jacrev` of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.api import autodiff, gradient, jacobian

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


def std_basis(pytree: PyTree) -> Any:
    """Returns a pytree of the same structure whose entry i has a 1 at flat position i, and 0 elsewhere.

    Leaves have a leading axis, as long as all leaves together have elements.
    """
    return jacobian.standard_basis(pytree, of_tangents=True)


def jacfwd_unravel(input_pytree: PyTree, output_pytree_leaf: object, arr: Array) -> Any:
    """Returns the last axis of `arr` cut into leaves of the shapes of `input_pytree`'s."""
    return jacobian.divided(input_pytree, -1, arr)


def jacrev_unravel(output_pytree: PyTree, input_pytree_leaf: object, arr: Array) -> Any:
    """Returns the first axis of `arr` cut into leaves of the shapes of `output_pytree`'s."""
    return jacobian.divided(output_pytree, 0, arr)


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Returns `jax.jvp` of a function, which may be wrapped by `linear_util.wrap_init`."""
    return autodiff.jvp(_callable(fun), primals, tangents, has_aux=has_aux)


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Returns `jax.vjp` of a function, which may be wrapped by `linear_util.wrap_init`."""
    return autodiff.vjp(_callable(fun), *primals, has_aux=has_aux)


def _callable(fun: Any) -> Callable[..., Any]:
    return getattr(fun, "call_wrapped", fun)
