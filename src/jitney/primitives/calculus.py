"""Functions that bind primitives, for use in rules: `mul(t, cos(x))`.

Each function binds the primitive that has its name. Operands are neither promoted nor broadcast:
dtypes must be equal and shapes must match, as the type rule of the primitive requires. Parameters
have the same names as in jaxprs; parameters that rules seldom set have defaults.

The rules of almost all primitives are built from a few other primitives. This module looks them up
by name, so that the modules of primitives need not import each other.
"""

# ruff: noqa: A001  # named after primitives, several of which have the names of builtins

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from jitney.core.tracing.primitive import registry

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.types.dtypes import DType
    from jitney.core.typing import Value
    from jitney.primitives.rule_types import DotDimensionNumbers, Param

Shape = Sequence[SupportsIndex]
Axes = Sequence[SupportsIndex]


def _bind(name: str) -> Callable[..., Any]:
    prim = registry.get(name)
    if prim is None:  # on first use, since its module may not be loaded earlier
        from jitney.primitives import load_all

        load_all.load_primitive(name)
        prim = registry[name]
    return prim.bind


# --- elementwise --------------------------------------------------------------------------------


def neg(x: Value) -> Array:
    """Computes -x."""
    return _bind("neg")(x)


def sign(x: Value) -> Array:
    """Computes the sign of x."""
    return _bind("sign")(x)


def abs(x: Value) -> Array:
    """Computes the absolute value (modulus) of x."""
    return _bind("abs")(x)


def floor(x: Value) -> Array:
    """Rounds x down."""
    return _bind("floor")(x)


def square(x: Value) -> Array:
    """Computes x * x."""
    return _bind("square")(x)


def rsqrt(x: Value) -> Array:
    """Computes 1 / sqrt(x)."""
    return _bind("rsqrt")(x, accuracy=None)


def one_minus_square(x: Value) -> Array:
    """Computes 1 - x * x, accurate near x = 1."""
    return _bind("one_minus_square")(x)


def exp(x: Value, *, accuracy: object = None) -> Array:
    """Computes the exponential of x."""
    return _bind("exp")(x, accuracy=accuracy)


def log(x: Value) -> Array:
    """Computes the natural logarithm of x."""
    return _bind("log")(x, accuracy=None)


def log1p(x: Value) -> Array:
    """Computes log(1 + x), accurate near x = 0."""
    return _bind("log1p")(x, accuracy=None)


def real(x: Value) -> Array:
    """Returns the real part of x."""
    return _bind("real")(x)


def imag(x: Value) -> Array:
    """Returns the imaginary part of x."""
    return _bind("imag")(x)


def stop_gradient(x: Value) -> Array:
    """Returns x with a zero derivative."""
    return _bind("stop_gradient")(x)


def add(x: Value, y: Value) -> Array:
    """Computes x + y."""
    return _bind("add")(x, y)


def sub(x: Value, y: Value) -> Array:
    """Computes x - y."""
    return _bind("sub")(x, y)


def mul(x: Value, y: Value) -> Array:
    """Computes x * y."""
    return _bind("mul")(x, y, out_dtype=None)


def div(x: Value, y: Value) -> Array:
    """Computes x / y; integer division rounds toward zero."""
    return _bind("div")(x, y)


def max(x: Value, y: Value) -> Array:
    """Returns the larger of x and y."""
    return _bind("max")(x, y)


def min(x: Value, y: Value) -> Array:
    """Returns the smaller of x and y."""
    return _bind("min")(x, y)


def clamp(low: Value, x: Value, high: Value) -> Array:
    """Clamps x to the interval from low to high."""
    return _bind("clamp")(low, x, high)


def pow(x: Value, y: Value) -> Array:
    """Computes x to the power of y."""
    return _bind("pow")(x, y)


def atan2(x: Value, y: Value) -> Array:
    """Returns the angle of the point (y, x)."""
    return _bind("atan2")(x, y)


def complex(x: Value, y: Value) -> Array:
    """Returns the complex number x + i y."""
    return _bind("complex")(x, y)


def eq(x: Value, y: Value) -> Array:
    """Computes x == y."""
    return _bind("eq")(x, y)


def ne(x: Value, y: Value) -> Array:
    """Computes x != y."""
    return _bind("ne")(x, y)


def lt(x: Value, y: Value) -> Array:
    """Computes x < y."""
    return _bind("lt")(x, y)


def gt(x: Value, y: Value) -> Array:
    """Computes x > y."""
    return _bind("gt")(x, y)


def ge(x: Value, y: Value) -> Array:
    """Computes x >= y."""
    return _bind("ge")(x, y)


def and_(x: Value, y: Value) -> Array:
    """Computes x & y."""
    return _bind("and")(x, y)


def integer_pow(x: Value, *, y: int) -> Array:
    """Raises x to the power of the integer constant y."""
    return _bind("integer_pow")(x, y=y)


def select_n(which: Value, *cases: Value) -> Array:
    """Selects elementwise: from two cases, the second where `which` is true; otherwise by index."""
    return _bind("select_n")(which, *cases)


def convert_element_type(
    x: Value, *, new_dtype: DType, weak_type: bool = False, sharding: object = None
) -> Array:
    """Converts x to another dtype."""
    return _bind("convert_element_type")(
        x, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding
    )


def bitcast_convert_type(x: Value, *, new_dtype: DType) -> Array:
    """Reinterprets the bits of x as elements of another dtype."""
    return _bind("bitcast_convert_type")(x, new_dtype=new_dtype)


