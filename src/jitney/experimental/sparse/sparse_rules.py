"""Rules of `sparsify` for primitives with sparse operands.

These rules are functions of dense and sparse arrays, with the parameters of the primitive as
keyword arguments. Unary elementwise functions that map zero to zero keep the indices; if they are
not linear, duplicates are summed first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit
from jitney.core.tracing.primitive import registry
from jitney.experimental.sparse import spvalues as sp
from jitney.experimental.sparse.api import todense_p
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo import structure
from jitney.experimental.sparse.bcoo.convolution import bcoo_conv_general_dilated
from jitney.experimental.sparse.bcoo.dot import bcoo_dot_general
from jitney.experimental.sparse.bcoo.elementwise import (
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
    unique,
    with_dense,
)
from jitney.experimental.sparse.bcoo.matrix import BCOO, bcoo_transpose, bcoo_update_layout
from jitney.experimental.sparse.bcsr import (
    BCSR,
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_dot_general,
    bcsr_sum_duplicates,
)
from jitney.primitives import load_all

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.pytree import pytrees
    from jitney.core.typing import Array
    from jitney.experimental.sparse.util import Shape
    from jitney.primitives.flat_trees import FlatTree
    from jitney.primitives.rule_types import Param

load_all.load()
Operand = Any  # a dense array, BCOO or BCSR


def _define(name: str, rule: Callable[..., Any], *, bcsr: Callable[..., Any] | None = None) -> None:
    """Registers functions of arrays as the rules of a primitive for BCOO and for BCSR."""
    prim = registry[name]

    def of_values(
        fun: Callable[..., Any], spenv: sp.SparsifyEnv, *values: sp.SparsifyValue, **params: Param
    ) -> Sequence[sp.SparsifyValue]:
        out = fun(*[sp.to_array(spenv, v) for v in values], **params)
        outs = out if prim.multiple_results else [out]
        return [sp.to_spvalue(spenv, x) for x in outs]

    sp.sparse_rules_bcoo[prim] = functools.partial(of_values, rule)
    if bcsr is not None:
        sp.sparse_rules_bcsr[prim] = functools.partial(of_values, bcsr)


# --- unary elementwise functions ----------------------------------------------------------------

_LINEAR = ("conj", "convert_element_type", "copy", "imag", "neg", "real", "stop_gradient")
_KEEPING_ZEROS = (
    "abs", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cbrt", "ceil", "erf", "erf_inv", "expm1",
    "floor", "integer_pow", "log1p", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip


def _elementwise(name: str, linear: bool) -> None:
    bind = registry[name].bind

    def rule(mat: BCOO | BCSR, **params: Param) -> Operand:
        if name == "integer_pow" and params["y"] <= 0:
            raise NotImplementedError(
                f"sparse rule for {name} with y={params['y']} is not implemented, because the result "
                "would be dense; convert the operand with x.todense()"
            )
        if not linear and not (mat.unique_indices and mat.n_sparse):
            mat = unique(mat) if isinstance(mat, BCOO) else bcsr_sum_duplicates(mat, nse=mat.nse)
        arrays, description = mat.tree_flatten()
        data = bind(arrays[0], **params)
        return type(mat).tree_unflatten(description, (data, *arrays[1:]))

    _define(name, rule, bcsr=rule)


for _name in _LINEAR:
    _elementwise(_name, linear=True)
for _name in _KEEPING_ZEROS:
    _elementwise(_name, linear=False)


# --- sums and products --------------------------------------------------------------------------


def _with_data(mat: BCOO, data: Array) -> BCOO:
    return BCOO(
        (data, mat.indices),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _alike(x: BCOO, y: BCOO) -> tuple[BCOO, BCOO]:
    """Converts two arrays to the layout with the smaller numbers of batch and dense axes."""
    n_batch, n_dense = min(x.n_batch, y.n_batch), min(x.n_dense, y.n_dense)
    x, y = (bcoo_update_layout(m, n_batch=n_batch, n_dense=n_dense) for m in (x, y))
    return x, y


def _densify_scalar(x: Operand) -> Operand:
    """Converts a sparse scalar to a dense scalar, which does not take more memory."""
    return x.todense() if isinstance(x, BCOO) and not x.ndim else x


def _mul(x: Operand, y: Operand, **_: Any) -> Operand:
    x, y = _densify_scalar(x), _densify_scalar(y)
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        if x.indices is y.indices and x.unique_indices and x.shape == y.shape:
            return _with_data(x, x.data * y.data)
        return bcoo_multiply_sparse(*_alike(x, y))
    if isinstance(y, BCOO):
        x, y = y, x
    if not isinstance(x, BCOO):
        return lax.mul(x, y)
    return _with_data(x, bcoo_multiply_dense(x, y))


def _div(x: Operand, y: Operand, **_: Any) -> Operand:
    x, y = _densify_scalar(x), _densify_scalar(y)
    if isinstance(y, BCOO):
        raise NotImplementedError(
            f"a division by a sparse array, {y}, has a dense result, with NaN or infinity where no "
            "element is stored; use y.todense() as the divisor"
        )
    if not isinstance(x, BCOO):
        return lax.div(x, y)
    y = jnp.asarray(y)
    if not y.ndim:
        return _with_data(x, lax.div(x.data, y))
    return _with_data(x, with_dense(lax.div, x, y, 1))


def _add(x: Operand, y: Operand, **_: Any) -> Operand:
    x, y = _densify_scalar(x), _densify_scalar(y)
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        if x.indices is y.indices and x.shape == y.shape:
            return _with_data(x, x.data + y.data)
        x, y = _alike(x, y)
        return _side_by_side(x, y)
    if isinstance(y, BCOO):
        x, y = y, x
    if not isinstance(x, BCOO):
        return lax.add(x, y)
    y = jnp.asarray(y)
    if y.shape != x.shape:
        raise NotImplementedError(
            f"the sum of a sparse array, {x}, and a broadcast dense array of shape {y.shape} would "
            "be dense, and may be large; use x.todense() + y"
        )
    return x.todense() + y


def _side_by_side(x: BCOO, y: BCOO) -> BCOO:
    """Returns the sum of two arrays as an array that stores the elements of both."""
    batch = tuple(
        max(a, b)
        for a, b in zip(x.indices.shape[: x.n_batch], y.indices.shape[: x.n_batch], strict=True)
    )
    data_batch = tuple(
        max(a, b) for a, b in zip(x.data.shape[: x.n_batch], y.data.shape[: x.n_batch], strict=True)
    )
    data = [jnp.broadcast_to(m.data, (*data_batch, *m.data.shape[m.n_batch :])) for m in (x, y)]
    at = [jnp.broadcast_to(m.indices, (*batch, *m.indices.shape[m.n_batch :])) for m in (x, y)]
    return BCOO((jnp.concatenate(data, x.n_batch), jnp.concatenate(at, x.n_batch)), shape=x.shape)


def _sub(x: Operand, y: Operand, **_: Any) -> Operand:
    return _add(x, _with_data(y, -y.data) if isinstance(y, BCOO) else lax.neg(y))


def _dot_general(x: Operand, y: Operand, **params: Param) -> Operand:
    return bcoo_dot_general(
        x,
        y,
        dimension_numbers=params["dimension_numbers"],
        preferred_element_type=params.get("preferred_element_type"),
    )


def _bcsr_dot_general(x: Operand, y: Operand, **params: Param) -> Operand:
    return bcsr_dot_general(
        x,
        y,
        dimension_numbers=params["dimension_numbers"],
        preferred_element_type=params.get("preferred_element_type"),
    )


def _reduce_sum(mat: BCOO, *, axes: Sequence[int], out_sharding: None = None) -> Operand:
    del out_sharding
    return _densify_scalar(structure.bcoo_reduce_sum(mat, axes=axes))


_define("mul", _mul)
_define("div", _div)
_define("add", _add)
_define("sub", _sub)
_define("dot_general", _dot_general, bcsr=_bcsr_dot_general)
_define("reduce_sum", _reduce_sum)


# --- structural operations ----------------------------------------------------------------------


def _broadcast_in_dim(
    mat: BCOO, *, shape: Shape, broadcast_dimensions: Shape, sharding: None
) -> BCOO:
    del sharding
    return structure.bcoo_broadcast_in_dim(
        mat, shape=shape, broadcast_dimensions=broadcast_dimensions
    )


def _bcsr_broadcast(
    mat: BCSR, *, shape: Shape, broadcast_dimensions: Shape, sharding: None
) -> BCSR:
    del sharding
    return bcsr_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=broadcast_dimensions)


def _concatenate(*operands: Operand, dimension: int) -> BCOO:
    return structure.bcoo_concatenate(_common(operands), dimension=dimension)


def _common(operands: Sequence[Operand]) -> list[BCOO]:
    """Converts operands to the same layout.

    Raises:
      NotImplementedError: if an operand is not sparse.
    """
    if not all(isinstance(m, BCOO) for m in operands):
        raise NotImplementedError(
            "joining sparse and dense arrays would result in dense output; convert all of them to "
            "dense arrays with sparse.todense()"
        )
    n_batch, n_dense = min(m.n_batch for m in operands), min(m.n_dense for m in operands)
    return [bcoo_update_layout(m, n_batch=n_batch, n_dense=n_dense) for m in operands]


def _bcsr_concatenate(*operands: BCSR, dimension: int) -> BCSR:
    return bcsr_concatenate(operands, dimension=dimension)


def _with_new_axis(mat: Operand, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns (shape with a new axis of size 1, positions of the other axes)."""
    shape = (*mat.shape[:axis], 1, *mat.shape[axis:])
    return shape, tuple(k for k in range(len(shape)) if k != axis)


