"""Updates of elements by index: `x.at[index].set(y)`, `x.at[index].add(y)` and the like.

Arrays are immutable: an update returns a new array. Positions out of range are not updated unless
`mode` says otherwise. If a position is updated several times, `set` keeps one of the values, and
the other methods combine all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jitney.core.array import Array
from jitney.core.settings import config
from jitney.core.source.user_warnings import warn
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.core.typing import ArrayLike, Index
from jitney.core.util import float_errors
from jitney.numpy import arithmetic, indexing, promotion
from jitney.numpy.index_plan import plan
from jitney.numpy.out_sharding import call_with_sharding
from jitney.primitives.array.broadcasting import broadcast_to, expand_dims
from jitney.primitives.array.creation import full_like
from jitney.primitives.array.shape import rev, shape_of, squeeze
from jitney.primitives.elementwise.convert import as_value, convert, warn_if_imaginary_dropped
from jitney.primitives.indexing import scatter as lax_scatter
from jitney.primitives.indexing.gather import GatherScatterMode
from jitney.primitives.indexing.scatter import ScatterDimensionNumbers
from jitney.runtime.arrays import host_path

if TYPE_CHECKING:
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value

ScatterOp = Callable[..., Any]


class Update(Protocol):
    """An update method, called with the new values and the keywords that all methods share."""

    def __call__(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        out_sharding: Sharding | PartitionSpec | None = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...


def _scattering(
    name: str,
    scatter: ScatterOp,
    ufunc: np.ufunc | None,
    doc: str,
    example: str,
    printed: str,
    returns: str = "a new array",
) -> Update:
    """Returns the update method of a scatter function; eager updates use NumPy if possible.

    Args:
      name: the name of the method.
      scatter: the lax function.
      ufunc: combines old and new elements; if None, new elements replace old ones.
      doc: the first line of the method's docstring.
      example: a call of the method, as Python code, for the docstring.
      printed: the result of `example` as Python prints it.
      returns: a description of the result, for the docstring.
    """

    def update(
        self: IndexUpdateRef,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        out_sharding: Sharding | PartitionSpec | None = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        if mode is None and wrap_negative_indices and out_sharding is None:
            out = _update_at_once(self.array, self.index, values, ufunc)
            if out is not None:
                return out

        def updated(x: Array, index: Index, values: ArrayLike) -> Array:
            return scatter_update(
                x, index, values, scatter, mode=mode,
                indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                wrap_negative_indices=wrap_negative_indices,
            )  # fmt: skip

        return call_with_sharding(out_sharding, name, updated, self.array, self.index, values)

    return _method(update, name, doc, example, printed, returns)


def _combining(
    name: str,
    function: Callable[[Array, Array], Array],
    doc: str,
    example: str,
    printed: str,
    returns: str = "a new array",
) -> Update:
    """Returns an update method that applies `function` to the whole array and a second operand.

    The second operand has the shape of the array. It is 1 at elements that are not updated; at a
    repeated position, it is the product of the values. For the arguments see `_scattering`.
    """

    def update(
        self: IndexUpdateRef,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        out_sharding: Sharding | PartitionSpec | None = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        def updated(x: Array, index: Index, values: ArrayLike) -> Array:
            factors = IndexUpdateRef(full_like(x, 1), index).multiply(
                values,
                indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices,
                mode=mode,
                wrap_negative_indices=wrap_negative_indices,
            )
            return function(x, factors)

        return call_with_sharding(out_sharding, name, updated, self.array, self.index, values)

    return _method(update, name, doc, example, printed, returns)


def _method(
    update: Callable[..., Array], name: str, doc: str, example: str, printed: str, returns: str
) -> Update:
    """Returns `update` as the documented method `name` of `IndexUpdateRef`."""
    update.__name__, update.__qualname__ = name, f"IndexUpdateRef.{name}"
    update.__doc__ = f"""{doc}

        Args:
          values: an array, broadcast to the indexed shape and converted to the dtype of `x`.

        Returns: {returns}.

        Example:
          >>> {example}
          {printed}
        """
    return update


class IndexUpdateHelper:
    """The value of `x.at`; indexing it returns an `IndexUpdateRef`."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: Index) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """The value of `x.at[index]`: a selection of elements to read or update.

    These keywords are common to all methods:

      indices_are_sorted: a promise that positions are in ascending order.
      unique_indices: a promise that no position occurs twice.
      mode: how positions out of range are handled: "drop" and "fill" ignore them (the default for
        updates), "clip" uses the nearest position, "promise_in_bounds" asserts that there are none.
      wrap_negative_indices: whether negative positions count from the end.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Example:
      >>> x = jnp.zeros(4)
      >>> x.at[jnp.array([0, 3, 3])].add(2.0)  # both updates of the last element count
      Array([2., 0., 0., 4.], dtype=float32)
      >>> x.sum()  # unchanged
      Array(0., dtype=float32)
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: Index) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        fill_value: ArrayLike | None = None,
        out_sharding: Sharding | PartitionSpec | None = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Returns the selected elements; mode "fill" gives `fill_value` for positions out of range.

        Args:
          mode: how positions out of range are handled; by default the nearest element is returned,
            as by `x[index]`.
          fill_value: the value for positions out of range; by default NaN, the smallest value for
            signed integers and the largest for unsigned ones.

        Returns: an array of the indexed shape.

        Example:
          >>> jnp.arange(3.0).at[jnp.array([1, 7])].get(mode="fill")
          Array([ 1., nan], dtype=float32)
        """

        def gather(x: Array, index: Index) -> Array:
            return indexing.get(
                x,
                index,
                mode=mode,
                fill_value=fill_value,
                indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices,
                wrap_negative_indices=wrap_negative_indices,
            )

        return call_with_sharding(out_sharding, "get", gather, self.array, self.index)

    set = _scattering(
        "set", lax_scatter.scatter, None, "Sets x[index] to values.",
        "jnp.zeros(4).at[1:3].set(7)", "Array([0., 7., 7., 0.], dtype=float32)",
        returns="a new array; where a position is repeated, one of its values is kept",
    )  # fmt: skip
    add = _scattering(
        "add", lax_scatter.scatter_add, np.add,
        "Adds values to x[index]; all values for a repeated position are added.",
        "jnp.zeros(3).at[jnp.array([0, 2, 2])].add(1)", "Array([1., 0., 2.], dtype=float32)",
    )  # fmt: skip
    subtract = _scattering(
        "subtract", lax_scatter.scatter_sub, np.subtract,
        "Subtracts values from x[index]; all values for a repeated position are subtracted.",
        "jnp.arange(3).at[0].subtract(5)", "Array([-5,  1,  2], dtype=int32)",
    )  # fmt: skip
    multiply = mul = _scattering(
        "multiply", lax_scatter.scatter_mul, np.multiply,
        "Multiplies x[index] by values; a repeated position is multiplied by each of its values.",
        "jnp.arange(4).at[2:].multiply(10)", "Array([ 0,  1, 20, 30], dtype=int32)",
    )  # fmt: skip
    min = _scattering(
        "min", lax_scatter.scatter_min, np.minimum, "Sets x[index] to minimum(x[index], values).",
        "jnp.array([1, 5, 9]).at[:].min(4)", "Array([1, 4, 4], dtype=int32)",
    )  # fmt: skip
    max = _scattering(
        "max", lax_scatter.scatter_max, np.maximum, "Sets x[index] to maximum(x[index], values).",
        "jnp.array([1, 5, 9]).at[:].max(4)", "Array([4, 5, 9], dtype=int32)",
    )  # fmt: skip
    divide = _combining(
        "divide", arithmetic.divide, "Divides x[index] by values, in floating point.",
        "jnp.array([2.0, 4.0]).at[1].divide(8)", "Array([2. , 0.5], dtype=float32)",
        returns="a new array of a float dtype",
    )  # fmt: skip
    power = _combining(
        "power", arithmetic.power, "Raises x[index] to the powers given by values.",
        "jnp.array([2, 3]).at[1].power(2)", "Array([2, 9], dtype=int32)",
    )  # fmt: skip

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Sets x[index] to func(x[index]); `func` is applied again at each repeated position.

        Args:
          func: a function of a scalar; it must not close over tracers.

        Returns: a new array.

        Example:
          >>> jnp.arange(4.0).at[1:3].apply(jnp.negative)
          Array([ 0., -1., -2.,  3.], dtype=float32)
        """

        def op(
            x: Array,
            indices: Array,
            updates: Array,
            numbers: ScatterDimensionNumbers,
            **options: Any,
        ) -> Array:
            return lax_scatter.scatter_apply(
                x, indices, func, numbers, update_shape=shape_of(updates), **options
            )

        dtype, weak = promotion.type_of(self.array)
        zero = convert(0, dtype, weak)
        return scatter_update(
            self.array, self.index, zero, op, mode=mode, indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices,
        )  # fmt: skip


