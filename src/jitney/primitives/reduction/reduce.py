"""Reductions over axes: sums, products, extrema, logic, argmax, argmin, and general folds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np

from jitney.compiler import lower as lowering
from jitney.compiler.reference import reduction
from jitney.core.messages import messages
from jitney.core.program import text
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, JaxprEqn, Var
from jitney.core.pytree import pytrees
from jitney.core.recording import jaxpr_trace
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.function_traces import traced_once
from jitney.core.settings import config
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.out_places import out_place
from jitney.primitives.elementwise import binary, families, masks, taylor
from jitney.primitives.reduction.pairwise import by_pairs, cut
from jitney.transforms import jet
from jitney.transforms.batch import AxisData, batch_jaxpr
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.compiler.hlo.ir import Monoid
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, ArrayLike, DTypeLike, PyTree
    from jitney.primitives.rule_types import (
        Builder,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

Axes = tuple[int, ...]
_Tree = TypeVar("_Tree")  # a pytree of arrays


def _check_axes(function: str, parameter: str, axes: Axes, x: ShapedArray) -> None:
    if len(set(axes)) != len(axes):
        raise ValueError(
            f"{function}: an axis can be reduced only once, but `{parameter}` is {axes}"
        )
    if not all(0 <= a < x.ndim for a in axes):
        raise ValueError(
            f"{function}: `{parameter}` must name axes of the operand, {x.str_short()}, which has "
            f"{messages.axes_of_rank(x.ndim)}, but is {axes}"
        )


def _without(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    return tuple([n for k, n in enumerate(shape) if k not in axes])


class ReductionFunction(Protocol):
    """A public function that reduces by a monoid."""

    def __call__(
        self, operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike | None = None
    ) -> Array: ...


_F16 = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))

_PLACED: tuple[Monoid, ...] = ("add", "max", "min")  # reductions with the option `out_sharding`

_SECTIONS = """
    Args:
      operand: array.
      axes: the axes to reduce, each at most once; they must not be negative.
      out_sharding: the sharding of the result on the context mesh.

    Returns: array with the dtype of `operand`, without the axes `axes`. (Unlike `jnp.sum`, sums of
      small integers are not widened.)

    Raises:
      TypeError: if the operation is not defined for the dtype.
      ValueError: if an axis is out of bounds or occurs twice.
    """


def _refuse_f16(operand: ArrayLike, axes: Sequence[int]) -> None:
    """Raises ValueError if several 16-bit floats would be added."""
    aval = get_aval(operand)
    if aval.dtype in _F16 and any([aval.shape[a] != 1 for a in axes]):
        raise ValueError(
            f"reduce_sum of {aval.str_short()} over axes {tuple(axes)} is not allowed if "
            "jax_allow_f16_reductions is False; convert the operand to float32 first"
        )


def _monoid(
    name: str, fn: Monoid, accepts: families.Accepts, doc: str, *, linear: bool = False
) -> tuple[Primitive, ReductionFunction]:
    """Declares the reduction `name` by the monoid `fn`; returns it and its public function."""
    prim = declare(name, linear=linear)
    prim.sharding(sharding_rules.reduced)
    if fn == "add":
        prim.checks_place(sharding_rules.unreduced_sum)
    elif fn in _PLACED:
        prim.checks_place(sharding_rules.no_terms)

    @prim.abstract
    def abstract_rule(x: ShapedArray, *, axes: Axes, **_: object) -> ShapedArray:
        if fn in ("and", "or", "xor") and x.dtype.kind not in "biu":
            raise TypeError(
                f"reduce_{fn}: the operand must contain booleans or integers, but is "
                f"{dtypes.long_name(x.dtype)}"
            )
        _check_axes(name, "axes", axes, x)
        if not families.is_accepted(x.dtype, accepts):
            kinds = "numeric" if accepts == families.NUMERIC else "numeric or boolean"
            raise TypeError(
                f"{name}: the operand must be {kinds}, but is {dtypes.long_name(x.dtype)}"
            )
        return x.update(shape=_without(x.shape, axes))

    @prim.eager
    def eager_rule(x: np.ndarray, *, axes: Axes, **_: object) -> np.ndarray:
        return reduction.reduce(x, fn, axes)

    @prim.lower
    def lower_rule(b: Builder, x: Node, *, axes: Axes, **_: object) -> Node:
        if fn == "add" and x.dtype == np.bool_:
            return b.reduce(x, "or", axes)
        if x.dtype.itemsize == 2 and x.dtype.kind in "fV" and fn in ("add", "mul"):
            wide = b.reduce(b.convert(x, np.float32), fn, axes)
            return b.convert(wide, x.dtype)
        return b.reduce(x, fn, tuple(map(int, axes)))

    return prim, families.named(_public_function(prim, fn), name, doc, _SECTIONS)


def _public_function(prim: Primitive, fn: Monoid) -> ReductionFunction:
    """Returns the public function that binds the reduction `prim` by `fn`."""
    bind, name, has_place = prim.bind, prim.name, fn in _PLACED

    def function(
        operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike | None = None
    ) -> Array:
        extra: dict[str, Any] = {}
        if not has_place and out_sharding is not None:
            raise TypeError(f"{name} has no option out_sharding; apply jax.reshard to the result")
        if has_place:
            extra["out_sharding"] = out_place(out_sharding, name)
            if fn == "add" and not config.allow_f16_reductions.value:
                _refuse_f16(operand, axes)
        try:
            return bind(operand, axes=tuple([operator.index(a) for a in axes]), **extra)
        except TypeError:
            families.check_operands(name, operand)
            raise

    return function


reduce_sum_p, reduce_sum = _monoid(
    "reduce_sum",
    "add",
    families.NUMERIC,
    """Computes the sum over `axes`; integers wrap around.

    Example:
      >>> lax.reduce_sum(jnp.array([[1, 2], [3, 4]]), (0,))
      Array([4, 6], dtype=int32)
    """,
    linear=True,
)
reduce_prod_p, reduce_prod = _monoid(
    "reduce_prod",
    "mul",
    families.NUMERIC,
    "Computes the product over `axes`; integers wrap around.",
)
reduce_max_p, reduce_max = _monoid(
    "reduce_max",
    "max",
    families.NOT_KEYS,
    """Computes the maximum over `axes`, which is NaN if an element is NaN.

    Example:
      >>> lax.reduce_max(jnp.array([[1, 2], [3, 4]]), (1,))
      Array([2, 4], dtype=int32)
    """,
)
reduce_min_p, reduce_min = _monoid(
    "reduce_min",
    "min",
    families.NOT_KEYS,
    "Computes the minimum over `axes`, which is NaN if an element is NaN.",
)
reduce_and_p, reduce_and = _monoid(
    "reduce_and", "and", families.BITS, "Computes the bitwise AND over `axes`."
)
reduce_or_p, reduce_or = _monoid(
    "reduce_or", "or", families.BITS, "Computes the bitwise OR over `axes`."
)
reduce_xor_p, reduce_xor = _monoid(
    "reduce_xor", "xor", families.BITS, "Computes the bitwise XOR over `axes`."
)

# --- arg-extremes -------------------------------------------------------------------------------


class ArgExtremeFunction(Protocol):
    """The function `argmax` or `argmin`."""

    def __call__(self, operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array: ...


_ARG_SECTIONS = """
    Args:
      operand: array with a real dtype.
      axis: the axis to search, which must not be negative and must have at least one element.
      index_dtype: integer dtype of the result.

    Returns: array with dtype `index_dtype`, without `axis`.

    Raises:
      TypeError: if a dtype is not supported.
      ValueError: if the axis is out of bounds, or has no elements.
    """


def _arg_extreme(name: str, kind: str, doc: str) -> tuple[Primitive, ArgExtremeFunction]:
    prim = declare(name)
    prim.sharding(sharding_rules.reduced)

    @prim.abstract
    def abstract_rule(x: ShapedArray, *, axes: Axes, index_dtype: np.dtype) -> ShapedArray:
        (axis,) = axes
        if not 0 <= axis < x.ndim:
            raise ValueError(
                f"{name}: `axis` must name an axis of the operand, of shape {x.shape}, which has "
                f"{messages.axes_of_rank(x.ndim)}, but is {axis}"
            )
        if x.shape[axis] < 1:
            raise ValueError(f"{name}: an operand of shape {x.shape} has no elements along {axis=}")
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(
                f"{name}: `index_dtype` must be an integer dtype, but is "
                f"{dtypes.long_name(index_dtype)}"
            )
        families.check_dtype("gt" if kind == "max" else "lt", x.dtype, families.ORDERED, 0)
        return shaped_array(_without(x.shape, axes), np.dtype(index_dtype))

    @prim.eager
    def eager_rule(x: np.ndarray, *, axes: Axes, index_dtype: np.dtype) -> np.ndarray:
        return reduction.arg_reduce(x, kind, axes[0], index_dtype)

    @prim.lower
    def lower_rule(b: Builder, x: Node, *, axes: Axes, index_dtype: np.dtype) -> Node:
        return b.arg_reduce(x, kind, int(axes[0]), np.dtype(index_dtype))

    def function(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
        dtype = dtypes.canonicalize_dtype(np.dtype(index_dtype))
        try:
            return prim.bind(operand, axes=(operator.index(axis),), index_dtype=dtype)
        except TypeError:
            families.check_operands(name, operand)
            raise

    return prim, families.named(function, name, doc, _ARG_SECTIONS)


argmax_p, argmax = _arg_extreme(
    "argmax",
    "max",
    """Returns the index of the first largest element along `axis`; NaN counts as largest.

    Example:
      >>> lax.argmax(jnp.array([3, 9, 4]), 0, jnp.int32)
      Array(1, dtype=int32)
    """,
)
argmin_p, argmin = _arg_extreme(
    "argmin",
    "min",
    "Returns the index of the first smallest element along `axis`; NaN counts as smallest.",
)

# --- general folds ------------------------------------------------------------------------------

reduce_p = declare("reduce", multiple_results=True)
reduce_p.sharding(sharding_rules.reduced)


@reduce_p.abstract
def _reduce_abstract(
    *avals: ShapedArray, computation: object, jaxpr: ClosedJaxpr, dimensions: Axes
) -> list[ShapedArray]:
    operands, inits = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    if any(i.shape for i in inits):
        raise ValueError(
            f"lax.reduce: `init_values` must be scalars, but have the shapes {[i.shape for i in inits]}"
        )
    if any(x.dtype != i.dtype for x, i in zip(operands, inits, strict=True)):
        raise TypeError(
            "lax.reduce: each initial value must have its operand's dtype, but the types are "
            f"operands={list(operands)} and init_values={list(inits)}"
        )
    if any(x.shape != operands[0].shape for x in operands):
        raise ValueError(
            f"lax.reduce: operands must have the same shape, got {[x.shape for x in operands]}"
        )
    _check_axes("lax.reduce", "dimensions", dimensions, operands[0])
    outs: list[Any] = jaxpr.out_avals
    out_types = [(a.shape, a.dtype) for a in outs]
    wanted = [(i.shape, i.dtype) for i in inits]
    if out_types != wanted:
        raise ValueError(
            "lax.reduce: `computation` must return scalars of the dtypes of the initial values, got "
            f"{[a.str_short() for a in jaxpr.out_avals]} for {[i.str_short() for i in inits]}"
        )
    shape = _without(operands[0].shape, dimensions)
    return [
        shaped_array(shape, x.dtype, x.weak_type and i.weak_type)
        for x, i in zip(operands, inits, strict=True)
    ]


@reduce_p.lower
def _reduce_lower(
    b: Builder, *nodes: Node, computation: object, jaxpr: ClosedJaxpr, dimensions: Axes
) -> list[Node]:
    xs, inits = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    if not dimensions:
        return list(xs)
    fn = _monoid_of(jaxpr)
    if fn is not None and xs[0].dtype.itemsize >= 4:
        folded = b.reduce(xs[0], fn, dimensions)
        return [b.apply(fn, b.broadcast(inits[0], folded.shape, ()), folded)]
    types = [lowering.scalar_type(x.dtype) for x in (*xs, *xs)]

    def fold(inner: Builder, *args: Node) -> list[Node]:
        return lowering.inline(inner, jaxpr, args)

    body = b.region(types, fold)
    return b.reduce_region(xs, inits, dimensions, body)


reduce_p.absent("eager", why="its fold is a program, which is compiled (runtime.eager)")


def _monoid_of(jaxpr: ClosedJaxpr) -> Monoid | None:
    """Returns the name of the monoid if `jaxpr` consists of its operation only, otherwise None."""
    inner = jaxpr.jaxpr
    if len(inner.eqns) != 1 or len(inner.invars) != 2 or len(inner.outvars) != 1:
        return None
    (eqn,) = inner.eqns
    whole = list(eqn.invars) == list(inner.invars) and inner.outvars[0] is eqn.outvars[0]
    monoids = ("add", "mul", "max", "min", "and", "or", "xor")
    return eqn.primitive.name if whole and eqn.primitive.name in monoids else None


def _print_reduce(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = {**eqn.params, "computation": str(eqn.params["computation"])}
    return text.eqn_with_params(eqn, sorted(params.items()), context, settings)


text.printing_rules["reduce"] = _print_reduce

# Functions of `jax.lax` for which the fold from the neutral element is a built-in reduction.
_MONOIDS: dict[Callable[..., Any], tuple[Monoid, ReductionFunction]] = {
    binary.add: ("add", reduce_sum),
    binary.mul: ("mul", reduce_prod),
    binary.max: ("max", reduce_max),
    binary.min: ("min", reduce_min),
    binary.bitwise_and: ("and", reduce_and),
    binary.bitwise_or: ("or", reduce_or),
    binary.bitwise_xor: ("xor", reduce_xor),
}


def _special_case(
    computation: Callable[..., Any], operand: Value, init: Value
) -> tuple[Monoid, ReductionFunction] | None:
    """Returns the monoid and the built-in reduction that equal a fold from `init`, or None."""
    try:
        monoid = _MONOIDS.get(computation)
    except TypeError:
        return None
    value: Value = getattr(init, "_value", init)
    if monoid is None or not isinstance(
        value, np.ndarray | np.generic | bool | int | float | complex
    ):
        return None
    fn = monoid[0]
    dtype: Any = get_aval(operand).dtype
    if dtypes.is_extended(dtype) or np.shape(value):
        return None
    neutral = reduction.neutral(fn, dtype)
    return monoid if np.asarray(value) == neutral else None


@overload
def reduce(
    operands: ArrayLike,
    init_values: ArrayLike,
    computation: Callable[[Array, Array], ArrayLike],
    dimensions: Sequence[int],
    out_sharding: ShardingLike | None = ...,
) -> Array: ...
@overload
def reduce(
    operands: _Tree,
    init_values: object,
    computation: Callable[..., object],
    dimensions: Sequence[int],
    out_sharding: ShardingLike | None = ...,
) -> _Tree: ...
def reduce(
    operands: _Tree,
    init_values: object,
    computation: Callable[..., object],
    dimensions: Sequence[int],
    out_sharding: ShardingLike | None = None,
) -> _Tree | Array:
    """Reduces a pytree of arrays over `dimensions` by the function `computation`.

    Args:
      operands: a pytree of arrays of the same shape.
      init_values: a pytree of the same structure with scalars of the operands' dtypes. They must be
        neutral elements of `computation`.
      computation: an associative function of scalars, (accumulators, elements) -> accumulators.
      dimensions: the axes over which to reduce.
      out_sharding: the sharding of the result on the context mesh. It applies to sums, maxima and
        minima that start from the neutral element, and is ignored for other computations.

    Returns: a pytree with the operands' structure, whose arrays do not have the axes `dimensions`.

    Raises:
      ValueError: if structures or shapes differ, or if an axis is out of bounds.
      TypeError: if an initial value does not have its operand's dtype.
      NotImplementedError: if `computation` closes over tracers.

    Example:
      >>> lax.reduce(jnp.array([[1, 2], [3, 4]]), 0, lax.add, (1,))
      Array([3, 7], dtype=int32)
    """
    out_place(out_sharding, "reduce")
    xs, tree = pytrees.tree_flatten(operands)
    inits, init_tree = pytrees.tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            "lax.reduce: `operands` and `init_values` must have the same tree structure, but "
            f"have {tree} and {init_tree}"
        )
    if not xs:
        raise ValueError("lax.reduce: `operands` must not be empty")
    axes = tuple([operator.index(d) for d in dimensions])
    if len(xs) == 1:
        special = _special_case(computation, xs[0], inits[0])
        if special is not None:
            fn, function = special
            operand: Any = get_aval(xs[0])
            start: Any = get_aval(inits[0])
            if operand.weak_type and not start.weak_type:
                xs = [calculus.convert_element_type(xs[0], new_dtype=operand.dtype)]
            place = out_sharding if fn in _PLACED else None
            return pytrees.tree_unflatten(tree, [function(xs[0], axes, out_sharding=place)])
    avals = [shaped_array((), a.dtype, a.weak_type) for a in map(get_aval, inits)]
    program = traced_once(
        computation,
        ("reduce", tree, tuple(avals)),
        lambda: _traced(computation, tree, avals),
        lambda traced: traced.consts,
    )
    if any(isinstance(c, Tracer) for c in program.consts):
        raise NotImplementedError("lax.reduce: `computation` must not close over a traced value")
    out = reduce_p.bind(
        *xs,
        *inits,
        computation=computation,
        jaxpr=program,
        dimensions=axes,
    )
    return pytrees.tree_unflatten(tree, out)


def _traced(
    computation: Callable[..., PyTree], tree: pytrees.PyTreeDef, avals: Sequence[AbstractValue]
) -> ClosedJaxpr:
    """Traces `computation` of two elements of types `avals`."""
    flat = FlatFunction(computation, pytrees.treedef_tuple((tree, tree)))
    jaxpr, _, consts = jaxpr_trace.trace_to_jaxpr(
        flat, [*avals, *avals], DebugInfo("reduce", "reduce")
    )
    if flat.out_tree != tree:
        raise ValueError(f"lax.reduce: `computation` must return {tree}, got {flat.out_tree}")
    return ClosedJaxpr(jaxpr, consts)


# --- derivatives and batching ---------------------------------------------------------------------


def _sum_transpose(ct: Value, x: Operand, *, axes: Axes, out_sharding: object) -> Value:
    shape = rules.shape_of(x)
    kept = tuple(k for k in range(len(shape)) if k not in axes)
    place = explicit.sharding_of(rules.aval_of(x).to_cotangent_aval())
    return calculus.broadcast_in_dim(ct, shape=shape, broadcast_dimensions=kept, sharding=place)


rules.deflinear(reduce_sum_p, _sum_transpose)


def _extreme_jvp(t: Value, out: Value, x: Value, *, axes: Axes, out_sharding: object) -> Value:
    # The tangent is the mean of the tangents of the extreme elements.
    shape = tuple(1 if k in axes else n for k, n in enumerate(rules.shape_of(x)))
    place = calculus.reshape(out, new_sizes=shape)
    with masks.noting():
        where = calculus.convert_element_type(
            calculus.eq(x, place), new_dtype=rules.aval_of(t).dtype
        )
        picked = calculus.mul(t, where)
    count = reduce_sum_p.bind(where, axes=axes, out_sharding=None)
    total = reduce_sum_p.bind(picked, axes=axes, out_sharding=None)
    return calculus.div(total, count)


rules.defjvp2(reduce_max_p, _extreme_jvp)
rules.defjvp2(reduce_min_p, _extreme_jvp)


for _prim in (reduce_max_p, reduce_min_p):
    _prim.jet(jet.piecewise_linear(_prim))


def _product(x: Value, *, axes: Axes) -> Value:
    """Computes the product over `axes` by multiplying halves, padded with 1, as JAX does."""
    one = rules.const(x, 1)
    for axis in sorted(axes, reverse=True):
        while (n := rules.shape_of(x)[axis]) > 1:
            half = (n + 1) // 2
            low, high = cut(x, axis, 0, half), cut(x, axis, half, n)
            if n % 2:
                rank = len(rules.shape_of(x))
                config = tuple((0, int(k == axis), 0) for k in range(rank))
                high = calculus.pad(high, one, padding_config=config)
            x = calculus.mul(low, high)
        if n == 0:
            shape = list(rules.shape_of(x))
            shape[axis] = 1
            x = rules.broadcast_to_result(one, tuple(shape))
        x = calculus.squeeze(x, dimensions=(axis,))
    return x


@reduce_prod_p.jvp
def _reduce_prod_jvp(primals: Primals, tangents: Tangents, *, axes: Axes) -> tuple[Value, Tangent]:
    def products(x: Value) -> list[Value]:
        return [_product(x, axes=axes)]

    (out,), (dout,) = jvp_flat(products, primals, tangents)
    return out, dout


taylor.composed(reduce_prod_p, _product)


rules.reducer(
    reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p, reduce_or_p,
    reduce_xor_p, argmax_p, argmin_p,
)  # fmt: skip
rules.def_zero_derivative(reduce_and_p, reduce_or_p, reduce_xor_p, argmax_p, argmin_p)
for _prim in (
    reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p, reduce_or_p, reduce_xor_p, argmax_p,
    argmin_p, reduce_p,
):  # fmt: skip
    _prim.absent("transpose", why="not linear")


@reduce_p.jvp
def _reduce_jvp(
    primals: Primals,
    tangents: Tangents,
    *,
    computation: object,
    jaxpr: ClosedJaxpr,
    dimensions: Axes,
) -> tuple[list[Value], list[Tangent]]:
    n = len(primals) // 2
    xs, inits = primals[:n], primals[n:]
    if any(type(t) is not Zero for t in tangents[n:]):
        raise NotImplementedError(
            "lax.reduce: the derivative of the result with respect to `init_values` is not defined"
        )

    def combine(low: Primals, high: Primals) -> Primals:
        whole = vectorized_program(jaxpr, rules.shape_of(low[0]))
        return eval_jaxpr(whole.jaxpr, whole.consts, *low, *high)

    def folded(*ys: Value) -> Primals:
        outs = by_pairs(ys, dimensions, combine, inits, halves=_is_extreme(jaxpr))
        starts = [rules.broadcast_to_result(i, rules.shape_of(outs[0])) for i in inits]
        return combine(starts, outs)

    return jvp_flat(folded, xs, tangents[:n])


def _is_extreme(closed: ClosedJaxpr) -> bool:
    """Returns whether the program is the maximum or the minimum of its two operands."""
    jaxpr = closed.jaxpr
    return (
        len(jaxpr.eqns) == 1
        and jaxpr.eqns[0].primitive in (binary.max_p, binary.min_p)
        and all(isinstance(x, Var) for x in jaxpr.eqns[0].invars)
        and jaxpr.eqns[0].outvars == jaxpr.outvars
    )


def vectorized_program(closed: ClosedJaxpr, shape: tuple[int, ...]) -> ClosedJaxpr:
    """Batches a program of scalars to an elementwise program of arrays of `shape`."""
    for size in reversed(shape):
        batched = (True,) * len(closed.in_avals)
        closed, _ = batch_jaxpr(closed, AxisData(None, size), batched, True)
    return closed


@reduce_p.batch
def _reduce_batch(
    args: Primals, dims: Dims, *, computation: object, jaxpr: ClosedJaxpr, dimensions: Axes
) -> tuple[list[Value], list[int]]:
    n = len(args) // 2
    if any(d is not None for d in dims[n:]):
        raise NotImplementedError(
            "lax.reduce: under vmap, `init_values` must not be mapped; pass the neutral elements of "
            "the computation, and combine the result with the mapped initial values"
        )
    size = rules.batch_size(args, dims)
    xs = [rules.to_front(x, d, size) for x, d in zip(args[:n], dims[:n], strict=True)]
    axes = tuple(k + 1 for k in dimensions)
    out = reduce_p.bind(*xs, *args[n:], computation=computation, jaxpr=jaxpr, dimensions=axes)
    return out, [0] * n