def _stack(*operands: Operand, axis: int) -> Operand:
    spread = []
    for mat in _common(operands):
        shape, dims = _with_new_axis(mat, axis)
        spread.append(structure.bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=dims))
    return structure.bcoo_concatenate(spread, dimension=axis)


def _bcsr_stack(*operands: BCSR, axis: int) -> BCSR:
    spread = []
    for mat in operands:
        shape, dims = _with_new_axis(mat, axis)
        spread.append(bcsr_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=dims))
    return bcsr_concatenate(spread, dimension=axis)


def _reshape(mat: BCOO, *, new_sizes: Shape, dimensions: Shape | None, sharding: None) -> BCOO:
    del sharding
    return structure.bcoo_reshape(mat, new_sizes=new_sizes, dimensions=dimensions)


def _dynamic_slice(mat: Operand, *starts: Array, slice_sizes: Sequence[int]) -> BCOO:
    if any(isinstance(s, JAXSparse) for s in starts):
        raise NotImplementedError("dynamic_slice: starts must not be sparse")
    return structure.bcoo_dynamic_slice(mat, starts, slice_sizes)


def _gather(mat: Operand, start_indices: Operand, **params: Param) -> BCOO:
    if isinstance(start_indices, JAXSparse):
        raise NotImplementedError("gather: indices must not be sparse")
    return structure.bcoo_gather(mat, start_indices, **params)