IndexUpdateHelper.__name__ = IndexUpdateHelper.__qualname__ = "_IndexUpdateHelper"
IndexUpdateRef.__name__ = IndexUpdateRef.__qualname__ = "_IndexUpdateRef"


# --- at once ------------------------------------------------------------------------------------


def _update_at_once(
    x: Array, index: Index, values: ArrayLike, ufunc: np.ufunc | None
) -> Array | None:
    """Returns the updated array, computed by NumPy; None if NumPy's result could differ.

    `ufunc` combines old and new elements; without one, new elements replace old ones.
    """
    old = host_path.eager_data(x)
    if old is None:
        return None
    dtype = x.dtype
    if ufunc is not None and dtype.kind not in "iuf":
        return None
    kind = type(values)
    new = host_path.host_data(values)
    if new is not None:
        if get_aval(values).dtype != dtype:
            return None
    elif dtype.kind in _HOLDS.get(kind, ""):
        try:
            new = np.asarray(values, dtype)
        except OverflowError:
            return None
    else:
        return None
    key = indexing.numpy_index(index)
    if key is None:
        return None
    try:
        part = None
        if key and all([type(k) is np.ndarray and k.dtype.kind != "b" for k in key]):
            # (Gathering the elements only for their rank would take as long as writing them.)
            rank = max([k.ndim for k in key]) + old.ndim - len(key)
        else:
            part = old[key]
            rank = np.ndim(part)
        if rank < new.ndim:
            return None
        out = old.copy()
        if ufunc is None:
            out[key] = new
        elif any(type(k) is np.ndarray for k in key):
            ufunc.at(out, key, new)  # positions may occur twice
        else:
            with float_errors.ignored():
                out[key] = ufunc(part, new)
    except (IndexError, ValueError):
        return None  # out of range, or an error for the general path to report
    return host_path.array_from_numpy(out, x.aval)