def polynomial(x: Value, *coefficients: Value) -> Array:
    """Evaluates the polynomial with the given coefficients, sum of coefficients[k] x^k."""
    return _bind("polynomial")(x, *coefficients, unroll=None)


def custom_jvp_call(
    *operands: Value, name: str, call_jaxpr: ClosedJaxpr, jvp: Callable[..., Any]
) -> list[Array]:
    """Calls a program with a user-defined JVP rule: see `primitives.call.custom`."""
    return _bind("custom_jvp_call")(
        *operands, name=name, call_jaxpr=call_jaxpr, jvp=jvp, num_consts=0, symbolic_zeros=False
    )


def random_wrap(words: Value, *, impl: object) -> Array:
    """Wraps key words into an array of PRNG keys."""
    return _bind("random_wrap")(words, impl=impl)


# --- shapes -------------------------------------------------------------------------------------


def iota(*, dtype: DType, shape: Shape, dimension: int, sharding: object = None) -> Array:
    """Returns an array in which each element equals its index along `dimension`."""
    return _bind("iota")(dtype=dtype, shape=shape, dimension=dimension, sharding=sharding)


def broadcast_in_dim(
    x: Value, *, shape: Shape, broadcast_dimensions: Axes, sharding: object = None
) -> Array:
    """Broadcasts x: axis i of x becomes axis `broadcast_dimensions[i]` of the result."""
    return _bind("broadcast_in_dim")(
        x, shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding
    )


def reshape(
    x: Value, *, new_sizes: Shape, dimensions: Axes | None = None, sharding: object = None
) -> Array:
    """Reshapes x, keeping the row-major order of its elements."""
    return _bind("reshape")(x, new_sizes=new_sizes, dimensions=dimensions, sharding=sharding)


def transpose(x: Value, *, permutation: Axes) -> Array:
    """Permutes the axes of x: axis i of the result is axis `permutation[i]` of x."""
    return _bind("transpose")(x, permutation=permutation)


def squeeze(x: Value, *, dimensions: Axes) -> Array:
    """Removes axes of size 1 from x."""
    return _bind("squeeze")(x, dimensions=dimensions)


def rev(x: Value, *, dimensions: Axes) -> Array:
    """Reverses x along axes."""
    return _bind("rev")(x, dimensions=dimensions)


def slice(x: Value, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None) -> Array:
    """Slices x along all axes."""
    return _bind("slice")(
        x, start_indices=start_indices, limit_indices=limit_indices, strides=strides
    )


def pad(x: Value, value: Value, *, padding_config: Sequence[Sequence[SupportsIndex]]) -> Array:
    """Pads x with `value`; the configuration is (low, high, interior) for each axis."""
    return _bind("pad")(x, value, padding_config=padding_config)


def concatenate(*xs: Value, dimension: int) -> Array:
    """Concatenates arrays along an axis."""
    return _bind("concatenate")(*xs, dimension=dimension)


# --- reductions and products --------------------------------------------------------------------


def reduce_sum(x: Value, *, axes: Axes, out_sharding: object = None) -> Array:
    """Sums over axes."""
    return _bind("reduce_sum")(x, axes=axes, out_sharding=out_sharding)


def reduce_max(x: Value, *, axes: Axes, out_sharding: object = None) -> Array:
    """Computes the maximum along axes."""
    return _bind("reduce_max")(x, axes=axes, out_sharding=out_sharding)


def reduce_or(x: Value, *, axes: Axes, out_sharding: object = None) -> Array:
    """Computes the logical OR along axes."""
    return _bind("reduce_or")(x, axes=axes, out_sharding=out_sharding)


def reduce_and(x: Value, *, axes: Axes, out_sharding: object = None) -> Array:
    """Computes the logical AND along axes."""
    return _bind("reduce_and")(x, axes=axes, out_sharding=out_sharding)


def dot_general(
    x: Value, y: Value, *, dimension_numbers: DotDimensionNumbers, **params: Param
) -> Array:
    """Contracts x with y along the given axes."""
    return _bind("dot_general")(x, y, dimension_numbers=dimension_numbers, **params)


# --- over devices -------------------------------------------------------------------------------


def psum(x: Value, *, axes: Sequence[object], axis_index_groups: object = None) -> Array:
    """Sums over named axes."""
    return _bind("psum")(x, axes=axes, axis_index_groups=axis_index_groups)


def unreduced_psum(x: Value, *, axes: Sequence[object]) -> Array:
    """Sums over mesh axes along which x is unreduced."""
    return _bind("unreduced_psum")(x, axes=axes)


def unreduced_reduce_scatter(x: Value, **params: Param) -> Array:
    """Sums over a mesh axis along which x is unreduced, and leaves one shard on each device."""
    return _bind("unreduced_reduce_scatter")(x, **params)


def all_gather(x: Value, **params: Param) -> Array:
    """Gathers the values of x along a named axis."""
    return _bind("all_gather")(x, **params)


def all_gather_reduced(x: Value, **params: Param) -> Array:
    """Gathers x along a mesh axis; the type of the result is reduced over that axis."""
    return _bind("all_gather_reduced")(x, **params)


def reshard(x: Value, *, dst_sharding: NamedSharding, concrete_mesh: object = None) -> Array:
    """Changes the sharding of x."""
    return _bind("reshard")(x, dst_sharding=dst_sharding, concrete_mesh=concrete_mesh)