def _convolution(lhs: Operand, rhs: Operand, **params: Param) -> BCOO:
    if not (isinstance(lhs, BCOO) and isinstance(rhs, BCOO)):
        raise NotImplementedError(
            "conv_general_dilated: operands must be both sparse or both dense"
        )
    return bcoo_conv_general_dilated(lhs, rhs, **params)


_define("broadcast_in_dim", _broadcast_in_dim, bcsr=_bcsr_broadcast)
_define("concatenate", _concatenate, bcsr=_bcsr_concatenate)
_define("conv_general_dilated", _convolution)
_define("dynamic_slice", _dynamic_slice)
_define("gather", _gather)
_define("reshape", _reshape)
_define("rev", lambda mat, *, dimensions: structure.bcoo_rev(mat, dimensions))
_define("slice", lambda mat, **params: structure.bcoo_slice(mat, **params))
_define("squeeze", lambda mat, *, dimensions: structure.bcoo_squeeze(mat, dimensions=dimensions))
_define("stack", _stack, bcsr=_bcsr_stack)
_define("transpose", lambda mat, *, permutation: bcoo_transpose(mat, permutation=permutation))


def _todense(
    spenv: sp.SparsifyEnv, *values: sp.SparsifyValue, tree: pytrees.PyTreeDef
) -> Sequence[sp.SparsifyValue]:
    """Implements `todense` for a value that is a single dense array to the traced function."""
    del tree
    (value,) = values
    return [spenv.dense(sp.to_array(spenv, value).todense())]


