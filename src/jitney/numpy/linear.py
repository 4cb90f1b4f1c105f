"""Products of vectors, matrices and tensors: `dot`, `matmul`, `tensordot`, `einsum` and their kind.

Operands are promoted to one dtype; sums of float16 and bfloat16 are carried in float32. `precision` is
accepted for compatibility; `preferred_element_type` is the dtype of accumulation and result.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jitney.api.jit import jit_when_traced
from jitney.core import dtypes
from jitney.numpy import util
from jitney.numpy.reductions import sum as array_sum
from jitney.ops import binary, convert, reduce, unary
from jitney.ops import dot as lax_dot
from jitney.ops.compare import eq
from jitney.ops.creation import broadcasted_iota
from jitney.ops.join import stack
from jitney.ops.select import select
from jitney.ops.shape import (
    broadcast_in_dim,
    broadcast_shapes,
    broadcast_to,
    canonical_axis,
    expand_dims,
    reshape,
    shape_of,
    squeeze,
    transpose,
)


def _operands(name: str, a: Any, b: Any, preferred: Any) -> tuple[Any, Any, Any, bool]:
    """(a, b, dtype of the result, whether it is weak)."""
    util.check_arraylike(name, a, b)
    if preferred is not None:
        dtypes.check_user_dtype_supported(preferred, name)
        preferred = dtypes.canonicalize_dtype(preferred)
        a, b = util.promote_dtypes(a, b)
        return convert.as_value(a), convert.as_value(b), preferred, False
    types = (util.type_of(a), util.type_of(b))
    dtype, weak = dtypes.common_type(types)
    a, b = util.promote_dtypes(a, b)
    return convert.as_value(a), convert.as_value(b), dtype, weak


def _contract(
    a: Any, b: Any, numbers: Any, precision: Any, dtype: Any, weak: bool
) -> Any:
    out = lax_dot.dot_general(a, b, numbers, precision, preferred_element_type=dtype)
    return convert.convert(out, util.dtype_of(out), True) if weak else out


def dot(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Sum of products over the last axis of `a` and the last but one of `b`; scalars multiply."""
    a, b, dtype, weak = _operands("dot", a, b, preferred_element_type)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if rank_a == 0 or rank_b == 0:
        numbers: Any = (((), ()), ((), ()))
    elif rank_b == 1:
        numbers = (((rank_a - 1,), (0,)), ((), ()))
    else:
        numbers = (((rank_a - 1,), (rank_b - 2,)), ((), ()))
    return _contract(a, b, numbers, precision, dtype, weak)