# For each type of Python scalar, the kinds of dtypes that hold it without promotion.
_HOLDS: dict[type, str] = {bool: "biu", int: "iufc", float: "fc"}


# --- by operations --------------------------------------------------------------------------------


def scatter_update(
    x: ArrayLike,
    index: Index,
    values: ArrayLike,
    op: ScatterOp,
    *,
    mode: str | GatherScatterMode | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative_indices: bool = True,
) -> Array:
    """Returns `x` with `values` scattered to `index` by one of the scatter functions of lax.

    Values are broadcast to the indexed shape. The dtype of the result is that of `x`.

    Raises:
      ValueError: if the values cannot be broadcast to the indexed shape.
    """
    x = as_value(x)
    if not isinstance(values, Array):
        values = _array_of(values)
    aval = x.aval
    p = plan(x.shape, index)
    scatter_mode = GatherScatterMode.FILL_OR_DROP if mode is None else indexing.mode_of(mode)
    plain = indexing.Indexer(p, wrap_negative_indices)
    indices = plain.indices()
    shape = p.result_shape
    _warn_if_unsafe(aval.dtype, values)
    if type(values) is bool and dtypes.issubdtype(aval.dtype, np.integer):
        values = int(values)  # lossless, even under strict promotion
    operand, values = promotion.promote_dtypes(x, values)
    if 0 in shape:
        return x
    values = _broadcast(values, shape)
    operand = expand_dims(operand, p.extra_axes) if p.extra_axes else operand
    new_axes = p.new_axes
    values = squeeze(values, new_axes) if new_axes else values
    values = rev(values, plain.reversed_axes) if plain.reversed_axes else values
    out = op(
        operand,
        indices,
        values,
        ScatterDimensionNumbers(
            update_window_dims=plain.window_axes,
            inserted_window_dims=plain.collapsed,
            scatter_dims_to_operand_dims=plain.indexed,
        ),
        indices_are_sorted=indices_are_sorted or not p.has_points,
        unique_indices=unique_indices or not p.has_points,
        mode=scatter_mode,
    )
    out = squeeze(out, p.extra_axes) if p.extra_axes else out
    warn_if_imaginary_dropped(out.dtype, aval.dtype)
    return convert(out, aval.dtype, aval.weak_type)


def _array_of(values: Value) -> Value:
    """Returns values as an operand; nested sequences are converted to arrays."""
    if isinstance(values, np.ndarray | np.generic | bool | int | float | complex) or hasattr(
        values, "__jax_array__"
    ):
        return values
    from jitney.numpy.creation import asarray

    return asarray(values)


def _broadcast(values: ArrayLike, shape: tuple[int, ...]) -> Array:
    old = shape_of(values)
    if len(old) > len(shape):
        raise ValueError(
            "x.at[...]: the values must broadcast to the shape of x[...], but they have shape "
            f"{old} and x[...] has shape {shape}, with fewer axes"
        )
    return broadcast_to(values, shape)


def _warn_if_unsafe(dtype: np.dtype, values: ArrayLike) -> None:
    """Warns if `values` do not promote to `dtype`, the dtype of the updated array."""
    aval = get_aval(values)
    source = aval.dtype
    if source == dtype or dtypes.is_extended(dtype) or dtypes.is_extended(source):
        return
    if source == np.bool_ and dtypes.issubdtype(dtype, np.integer):
        return  # lossless, even under strict promotion
    common, _ = dtypes.common_type(((dtype, False), (source, aval.weak_type)))
    if common != dtype:
        warn(
            f"x.at[...]: values of dtype {dtypes.long_name(source)} cannot be cast without loss to "
            f"{dtypes.long_name(dtype)}, the dtype of x, and "
            f"jax_numpy_dtype_promotion is {config.numpy_dtype_promotion.value}. This will become "
            "an error: cast the values with astype, or cast x before the update.",
            FutureWarning,
        )