sp.sparse_rules_bcoo[todense_p] = _todense
sp.sparse_rules_bcsr[todense_p] = _todense


# --- primitives with jaxprs ---------------------------------------------------------------------


def _program(closed: ClosedJaxpr) -> Callable[..., list[Operand]]:
    def run(*args: Operand) -> list[Operand]:
        return sp.evaluate(closed.jaxpr, closed.consts, args)

    return run


def _jit(*args: Operand, jaxpr: ClosedJaxpr, name: str, **params: Param) -> list[Operand]:
    del params
    run = _program(jaxpr)
    run.__name__ = name
    return jit(run)(*args)


def _custom_call(*args: Operand, call_jaxpr: ClosedJaxpr, **params: Param) -> list[Operand]:
    del params
    return _program(call_jaxpr)(*args)


def _plain(x: Operand) -> Operand:
    """Returns a sparse array with its flags cleared, so that the carry of a loop keeps its type."""
    if not isinstance(x, BCOO | BCSR):
        return x
    arrays, description = x.tree_flatten()
    flags = {"indices_sorted": False, "unique_indices": False}
    return type(x).tree_unflatten(description | flags, arrays)


def _plain_program(closed: ClosedJaxpr) -> Callable[..., list[Operand]]:
    run = _program(closed)
    return lambda *args: [_plain(x) for x in run(*args)]


def _cond(
    index: Array, *args: Operand, branches: Sequence[ClosedJaxpr], **params: Param
) -> list[Operand]:
    del params
    return lax.switch(index, [_plain_program(b) for b in branches], *args)


def _while(
    *args: Operand,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Operand]:
    cond_consts = args[:cond_nconsts]
    body_consts = args[cond_nconsts : cond_nconsts + body_nconsts]
    state = [_plain(x) for x in args[cond_nconsts + body_nconsts :]]
    condition, body = _program(cond_jaxpr), _plain_program(body_jaxpr)
    return lax.while_loop(
        lambda state: condition(*cond_consts, *state)[0],
        lambda state: body(*body_consts, *state),
        state,
    )


def _scan(*args: Operand, jaxpr: ClosedJaxpr, ft_in: FlatTree, **params: Param) -> list[Operand]:
    num_consts, num_carry = len(ft_in.elts[0]), len(ft_in.elts[1])
    consts, init, xs = (
        args[:num_consts],
        args[num_consts:][:num_carry],
        args[num_consts + num_carry :],
    )
    run = _plain_program(jaxpr)
    if any(isinstance(x, BCOO | BCSR) and not x.n_batch for x in xs):
        raise NotImplementedError(
            "scan over a sparse axis is not supported; the first axis must be a batch axis"
        )

    def step(carry: list[Any], now: list[Any]) -> tuple[list[Operand], list[Operand]]:
        out = run(*consts, *carry, *now)
        return out[:num_carry], out[num_carry:]

    full = [_full_batch(x) for x in xs]
    carry, ys = lax.scan(
        step,
        [_plain(x) for x in init],
        full,
        params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*carry, *ys]


def _full_batch(x: Operand) -> Operand:
    """Returns `x` with the first axis of all its arrays broadcast to full size."""
    if not isinstance(x, JAXSparse):
        return x
    arrays, description = x.tree_flatten()
    n = x.shape[0]
    return type(x).tree_unflatten(
        description, tuple(jnp.broadcast_to(a, (n, *a.shape[1:])) for a in arrays)
    )


_define("jit", _jit, bcsr=_jit)
_define("custom_jvp_call", _custom_call, bcsr=_custom_call)
_define("custom_vjp_call", _custom_call, bcsr=_custom_call)
_define("cond", _cond)
_define("while", _while)
_define("scan", _scan)
