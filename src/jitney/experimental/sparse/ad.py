"""`jax.experimental.sparse.ad`: derivatives with respect to the stored elements of sparse arrays.

The derivative with respect to a sparse array is a sparse array with the same indices, since
elements that are not stored are constants. Its storage is proportional to the number of stored
elements, not to the size of the dense array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney import numpy as jnp
from jitney.api.autodiff import gradient, jacobian as jacobians
from jitney.api.autodiff.gradient import argnums_partial, checked_argnums
from jitney.core.pytree import pytrees
from jitney.core.util.lazy import listing, refusing
from jitney.core.util.wraps import wraps
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.matrix import BCOO

if TYPE_CHECKING:
    from jitney.core.typing import Array, PyTree
    from jitney.primitives.rule_types import Param

_R = TypeVar("_R")

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


def is_sparse(x: object) -> bool:
    """Returns whether `x` is a sparse array."""
    return isinstance(x, JAXSparse)


def _with_data(like: JAXSparse, data: Array) -> JAXSparse:
    """Returns a sparse array with the indices of `like` and other data."""
    arrays, description = like.tree_flatten()
    return type(like).tree_unflatten(description, (data, *arrays[1:]))


def _derivative(like: JAXSparse | Array, data: Array) -> JAXSparse | Array:
    """Returns a derivative with respect to `like`, whose elements are `data`.

    The axes of the differentiated result precede the axes of `like`. If `like` is sparse, the
    derivative is a sparse array, in which the axes of the differentiated result are batch axes.
    """
    if not isinstance(like, JAXSparse):
        return data
    outer = data.shape[: data.ndim - like.data.ndim]
    if not outer:
        return _with_data(like, data)
    if not isinstance(like, BCOO):
        raise NotImplementedError(
            f"Jacobians with respect to {type(like).__name__} arrays are not supported, because "
            "they need batch axes; use BCOO"
        )
    indices = jnp.broadcast_to(like.indices, (*outer, *like.indices.shape))
    return BCOO((data, indices), shape=(*outer, *like.shape))


def _split(
    tree: PyTree,
) -> tuple[tuple[object, ...], Callable[..., tuple[object, ...]], list[JAXSparse | Array]]:
    """Returns (data of the leaves of a pytree, function that maps data to the pytree, leaves)."""
    leaves, structure = pytrees.tree_flatten(tree, is_leaf=is_sparse)
    elements = [x.data if isinstance(x, JAXSparse) else x for x in leaves]

    def merged(parts: PyTree) -> tuple[object, ...]:
        values = pytrees.tree_leaves(parts)
        new_leaves = [
            _with_data(x, part) if isinstance(x, JAXSparse) else part
            for x, part in zip(leaves, values, strict=True)
        ]
        return pytrees.tree_unflatten(structure, new_leaves)

    return pytrees.tree_unflatten(structure, elements), merged, leaves


def flatten_fun_for_sparse_ad(
    fun: Callable[..., _R], argnums: int | Sequence[int], args: Sequence[PyTree]
) -> tuple[Callable[..., _R], tuple[object, ...], Callable[..., object]]:
    """Expresses a function of sparse arrays as a function of their data.

    Args:
      fun: a function of pytrees of dense and sparse arrays.
      argnums: positions of the arguments with respect to which `fun` is differentiated.
      args: all positional arguments.

    Returns: (function of the data; data of the arguments; function that maps derivatives with
      respect to the data to derivatives with respect to the arguments).
    """
    chosen = checked_argnums(argnums)
    partial, operands = argnums_partial(fun, chosen, args, {})
    elements, merged, leaves = _split(operands)

    def of_elements(*parts: PyTree) -> _R:
        return partial(*merged(parts))

    def restored(derivatives: PyTree) -> object:
        """Converts derivatives with respect to data to derivatives with respect to arguments."""
        flat_derivatives, structure = pytrees.tree_flatten(derivatives)
        out = [_derivative(x, d) for x, d in zip(leaves, flat_derivatives, strict=True)]
        result = pytrees.tree_unflatten(structure, out)
        return result[0] if isinstance(chosen, int) else result

    return of_elements, elements, restored


def value_and_grad(
    fun: Callable[..., _R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Param,
) -> Callable[..., tuple[_R, PyTree]]:
    """Returns a function that computes the value of `fun` and its gradients; see `grad`.

    Args: as for `jax.value_and_grad`; the arguments of `fun` can be sparse arrays.
    """

    @wraps(fun)
    def of_args(*args: PyTree, **kwds: PyTree) -> tuple[_R, object]:
        called = functools.partial(fun, **kwds) if kwds else fun
        of_elements, elements, restored = flatten_fun_for_sparse_ad(called, argnums, args)
        numbers = tuple(range(len(elements)))
        derived = gradient.value_and_grad(of_elements, numbers, has_aux=has_aux, **kwargs)
        value, gradients = derived(*elements)
        return value, restored(gradients)

    return of_args


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Param,
) -> Callable[..., Any]:
    """Returns a function that computes the gradients of `fun`.

    The gradient with respect to a sparse array is a sparse array with the same indices.

    Args: as for `jax.grad`; the arguments of `fun` can be sparse arrays.

    Example:
      >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.grad(lambda M: jnp.sum((M @ jnp.ones(2)) ** 2))(M).todense()
      Array([[0., 4.],
             [6., 0.]], dtype=float32)
    """
    derived = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun)
    def of_args(*args: PyTree, **kwds: PyTree) -> object:
        value, gradients = derived(*args, **kwds)
        return (gradients, value[1]) if has_aux else gradients

    return of_args


def _jacobian(
    transformation: Callable[..., Any],
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    kwargs: dict[str, Any],
) -> Callable[..., object]:
    @wraps(fun)
    def of_args(*args: PyTree, **kwds: PyTree) -> object:
        called = functools.partial(fun, **kwds) if kwds else fun
        of_elements, elements, restored = flatten_fun_for_sparse_ad(called, argnums, args)
        structure: Any = None

        def flat(*parts: PyTree) -> object:
            nonlocal structure
            out = of_elements(*parts)
            out, aux = out if has_aux else (out, None)
            leaves, structure = pytrees.tree_flatten(out)
            if any(map(is_sparse, pytrees.tree_leaves(out, is_leaf=is_sparse))):
                raise NotImplementedError(
                    "Jacobians of functions with sparse results are not supported; convert the "
                    "results with sparse.todense"
                )
            return (leaves, aux) if has_aux else leaves

        numbers = tuple(range(len(elements)))
        derivatives = transformation(flat, numbers, has_aux=has_aux, **kwargs)(*elements)
        derivatives, aux = derivatives if has_aux else (derivatives, None)
        result = pytrees.tree_unflatten(structure, [restored(rows) for rows in derivatives])
        return (result, aux) if has_aux else result

    return of_args


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Param,
) -> Callable[..., Any]:
    """Returns a function that computes Jacobians in forward mode.

    The Jacobian with respect to a BCOO array is a BCOO array whose batch axes are the axes of the
    result.

    Args: as for `jax.jacfwd`; the arguments of `fun` can be sparse arrays.
    """
    return _jacobian(jacobians.jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Param,
) -> Callable[..., Any]:
    """Returns a function that computes the same Jacobians as `jacfwd`, in reverse mode.

    Args: as for `jax.jacrev`; the arguments of `fun` can be sparse arrays.

    Example:
      >>> M = sparse.eye(2)
      >>> sparse.jacrev(lambda M: M @ jnp.array([3.0, 4.0]))(M)
      BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(jacobians.jacrev, fun, argnums, has_aux, kwargs)


jacobian = jacrev
