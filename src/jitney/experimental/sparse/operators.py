"""Operators and methods of sparse arrays: functions of `jax.numpy` transformed by `sparsify`.

They are added to the classes here and not in their definitions, since the functions in turn depend
on the classes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney import numpy as jnp
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.dot import bcoo_dot_general
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.bcsr import BCSR, bcsr_dot_general
from jitney.experimental.sparse.transform import sparsify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn

    from jitney.core.typing import Array, ArrayLike, DTypeLike, Index
    from jitney.primitives.rule_types import Param

_BINARY = {
    "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "truediv": jnp.true_divide,
    "pow": jnp.power, "mod": jnp.remainder, "floordiv": jnp.floor_divide,
}  # fmt: skip
_COMPARISONS = {
    "eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal,
    "gt": jnp.greater, "ge": jnp.greater_equal,
}  # fmt: skip
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": jnp.negative,
    "pos": jnp.positive,
    "abs": jnp.abs,
}


def _refused(name: str) -> Callable[..., NoReturn]:
    """Returns an operator `name` that raises, for formats that do not support it."""

    def method(self: JAXSparse, *_: Any) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__} does not support {name}; convert the array to BCOO, for example "
            "by BCOO.fromdense(x.todense())"
        )

    return method


def _unary(fun: Callable[..., Any]) -> Callable[..., JAXSparse | Array]:
    return lambda self: sparsify(fun)(self)


def _binary(fun: Callable[..., Any]) -> Callable[..., JAXSparse | Array]:
    return lambda self, other: sparsify(fun)(self, other)


def _reflected(fun: Callable[..., Any]) -> Callable[..., JAXSparse | Array]:
    return lambda self, other: sparsify(fun)(other, self)


def _integer_power(self: BCOO, other: JAXSparse | ArrayLike) -> JAXSparse | Array:
    if isinstance(other, int):
        return sparsify(lambda x: x**other)(self)
    return sparsify(jnp.power)(self, other)


_MATRIX = (((1,), (0,)), ((), ()))
_VECTOR = (((0,), (0,)), ((), ()))


def _matmul(x: JAXSparse | ArrayLike, y: JAXSparse | ArrayLike) -> JAXSparse | Array:
    """Computes `jnp.matmul` with sparse operands.

    Products of vectors and matrices are computed directly, without tracing.
    """
    if not isinstance(x, JAXSparse):
        x = jnp.asarray(x)
    if not isinstance(y, JAXSparse):
        y = jnp.asarray(y)
    if 1 <= x.ndim <= 2 and 1 <= y.ndim <= 2 and x.shape[-1] == y.shape[0]:
        numbers = _MATRIX if x.ndim == 2 else _VECTOR
        product: Any = bcsr_dot_general if isinstance(x, BCSR) else bcoo_dot_general
        if not isinstance(y, BCSR):
            return product(
                x,
                y,
                dimension_numbers=numbers,
                preferred_element_type=jnp.result_type(x.dtype, y.dtype),
            )
    return sparsify(jnp.matmul)(x, y)


def _reflected_matmul(self: JAXSparse, other: ArrayLike) -> JAXSparse | Array:
    return _matmul(other, self)


def _getitem(self: JAXSparse, index: Index) -> JAXSparse | Array:
    """Computes `self[index]` for indices that `bcoo_slice` or `bcoo_gather` supports."""
    return sparsify(lambda x: x[index])(self)


def _iter(self: JAXSparse) -> Iterator[JAXSparse | Array]:
    if not self.ndim:
        raise TypeError(
            f"{type(self).__name__} of shape () has no axis to iterate over; use .todense() to read "
            "its value"
        )
    return (_getitem(self, k) for k in range(self.shape[0]))


def _sum(self: BCOO, *args: Param, **kwargs: Param) -> JAXSparse | Array:
    """Computes `jnp.sum`; the result is sparse unless all axes are summed."""
    return sparsify(lambda x: jnp.sum(x, *args, **kwargs))(self)


def _reshape(self: BCOO, *args: Param, **kwargs: Param) -> JAXSparse | Array:
    """Computes `jnp.reshape` by `bcoo_reshape`, which cannot mix axes of different kinds."""
    shape: Sequence[int] = args[0] if len(args) == 1 and not hasattr(args[0], "__index__") else args
    return sparsify(lambda x: jnp.reshape(x, tuple(map(operator.index, shape)), **kwargs))(self)


def _astype(self: BCOO, dtype: DTypeLike) -> BCOO:
    """Converts the elements to another dtype."""
    return sparsify(lambda x: x.astype(dtype))(self)


_METHODS = {"__pow__": _integer_power, "sum": _sum, "reshape": _reshape, "astype": _astype}
_SHARED = {
    "__matmul__": _matmul, "__rmatmul__": _reflected_matmul, "__getitem__": _getitem, "__iter__": _iter,
}  # fmt: skip


def _install() -> None:
    for name, fun in _UNARY.items():
        setattr(BCOO, f"__{name}__", _unary(fun))
    for name, fun in _BINARY.items():
        setattr(BCOO, f"__{name}__", _binary(fun))
        setattr(BCOO, f"__r{name}__", _reflected(fun))
    for name, fun in _COMPARISONS.items():
        setattr(BCOO, f"__{name}__", _binary(fun))
    for name, method in _METHODS.items():
        setattr(BCOO, name, method)
    for kind in (BCOO, BCSR):
        for name, method in _SHARED.items():
            setattr(kind, name, method)
    dunders = (*_UNARY, *_BINARY, *(f"r{name}" for name in _BINARY), "matmul", "rmatmul", "getitem")
    for name in (*(f"__{name}__" for name in dunders), "sum"):
        setattr(JAXSparse, name, _refused(name))


_install()
