"""Universal functions as objects: `add.reduce`, `multiply.outer`, `frompyfunc`.

Calling a ufunc calls its function. `reduce` and `accumulate` use the corresponding reduction if
there is one; otherwise they loop over the elements, so the size of the program does not
depend on the number of elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.api.jit.make_jaxpr import eval_shape
from jitney.api.jit.repeated import repeated
from jitney.core.array import Array
from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.typing import ArrayLike, Axis, DTypeLike, Index
from jitney.numpy import (
    arithmetic,
    bitwise,
    comparison,
    cumulative,
    promotion,
    reduction_table,
    reductions,
    unary_math,
)
from jitney.numpy.creation import full
from jitney.numpy.joining import concatenate
from jitney.numpy.manipulation import moveaxis
from jitney.numpy.ranges import arange
from jitney.numpy.vectorization import vectorize
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import reshape
from jitney.primitives.control.fori_loop import fori_loop
from jitney.primitives.control.scan import scan
from jitney.primitives.elementwise.convert import as_value, convert
from jitney.primitives.reduction import reduce as folds

Fold: TypeAlias = "Callable[..., Array]"

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "frompyfunc", "logaddexp", "logaddexp2",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "subtract", "ufunc",
]  # fmt: skip


class ufunc:
    """An elementwise function with methods for reduction, accumulation and updates.

    Args:
      func: a function of `nin` scalars that returns `nout` scalars.
      nin: the number of operands.
      nout: the number of results.
      name: the name of the ufunc; the name of `func` by default.
      nargs: the number of arguments of `func`.
      identity: the identity element of the function, or None.
      call: the function of arrays; by default `func`, vectorized.
      reduce: the reduction (array, axis, keepdims, initial, where) that corresponds to `func`.
      accumulate: the corresponding running reduction (array, axis, dtype).
      at: the name of the corresponding method of `x.at[index]`.
      reduceat: the corresponding reduction of slices (array, indices, axis, dtype).

    Example:
      >>> jnp.add(jnp.array([1, 2]), 10)
      Array([11, 12], dtype=int32)
      >>> jnp.add.reduce(jnp.array([[1, 2], [3, 4]]))
      Array([4, 6], dtype=int32)
      >>> jnp.multiply.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: ArrayLike | None = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: str | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        self._function = func
        self.__name__ = self.__qualname__ = name or getattr(func, "__name__", "ufunc")
        # The name in messages: a ufunc with `call` is one of jnp, others are of `frompyfunc`.
        self._shown = self.__name__ if call is None else f"jnp.{self.__name__}"
        self.__doc__ = func.__doc__
        self._nin = operator.index(nin)
        self._nout = operator.index(nout)
        self._nargs = self._nin if nargs is None else operator.index(nargs)
        self._identity = identity
        self._call = repeated(call) if call is not None else vectorize(func)
        self._reduce = reduce
        self._accumulate = accumulate
        self._at = at
        self._reduceat = reduceat

    @property
    def _func(self) -> Callable[..., object]:
        """The function of scalars, under the name that JAX gives it."""
        return self._function

    @property
    def nin(self) -> int:
        """The number of operands."""
        return self._nin

    @property
    def nout(self) -> int:
        """The number of results."""
        return self._nout

    @property
    def nargs(self) -> int:
        """The number of arguments of the function of scalars."""
        return self._nargs

    @property
    def identity(self) -> ArrayLike | None:
        """The identity element of the function, or None."""
        return self._identity

    def _key(self) -> tuple[object, ...]:
        return (
            self._func, self.__name__, self.nin, self.nout, self.nargs, self.identity,
            self._reduce, self._accumulate, self._at, self._reduceat,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return type(other) is ufunc and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> Any:
        if out is not None:
            raise NotImplementedError(
                f"{self._shown}: `out` must be None, as arrays are immutable; the result is a new "
                "array"
            )
        if where is not None:
            raise NotImplementedError(
                f"{self._shown}: `where` must be None; use jnp.where(condition, result, x)"
            )
        return self._call(*args)

    def _check_binary(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(
                f"{self._shown}.{method}: the function must take two operands, not {self.nin}"
            )
        if self.nout != 1:
            raise ValueError(
                f"{self._shown}.{method}: the function must have one result, not {self.nout}"
            )

    def _result_dtype(self, x: Array, dtype: DTypeLike | None) -> np.dtype:
        """Returns `dtype`, or, if it is None, the dtype of the function of two elements of `x`."""
        if dtype is not None:
            return promotion.dtype_of(np.empty(0, dtype))
        element = ShapeDtypeStruct((), x.dtype)
        return eval_shape(self, element, element).dtype

    # --- folds ------------------------------------------------------------------------------------

    @partial(jit_when_traced, static_argnames=("self", "axis", "dtype", "keepdims"))
    def reduce(
        self,
        a: ArrayLike,
        axis: Axis = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Reduces `a` along `axis` with this ufunc; along all axes if `axis` is None.

        Args:
          a: an array.
          axis: an axis, or None for all. Ufuncs with a built-in reduction, such as `add`, also
            accept a tuple of axes.
          dtype: the dtype of the result.
          out: must be None.
          keepdims: whether reduced axes are kept, with size 1.
          initial: the scalar from which the reduction starts.
          where: a boolean mask; elements where it is False are left out. Requires `initial` or an
            identity element.

        Raises:
          ValueError: if the ufunc does not have two operands and one result, or if the reduction is
            empty and has no initial value.

        Example:
          >>> jnp.subtract.reduce(jnp.array([10, 1, 2]))
          Array(7, dtype=int32)
        """
        promotion.check_arraylike(f"{self._shown}.reduce", a)
        self._check_binary("reduce")
        promotion.check_no_out(f"{self._shown}.reduce", out)
        if where is not None:
            promotion.check_arraylike(f"{self._shown}.reduce", where)
            if self.identity is None and initial is None:
                raise ValueError(
                    f"{self._shown}.reduce: `initial` must be passed with `where`, as the "
                    "function has no identity element for the case of no elements"
                )
            if promotion.dtype_of(where) != np.bool_:
                raise ValueError(
                    f"{self._shown}.reduce: `where` must be boolean, but it is "
                    f"{promotion.dtype_of(where)}"
                )
        x = as_value(a)
        if axis is not None and not isinstance(axis, tuple):
            canonical_axis(axis, x.ndim)
        if self._reduce is not None:
            if dtype is not None:
                x = convert(x, promotion.dtype_of(np.empty(0, dtype)))
            return self._reduce(x, axis=axis, keepdims=keepdims, initial=initial, where=where)
        return self._reduce_axis_by_axis(x, axis, dtype, keepdims, initial, where)

    def _reduce_axis_by_axis(
        self,
        x: Array,
        axis: Axis,
        dtype: DTypeLike | None,
        keepdims: bool,
        initial: ArrayLike | None,
        where: ArrayLike | None,
    ) -> Array:
        from jitney.numpy.selection import where as choose

        dtype = self._result_dtype(x, dtype)
        rank = x.ndim
        if isinstance(axis, tuple):
            raise NotImplementedError(
                f"{self._shown}.reduce: `axis` must be one axis or None, but it is {axis}; "
                "reduce along the axes one by one"
            )
        if axis is None:
            axes: tuple[int, ...] = tuple(range(rank))
            mask = (
                None
                if where is None
                else reshape(promotion.broadcast_arrays(where, x)[0], (x.size,))
            )
            x, axis = reshape(x, (x.size,)), 0
        else:
            axis = canonical_axis(axis, rank)
            axes = (axis,)
            mask = (
                None
                if where is None
                else moveaxis(promotion.broadcast_arrays(where, x)[0], axis, 0)
            )
            x = moveaxis(x, axis, 0)
        initial = self.identity if initial is None else initial
        if initial is None and x.shape[0] == 0:
            raise ValueError(
                f"{self._shown}.reduce: `initial` must be passed if there are no elements, as the "
                f"function has no identity element, but `a` has shape {x.shape}"
            )
        first = 0
        if initial is None:
            out, first = convert(x[0], dtype), 1
        else:
            out = full(x.shape[1:], initial, dtype)

        def step(k: Array, out: Array) -> Array:
            new = convert(self(out, x[k]), dtype)
            return new if mask is None else choose(mask[k], new, out)

        if x.shape[0] > first:
            out = fori_loop(first, x.shape[0], step, out)
        return expand_dims(out, axes) if keepdims else out

    @partial(jit_when_traced, static_argnames=("self", "axis", "dtype"))
    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """Returns the running results of `reduce` along `axis`.

        Args:
          a: an array.
          axis: the axis of the accumulation.
          dtype: the dtype of the result.
          out: must be None.

        Returns: an array of the shape of `a`.

        Example:
          >>> jnp.multiply.accumulate(jnp.array([2, 3, 4]))
          Array([ 2,  6, 24], dtype=int32)
        """
        promotion.check_arraylike(f"{self._shown}.accumulate", a)
        self._check_binary("accumulate")
        promotion.check_no_out(f"{self._shown}.accumulate", out)
        x = as_value(a)
        axis = canonical_axis(axis, x.ndim)
        if self._accumulate is not None:
            return self._accumulate(x, axis=axis, dtype=dtype)
        dtype = self._result_dtype(x, dtype)
        rows = moveaxis(x, axis, 0)
        if rows.shape[0] == 0:
            return convert(x, dtype)
        first = convert(rows[0], dtype)

        def step(out: Array, k: ArrayLike) -> tuple[Array, Array]:
            out = convert(self(out, rows[k]), dtype)
            return out, out

        _, later = scan(step, first, arange(1, rows.shape[0]))
        return moveaxis(concatenate([expand_dims(first, (0,)), later]), 0, axis)

    @partial(jit_when_traced, static_argnames=("self", "axis", "dtype"))
    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Reduces the slices of `a` between `indices` along `axis` with this ufunc.

        Slice k starts at `indices[k]` and ends before `indices[k + 1]`; if the latter is not
        greater, the slice is the single element at `indices[k]`.

        Args:
          a: an array.
          indices: an integer array of rank 1.
          axis: the axis to reduce.
          dtype: the dtype of the result.
          out: must be None.

        Returns: an array with an entry for each index along `axis`.

        Example:
          >>> jnp.add.reduceat(jnp.array([1, 2, 3, 4]), jnp.array([0, 2]))
          Array([3, 7], dtype=int32)
        """
        promotion.check_arraylike(f"{self._shown}.reduceat", a, indices)
        self._check_binary("reduceat")
        promotion.check_no_out(f"{self._shown}.reduceat", out)
        from jitney.numpy.selection import where as choose

        x, starts = as_value(a), as_value(indices)
        if starts.ndim != 1:
            raise ValueError(
                f"{self._shown}.reduceat: `indices` must be a vector, but it has shape {starts.shape}"
            )
        axis = canonical_axis(axis, x.ndim)
        if self._reduceat is not None:
            return self._reduceat(x, starts, axis=axis, dtype=dtype)
        dtype = self._result_dtype(x, dtype)
        rows = moveaxis(x, axis, 0)
        n = rows.shape[0]
        count = starts.shape[0]
        if not count:
            return moveaxis(convert(rows[:0], dtype), 0, axis)
        ends = starts.at[: count - 1].set(starts[1:]).at[count - 1].set(n)
        out_rows = convert(rows[starts], dtype)
        column = (count,) + (1,) * (rows.ndim - 1)

        def step(k: Array, out: Array) -> Array:
            inside = reshape((starts < k) & (k < ends), column)
            row = expand_dims(rows[k], (0,))
            return choose(inside, convert(self(out, row), dtype), out)

        return moveaxis(fori_loop(0, n, step, out_rows) if n else out_rows, 0, axis)

    # --- pairs and updates ------------------------------------------------------------------------

    @partial(jit_when_traced, static_argnums=(0,))
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Applies this ufunc to all pairs of an element of `A` and an element of `B`.

        Returns: an array with the axes of `A`, followed by those of `B`.

        Example:
          >>> jnp.add.outer(jnp.array([0, 10]), jnp.array([1, 2, 3]))
          Array([[ 1,  2,  3],
                 [11, 12, 13]], dtype=int32)
        """
        self._check_binary("outer")
        promotion.check_arraylike(f"{self._shown}.outer", A, B)
        x, y = as_value(A), as_value(B)
        # Scalars are not expanded, so that a weakly typed operand adopts the dtype of the other
        # one.
        left = expand_dims(x, tuple(range(x.ndim, x.ndim + y.ndim)))
        right = expand_dims(y, tuple(range(x.ndim))) if y.ndim else y
        return self(left, right)

    def at(
        self, a: ArrayLike, indices: Index, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """Returns `a` with this ufunc applied at `indices`, once for each occurrence of a position.

        Args:
          a: an array.
          indices: an index as in `a[indices]`.
          b: the second operand of a ufunc of two operands.
          inplace: must be False, unlike in NumPy, since arrays are immutable.

        Returns: an array of the shape and dtype of `a`.

        Example:
          >>> jnp.add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1.0, inplace=False)
          Array([2., 0., 1.], dtype=float32)
        """
        if inplace:
            raise NotImplementedError(
                f"{self._shown}.at: `inplace` must be False, as arrays are immutable; use "
                f"x = {self._shown}.at(x, ..., inplace=False)"
            )
        return self._updated(a, indices, b)

    @partial(jit_when_traced, name="at", static_argnums=(0,))
    def _updated(self, a: ArrayLike, indices: Index, b: ArrayLike | None) -> Array:
        promotion.check_arraylike(f"{self._shown}.at", a)
        x = as_value(a)
        if b is not None and self._at is not None:
            return getattr(x.at[indices], self._at)(b)
        positions = reshape_like(x)[indices]
        flat = reshape(x, (x.size,))
        places = reshape(positions, (positions.size,))
        values = None
        if b is not None:
            values = reshape(promotion.broadcast_arrays(as_value(b), positions)[0], places.shape)

        def step(k: Array, flat: Array) -> Array:
            old = flat[places[k]]
            new = self(old) if values is None else self(old, values[k])
            return flat.at[places[k]].set(convert(new, x.dtype))

        return reshape(fori_loop(0, places.size, step, flat) if places.size else flat, x.shape)


ufunc.__module__ = "jax.numpy"


if TYPE_CHECKING:  # at run time, these are instances of `ufunc`

    class UnaryUfunc(ufunc):
        """A `ufunc` of one operand."""

        def __call__(  # type: ignore[override]  # fewer operands than a ufunc may have
            self, x: ArrayLike, /, *, out: None = None, where: None = None
        ) -> Array: ...

    class BinaryUfunc(ufunc):
        """A `ufunc` of two operands."""

        def __call__(  # type: ignore[override]  # fewer operands than a ufunc may have
            self, x1: ArrayLike, x2: ArrayLike, /, *, out: None = None, where: None = None
        ) -> Array: ...


def reshape_like(x: Array) -> Array:
    """Returns the flat position of each element of `x`."""
    return as_value(np.arange(x.size, dtype=np.int32).reshape(x.shape))


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: ArrayLike | None = None
) -> ufunc:
    """Creates a `ufunc` from a function of scalars.

    Args:
      func: a function of `nin` scalars that returns `nout` scalars.
      nin: the number of operands.
      nout: the number of results.
      identity: the identity element of the function, if there is one.

    Example:
      >>> add = jnp.frompyfunc(lambda x, y: x + y, nin=2, nout=1, identity=0)
      >>> add.reduce(jnp.arange(4))
      Array(6, dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


frompyfunc.__module__ = "jax.numpy"


@overload
def _ufunc(function: Callable[..., Any], nin: Literal[1], **folds: Any) -> UnaryUfunc: ...


@overload
def _ufunc(
    function: Callable[..., Any],
    nin: Literal[2],
    identity: ArrayLike | None = None,
    **folds: Any,
) -> BinaryUfunc: ...


def _ufunc(
    function: Callable[..., Any], nin: int, identity: ArrayLike | None = None, **folds: Any
) -> ufunc:
    return ufunc(function, nin, 1, identity=identity, call=function, **folds)


def _logical_fold(reduction: Callable[..., Any]) -> Fold:
    def fold(
        x: Array, *, axis: Axis, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None
    ) -> Array:
        out = reduction(x, axis=axis, keepdims=keepdims, where=where)
        if initial is None:
            return out
        op = comparison.logical_and if reduction is reductions.all else comparison.logical_or
        return op(initial, out)

    return fold


def _bit_fold(monoid: Callable[..., Any], op: Callable[..., Any], neutral: int) -> Fold:
    """Returns the reduction of integers over axes by `monoid`, whose binary function is `op`."""

    def fold(
        x: Array, *, axis: Axis, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None
    ) -> Array:
        from jitney.numpy.selection import where as choose

        axes = reduction_table.reduced_axes(reduction_table.static_axis(axis), x.ndim)
        if where is not None:
            x = choose(where, x, full((), neutral, x.dtype))
        out = reduction_table.keep(monoid(x, axes), axes, keepdims)
        return out if initial is None else op(out, convert(as_value(initial), out.dtype))

    return fold


def _log_fold(scale: float) -> Fold:
    """Returns the reduction by `logaddexp` if `scale` is 1, or by `logaddexp2` if it is log(2)."""

    def fold(
        x: Array, *, axis: Axis, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None
    ) -> Array:
        from jitney.numpy.log_sums import logsumexp

        out = logsumexp(x if scale == 1 else x * scale, axis, keepdims=keepdims, where=where)
        out = out if scale == 1 else out / scale
        op = arithmetic.logaddexp if scale == 1 else arithmetic.logaddexp2
        return out if initial is None else op(out, convert(as_value(initial), out.dtype))

    return fold


add: BinaryUfunc = _ufunc(
    arithmetic.add, 2, 0, reduce=reductions.sum, accumulate=cumulative.cumsum, at="add"
)
multiply: BinaryUfunc = _ufunc(
    arithmetic.multiply, 2, 1, reduce=reductions.prod, accumulate=cumulative.cumprod, at="multiply"
)
subtract: BinaryUfunc = _ufunc(arithmetic.subtract, 2, at="subtract")
maximum: BinaryUfunc = _ufunc(arithmetic.maximum, 2, reduce=reductions.max, at="max")
minimum: BinaryUfunc = _ufunc(arithmetic.minimum, 2, reduce=reductions.min, at="min")
logaddexp: BinaryUfunc = _ufunc(arithmetic.logaddexp, 2, -np.inf, reduce=_log_fold(1.0))
logaddexp2: BinaryUfunc = _ufunc(
    arithmetic.logaddexp2, 2, -np.inf, reduce=_log_fold(float(np.log(2.0)))
)
negative: UnaryUfunc = _ufunc(unary_math.negative, 1)
logical_and: BinaryUfunc = _ufunc(
    comparison.logical_and, 2, True, reduce=_logical_fold(reductions.all)
)
logical_or: BinaryUfunc = _ufunc(
    comparison.logical_or, 2, False, reduce=_logical_fold(reductions.any)
)
logical_xor: BinaryUfunc = _ufunc(comparison.logical_xor, 2, False)
bitwise_and: BinaryUfunc = _ufunc(
    bitwise.bitwise_and, 2, -1, reduce=_bit_fold(folds.reduce_and, bitwise.bitwise_and, -1)
)
bitwise_or: BinaryUfunc = _ufunc(
    bitwise.bitwise_or, 2, 0, reduce=_bit_fold(folds.reduce_or, bitwise.bitwise_or, 0)
)
bitwise_xor: BinaryUfunc = _ufunc(
    bitwise.bitwise_xor, 2, 0, reduce=_bit_fold(folds.reduce_xor, bitwise.bitwise_xor, 0)
)