def matmul(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Product of matrices in the last two axes; leading axes are broadcast.

    Raises:
      ValueError: if an operand is a scalar.
      TypeError: if the contracted extents differ.
    """
    util.check_arraylike("matmul", a, b)
    for i, x in enumerate((a, b)):
        if not shape_of(x):
            raise ValueError(
                f"matmul input operand {i} must have ndim at least 1, but it has ndim 0"
            )
    a, b, dtype, weak = _operands("matmul", a, b, preferred_element_type)
    left, right = shape_of(a), shape_of(b)
    mat_a, mat_b = len(left) >= 2, len(right) >= 2
    k_a, k_b = left[-1], right[-2 if mat_b else -1]
    if k_a != k_b:
        raise TypeError(
            f"matmul requires contracting dimension to match, got {left} and {right}: {k_a} is not "
            f"{k_b}"
        )
    batch_a = left[:-2] if mat_a else ()
    batch_b = right[:-2] if mat_b else ()
    common = broadcast_shapes(batch_a, batch_b)
    # Batch axes that only one operand has (or has with extent > 1) are free axes of it.
    rank = len(common)
    full_a, full_b = (1,) * (rank - len(batch_a)) + batch_a, (1,) * (rank - len(batch_b)) + batch_b
    shared = [j for j in range(rank) if full_a[j] != 1 and full_b[j] != 1]
    only_a = [j for j in range(rank) if j not in shared and full_a[j] != 1]
    only_b = [j for j in range(rank) if j not in shared and full_b[j] != 1]
    ones = [j for j in range(rank) if full_a[j] == 1 and full_b[j] == 1]
    a = _drop_ones(a, len(batch_a), [j - (rank - len(batch_a)) for j in range(rank) if full_a[j] == 1])
    b = _drop_ones(b, len(batch_b), [j - (rank - len(batch_b)) for j in range(rank) if full_b[j] == 1])
    axes_a = [j for j in range(rank) if full_a[j] != 1]
    axes_b = [j for j in range(rank) if full_b[j] != 1]
    n_a, n_b = len(axes_a), len(axes_b)
    contract = ((n_a + (1 if mat_a else 0),), (n_b,))
    batch = (tuple(axes_a.index(j) for j in shared), tuple(axes_b.index(j) for j in shared))
    out = _contract(a, b, (contract, batch), precision, dtype, weak)
    # Axes of the result: shared, those of a alone, row, those of b alone, column.
    names: list[Any] = [*shared, *only_a, *(["row"] if mat_a else []), *only_b,
                        *(["column"] if mat_b else [])]  # fmt: skip
    wanted: list[Any] = [j for j in range(rank) if j not in ones]
    wanted += (["row"] if mat_a else []) + (["column"] if mat_b else [])
    if names != wanted:
        out = transpose(out, tuple(names.index(w) for w in wanted))
    return expand_dims(out, tuple(ones)) if ones else out


def _drop_ones(x: Any, n_batch: int, axes: Sequence[int]) -> Any:
    present = tuple(j for j in axes if 0 <= j < n_batch)
    return squeeze(x, present) if present else x


@partial(jit_when_traced, static_argnames=("precision", "preferred_element_type"), inline=True)
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sum of conj(a) * b over all elements."""
    util.check_arraylike("vdot", a, b)
    if util.is_complex(util.dtype_of(a)):
        a = unary.conj(a)
    flat = [reshape(convert.as_value(x), (math.prod(shape_of(x)),)) for x in (a, b)]
    return dot(*flat, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """Sum of conj(x1) * x2 along an axis; other axes are broadcast."""
    util.check_arraylike("vecdot", x1, x2)
    x1, x2 = convert.as_value(x1), convert.as_value(x2)
    if not shape_of(x1) or not shape_of(x2):
        raise ValueError("vector inputs to vecdot must have at least one axis")
    if util.is_complex(util.dtype_of(x1)):
        x1 = unary.conj(x1)
    x1, x2 = _last(x1, axis), _last(x2, axis)
    if shape_of(x1)[-1] != shape_of(x2)[-1]:
        raise ValueError(
            "vecdot: extents along the axis must be equal, got shapes "
            f"{shape_of(x1)} and {shape_of(x2)}"
        )
    row, column = expand_dims(x1, (len(shape_of(x1)) - 1,)), expand_dims(x2, (len(shape_of(x2)),))
    out = matmul(row, column, precision=precision, preferred_element_type=preferred_element_type)
    rank = len(shape_of(out))
    return squeeze(out, (rank - 2, rank - 1))


def _last(x: Any, axis: int) -> Any:
    axis = canonical_axis(axis, len(shape_of(x)))
    rest = [k for k in range(len(shape_of(x))) if k != axis]
    return transpose(x, (*rest, axis))


def matvec(x1: Any, x2: Any, /) -> Any:
    """Products of matrices `x1` and vectors `x2`, broadcast over leading axes."""
    util.check_arraylike("matvec", x1, x2)
    out = matmul(x1, expand_dims(x2, (len(shape_of(x2)),)))
    return squeeze(out, (len(shape_of(out)) - 1,))


def vecmat(x1: Any, x2: Any, /) -> Any:
    """Products of conjugated vectors `x1` and matrices `x2`, broadcast over leading axes."""
    util.check_arraylike("vecmat", x1, x2)
    if util.is_complex(util.dtype_of(x1)):
        x1 = unary.conj(x1)
    out = matmul(expand_dims(x1, (len(shape_of(x1)) - 1,)), x2)
    return squeeze(out, (len(shape_of(out)) - 2,))


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sum of products over the last axes of `a` and `b`."""
    util.check_arraylike("inner", a, b)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if not rank_a or not rank_b:
        a, b = util.promote_dtypes(a, b)
        out = binary.mul(a, b)
        return out if preferred_element_type is None else convert.convert(out, dtypes.canonicalize_dtype(preferred_element_type))
    return tensordot(a, b, (rank_a - 1, rank_b - 1), precision=precision,
                     preferred_element_type=preferred_element_type)  # fmt: skip


def outer(a: Any, b: Any, out: None = None) -> Any:
    """All products of an element of `a` and one of `b`, both flattened."""
    util.check_no_out("outer", out)
    util.check_arraylike("outer", a, b)
    a, b = (convert.as_value(x) for x in util.promote_dtypes(a, b))
    a, b = (x if len(shape_of(x)) == 1 else reshape(x, (math.prod(shape_of(x)),)) for x in (a, b))
    n, m = shape_of(a)[0], shape_of(b)[0]
    column, row = broadcast_in_dim(a, (n, 1), (0,)), broadcast_in_dim(b, (1, m), (1,))
    return binary.mul(column, row)


def tensordot(
    a: Any, b: Any, axes: Any = 2, *, precision: Any = None, preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Sum of products over `axes`: the last n of `a` and the first n of `b`, or two lists of axes."""
    a, b, dtype, weak = _operands("tensordot", a, b, preferred_element_type)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    left, right = _tensordot_axes(axes, rank_a, rank_b)
    if len(left) != len(right):
        raise TypeError(f"tensordot requires axes lists to have equal length, got {axes}")
    return _contract(a, b, ((left, right), ((), ())), precision, dtype, weak)


def _tensordot_axes(axes: Any, rank_a: int, rank_b: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, list | tuple) and len(axes) == 2:
        pairs = [(x,) if not isinstance(x, list | tuple | np.ndarray) else tuple(x) for x in axes]
        left = tuple(canonical_axis(k, rank_a) for k in pairs[0])
        right = tuple(canonical_axis(k, rank_b) for k in pairs[1])
        return left, right
    try:
        n = operator.index(axes)
    except TypeError:
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of "
            f"ints, got {axes!r}."
        ) from None
    if n > min(rank_a, rank_b):
        raise TypeError(
            f"Number of tensordot axes (axes {n}) exceeds input ranks ({rank_a} and {rank_b})"
        )
    return tuple(range(rank_a - n, rank_a)), tuple(range(n))


# --- einsum -------------------------------------------------------------------------------------


def einsum(
    subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto",
    precision: Any = None, preferred_element_type: Any = None, _dot_general: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Sums of products by Einstein's convention, in an order that `opt_einsum` finds.

    Args:
      subscripts: such as "ij,jk->ik"; or the first operand, in the form with lists of axes.
      operands: arrays.
      optimize: how to find the order: a strategy of `opt_einsum`, or a path.
      preferred_element_type: dtype of accumulation and result.
    """
    util.check_no_out("einsum", out)
    # Loaded at the first use: few programs need it.
    import opt_einsum

    strategy = "optimal" if optimize is True or optimize == "auto" else optimize
    all_operands = (subscripts, *operands) if not isinstance(subscripts, str) else operands
    if isinstance(subscripts, str):
        util.check_arraylike("einsum", *operands)
        shapes = [_Shape(shape_of(x)) for x in operands]
        args: tuple[Any, ...] = (subscripts, *shapes)
        arrays = list(operands)
    else:
        util.check_arraylike("einsum", *all_operands[: len(all_operands) // 2 * 2 : 2])
        args = tuple(_Shape(shape_of(x)) if i % 2 == 0 and i + 1 < len(all_operands) else x
                     for i, x in enumerate(all_operands))  # fmt: skip
        arrays = [x for i, x in enumerate(all_operands) if i % 2 == 0 and i + 1 < len(all_operands)]
    contractions = opt_einsum.contract_path(
        *args, einsum_call=True, use_blas=True, optimize=strategy if strategy is not False else _in_order(len(arrays))
    )[1]
    return _einsum(arrays, tuple((tuple(c[0]), frozenset(c[1]), c[2]) for c in contractions),
                   precision, preferred_element_type)  # fmt: skip


class _Shape:
    """What `opt_einsum` looks at of an operand."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.ndim = len(shape)


def _in_order(n: int) -> list[tuple[int, ...]]:
    return [tuple(range(n))] if n <= 2 else [(0, 1)] * (n - 1)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> Any:
    """(order of contractions, description), as `opt_einsum.contract_path` gives."""
    import opt_einsum

    strategy = "optimal" if optimize is True or optimize == "auto" else optimize
    return opt_einsum.contract_path(subscripts, *operands, optimize=strategy)


def _einsum(operands: list[Any], contractions: Any, precision: Any, preferred: Any) -> Any:
    types = tuple(util.type_of(x) for x in operands)
    if preferred is None:
        preferred, weak = dtypes.common_type(types)
    else:
        dtypes.check_user_dtype_supported(preferred, "einsum")
        preferred, weak = dtypes.canonicalize_dtype(preferred), False
    values = [convert.as_value(x) for x in util.promote_dtypes(*operands)]
    if len(values) == 1:
        values = [convert.convert(values[0], preferred, weak)]
    for positions, _, names in contractions:
        inputs, result = names.split("->")
        terms = inputs.split(",")
        taken = [values.pop(i) for i in positions]
        if len(taken) == 1:
            out = _one_operand(taken[0], terms[0], result)
        else:
            out = _two_operands(taken, terms, result, precision, preferred)
        values.append(out)
    out = values[0]
    return convert.convert(out, preferred, weak)


def _diagonals(x: Any, names: str) -> tuple[Any, str]:
    """`x` with axes of one name joined into their diagonal."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            n = shape_of(x)[first]
            if shape_of(x)[second] != n:
                raise ValueError(f"einsum: axes called {name!r} have extents {n} and {shape_of(x)[second]}")
            x = _diagonal(x, first, second)
            names = names[:second] + names[second + 1 :]
    return x, names


def _diagonal(x: Any, first: int, second: int) -> Any:
    """The elements with equal indices along two axes; the second axis goes."""
    shape = shape_of(x)
    n = shape[first]
    ij = [broadcasted_iota(np.int32, (n, n), k) for k in (0, 1)]
    same = broadcast_in_dim(eq(*ij), shape, (first, second))
    dtype, weak = util.type_of(x)
    zero = broadcast_to(convert.as_value(convert.scalar_operand(0, dtype, weak)), shape)
    kept = select(same, x, zero)
    return reduce.reduce_or(kept, (second,)) if dtype == np.bool_ else reduce.reduce_sum(kept, (second,))


def _sum_out(x: Any, names: str, keep: str) -> tuple[Any, str]:
    """`x` summed over the axes whose names are not in `keep`."""
    axes = tuple(k for k, name in enumerate(names) if name not in keep)
    if axes:
        x = array_sum(x, axes, dtype=util.dtype_of(x)) if util.dtype_of(x) != np.bool_ else reduce.reduce_or(x, axes)
        names = "".join(name for name in names if name in keep)
    return x, names


def _one_operand(x: Any, names: str, result: str) -> Any:
    x, names = _diagonals(x, names)
    x, names = _sum_out(x, names, result)
    return transpose(x, tuple(names.index(c) for c in result))


def _two_operands(
    operands: list[Any], terms: list[str], result: str, precision: Any, dtype: Any
) -> Any:
    # opt_einsum takes operands off the end of its list first: the later one stands first.
    a, b = operands
    a_names, b_names = terms
    a, a_names = _diagonals(a, a_names)
    b, b_names = _diagonals(b, b_names)
    a, a_names = _sum_out(a, a_names, b_names + result)
    b, b_names = _sum_out(b, b_names, a_names + result)
    sizes: dict[str, int] = {}
    for x, names in ((a, a_names), (b, b_names)):
        for name, n in zip(names, shape_of(x), strict=True):
            sizes[name] = max(sizes.get(name, 1), n)
    a, a_names = _drop_stretched(a, a_names, sizes)
    b, b_names = _drop_stretched(b, b_names, sizes)
    shared = [c for c in a_names if c in b_names]
    batch = [c for c in shared if c in result]
    contract = [c for c in shared if c not in result]
    numbers = (
        (tuple(a_names.index(c) for c in contract), tuple(b_names.index(c) for c in contract)),
        (tuple(a_names.index(c) for c in batch), tuple(b_names.index(c) for c in batch)),
    )
    out = lax_dot.dot_general(a, b, numbers, precision, preferred_element_type=dtype)
    names = "".join(batch)
    names += "".join(c for c in a_names if c not in shared)
    names += "".join(c for c in b_names if c not in shared)
    missing = tuple(k for k, c in enumerate(result) if c not in names)
    ordered = [c for c in result if c in names]
    out = transpose(out, tuple(names.index(c) for c in ordered))
    if missing:
        out = broadcast_to(expand_dims(out, missing), tuple(sizes[c] for c in result))
    return out


def _drop_stretched(x: Any, names: str, sizes: dict[str, int]) -> tuple[Any, str]:
    """`x` without axes of extent 1 that the other operand stretches."""
    axes = tuple(k for k, (c, n) in enumerate(zip(names, shape_of(x), strict=True)) if n == 1 != sizes[c])
    return (squeeze(x, axes), "".join(c for k, c in enumerate(names) if k not in axes)) if axes else (x, names)


# --- others -------------------------------------------------------------------------------------


def kron(a: Any, b: Any) -> Any:
    """Kronecker product."""
    util.check_arraylike("kron", a, b)
    a, b = (convert.as_value(x) for x in util.promote_dtypes(a, b))
    rank = max(len(shape_of(a)), len(shape_of(b)))
    a = reshape(a, (1,) * (rank - len(shape_of(a))) + shape_of(a))
    b = reshape(b, (1,) * (rank - len(shape_of(b))) + shape_of(b))
    left = expand_dims(a, tuple(range(1, 2 * rank, 2)))
    right = expand_dims(b, tuple(range(0, 2 * rank, 2)))
    product = binary.mul(left, right)
    return reshape(product, tuple(n * m for n, m in zip(shape_of(a), shape_of(b), strict=True)))


@partial(jit_when_traced, static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Cross product of vectors of 2 or 3 components along an axis."""
    util.check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = (convert.as_value(x) for x in util.promote_dtypes(a, b))
    a, b = _last(a, axisa), _last(b, axisb)
    n, m = shape_of(a)[-1], shape_of(b)[-1]
    if n not in (2, 3) or m not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    parts_a = [a[..., k] for k in range(n)]
    parts_b = [b[..., k] for k in range(m)]
    mul, sub = _broadcasting(binary.mul), _broadcasting(binary.sub)
    z = sub(mul(parts_a[0], parts_b[1]), mul(parts_a[1], parts_b[0]))
    if n == m == 2:
        return z
    zero = convert.scalar_operand(0, util.dtype_of(a), False)
    az = parts_a[2] if n == 3 else broadcast_to(convert.as_value(zero), shape_of(parts_a[0]))
    bz = parts_b[2] if m == 3 else broadcast_to(convert.as_value(zero), shape_of(parts_b[0]))
    x = sub(mul(parts_a[1], bz), mul(az, parts_b[1]))
    y = sub(mul(az, parts_b[0]), mul(parts_a[0], bz))
    return stack([x, y, z], canonical_axis(axisc, len(shape_of(x)) + 1))


def _broadcasting(op: Any) -> Any:
    def apply(x: Any, y: Any) -> Any:
        shape = broadcast_shapes(shape_of(x), shape_of(y))
        return op(broadcast_to(x, shape), broadcast_to(y, shape))

    return apply
