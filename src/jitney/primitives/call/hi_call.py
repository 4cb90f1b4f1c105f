"""`VJPHiPrimitive`: user-defined operations on pytrees, with derivatives and batching rules.

An instance is an operation for operands of given types; calling it binds the primitive
`call_hi_primitive`. Evaluation and compilation replace the equation by the operations of the method
`expand`. The derivative is the primitive `call_hi_primitive_linearized`, a function of residuals
and tangents, whose transpose is `vjp_bwd`. If the operation also defines `jvp`, its operands are
among the residuals, so that the linearized equation can be evaluated, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from jitney.core.pytree import pytrees
from jitney.core.tracing.hi_primitive import HiPrimitive
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives import calculus
from jitney.transforms.accumulators import NullAccum, ValAccum
from jitney.transforms.batch import AxisData, batch_flat, move_to
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.logs import checked_log, flat_log
from jitney.transforms.transpose import UndefinedPrimal, accumulator_of
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import JaxprEqn
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.tracing.hi_types import MappingSpec
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.core.typing import PyTree
    from jitney.primitives.rule_types import (
        BatchDim,
        Cotangent,
        Dims,
        Operand,
        Param,
        Primals,
        Tangent,
        Tangents,
        Value,
    )
    from jitney.transforms.accumulators import GradAccum
    from jitney.transforms.logs import Log


class VJPHiPrimitive:
    """The base class of user-defined operations on pytrees, with derivatives and batching rules.

    In `__init__`, a subclass sets the attributes below and then calls `super().__init__()`. It must
    define `expand`. To support reverse mode, it also defines `vjp_fwd` and either `vjp_bwd` or
    `vjp_bwd_retval`; to support forward mode, `jvp`, or `lin` and `linearized`; and to support
    `vmap`, `batch` or `batch_dim_rule`.

    Attributes:
      in_avals: a tuple of pytrees of types, one for each operand.
      out_aval: a pytree of types.
      params: a dict of hashable values on which the operation depends; each becomes an attribute.

    Raises:
      AttributeError: if one of these attributes is not set, or if both `vjp_bwd` and
        `vjp_bwd_retval` are defined.

    Example:
      >>> from jitney.experimental import hijax
      >>> class Cube(hijax.VJPHiPrimitive):
      ...     def __init__(self, ty):
      ...         self.in_avals, self.out_aval, self.params = (ty,), ty, {}
      ...         super().__init__()
      ...     def expand(self, x):
      ...         return x**3
      ...     def vjp_fwd(self, nonzeros, x):
      ...         return self(x), x
      ...     def vjp_bwd_retval(self, x, ct):
      ...         return (3 * x**2 * ct,)
      >>> jax.grad(lambda x: Cube(jax.typeof(x))(x))(2.0)
      Array(12., dtype=float32, weak_type=True)
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Hashable]
    effects: ClassVar[Effects] = frozenset()

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"{type(self).__name__}.__init__ must set self.{name}")
        if self.defines("vjp_bwd") and self.defines("vjp_bwd_retval"):
            raise AttributeError(
                f"{type(self).__name__} must define only one of vjp_bwd and vjp_bwd_retval"
            )
        self.in_avals_flat, self.in_tree = pytrees.tree_flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = pytrees.tree_flatten(self.out_aval)
        self.__dict__.update(self.params)
        self.check(*self.in_avals)

    def defines(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(VJPHiPrimitive, method)

    def _undefined(self, use: str, methods: str) -> NotImplementedError:
        return NotImplementedError(f"for {use}, {type(self).__name__} must define {methods}")

    # --- what subclasses define -------------------------------------------------------------------

    def expand(self, *args: PyTree) -> object:
        """Computes the operation by means of other operations."""
        raise self._undefined("evaluation", "expand")

    def vjp_fwd(self, nzs_in: PyTree, /, *args: PyTree) -> tuple[object, ...]:
        """Returns (results, residuals), optionally followed by which results have a tangent.

        Args:
          nzs_in: whether each operand has a nonzero tangent.
          *args: the operands.
        """
        raise self._undefined("reverse derivatives", "vjp_fwd")

    def vjp_bwd(self, res: PyTree, outgrad: PyTree, /, *arg_accums: PyTree) -> Log | None:
        """Adds the cotangents of the operands to `arg_accums`, calling their method `accum`.

        The method may return a dict with entries for the log of the backward pass
        (`VJP.with_logs`).
        """
        cts = self.vjp_bwd_retval(res, outgrad)
        for accumulators, ct in zip(arg_accums, cts, strict=True):
            leaves = pytrees.tree_leaves(accumulators)
            parts = pytrees.broadcast_prefix(ct, accumulators, _is_nothing)
            for accumulator, part in zip(leaves, parts, strict=True):
                accumulator.accum(part)

    def vjp_bwd_retval(self, res: PyTree, outgrad: PyTree, /) -> tuple[object, ...]:
        """Returns the cotangents of the operands as a tuple."""
        raise self._undefined("reverse derivatives", "vjp_bwd or vjp_bwd_retval")

    def jvp(self, primals: PyTree, tangents: PyTree) -> tuple[object, object]:
        """Computes (results, tangents of the results)."""
        raise self._undefined("forward derivatives", "jvp")

    def lin(self, nzs_in: PyTree, *primals: PyTree) -> tuple[object, ...]:
        """Returns (results, residuals), optionally followed by which results have a tangent."""
        raise self._undefined("linearize", "lin and linearized")

    def linearized(self, residuals: PyTree, *tangents: PyTree) -> object:
        """Computes the tangents of the results from residuals and tangents of the operands."""
        raise self._undefined("linearize", "lin and linearized")

    def transpose(self, out_ct: PyTree, *maybe_accums: PyTree) -> None:
        """Adds cotangents to the accumulators that are passed in place of linear operands."""
        raise self._undefined("transposition", "transpose")

    def batch(self, axis_data: AxisData, args: PyTree, dims: PyTree) -> tuple[object, object]:
        """Returns (results, their batch dimensions) for batched operands.

        Args:
          axis_data: the batch axis.
          args: the operands.
          dims: the batch dimension of each operand, or None if it is not batched.
        """
        out_dim = self.batch_dim_rule(axis_data, dims)
        return VmapOf(self, axis_data, dims, out_dim)(*args), out_dim

    def batch_dim_rule(self, axis_data: AxisData, dims: PyTree, /) -> object:
        """Returns the batch dimensions of the results for operands with batch dimensions `dims`."""
        raise self._undefined("vmap", "batch or batch_dim_rule")

    def dce(self, used_outs: PyTree) -> tuple[object, object, VJPHiPrimitive | None]:
        """Returns (operands used, results kept, pruned operation).

        None in place of the operation means that it can be dropped.
        """
        if any(pytrees.tree_leaves(used_outs)):
            return True, True, self
        return False, False, None

    def check(self, *arg_tys: PyTree) -> None:
        """Raises an error for unsupported operand types; by default accepts all."""

    # --- use --------------------------------------------------------------------------------------

    def __call__(self, *args: PyTree) -> Any:
        leaves = self.in_tree.flatten_up_to(args)
        outs = call_hi_primitive_p.bind(*leaves, _prim=self)
        return pytrees.tree_unflatten(self.out_tree, outs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.params}]"

    def _key(self) -> tuple[object, ...]:
        return type(self), tuple(self.params.items()), self.effects

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()[1:]))

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, VJPHiPrimitive)
            and self.params == other.params
            and self.effects == other.effects
            and self.in_avals_flat == other.in_avals_flat
        )


def _is_none(x: PyTree) -> bool:
    return x is None


def _is_nothing(x: PyTree) -> bool:
    """Returns whether `x` stands for a zero cotangent."""
    return x is None or isinstance(x, Zero)


def _run(prim: VJPHiPrimitive, accums: Sequence[GradAccum], rule: Callable[..., Log | None]) -> Log:
    """Calls `rule`, a rule of `prim`, with accumulators for the operands; returns its log."""
    log = rule(*pytrees.tree_unflatten(prim.in_tree, accums))
    return checked_log(log, f"{type(prim).__name__}.vjp_bwd")


class _Call(HiPrimitive):
    """The primitive that applies a user-defined operation, `_prim`, to flat operands."""

    multiple_results = True

    def is_effectful(self, params: dict[str, Any]) -> bool:
        return bool(params["_prim"].effects)

    def abstract_eval(
        self, *arg_avals: AbstractValue, **params: Param
    ) -> tuple[list[AbstractValue], Effects]:
        _prim: VJPHiPrimitive = params["_prim"]
        return list(_prim.out_avals_flat), _prim.effects

    def to_lojax(self, *leaves: Value, _prim: VJPHiPrimitive) -> list[Value]:
        out = _prim.expand(*pytrees.tree_unflatten(_prim.in_tree, leaves))
        return _prim.out_tree.flatten_up_to(out)

    def jvp(
        self, primals: Primals, tangents: Tangents, **params: Param
    ) -> tuple[Sequence[Value], Sequence[Tangent]]:
        _prim: VJPHiPrimitive = params["_prim"]
        if _prim.defines("vjp_fwd"):
            forward = _prim.vjp_fwd
        elif _prim.defines("lin"):
            forward = _prim.lin
        else:
            args = pytrees.tree_unflatten(_prim.in_tree, primals)
            outs, douts = _prim.jvp(args, pytrees.tree_unflatten(_prim.in_tree, tangents))
            return _prim.out_tree.flatten_up_to(outs), _prim.out_tree.flatten_up_to(douts)
        nonzero = tuple([type(t) is not Zero for t in tangents])
        out, residuals, *nonzeros_out = forward(
            pytrees.tree_unflatten(_prim.in_tree, nonzero),
            *pytrees.tree_unflatten(_prim.in_tree, primals),
        )
        leaves, tree = pytrees.tree_flatten(residuals)
        two_ways = _prim.defines("jvp") and _prim.defines("vjp_fwd")
        kept = [*primals] if two_ways else []
        nonzero_tangents: list[Any] = [t for t in tangents if type(t) is not Zero]
        douts = call_hi_primitive_linearized_p.bind(
            *leaves,
            *kept,
            *nonzero_tangents,
            residuals_tree=tree,
            _prim=_prim,
            nz_in_flat=nonzero,
        )
        outs = _prim.out_tree.flatten_up_to(out)
        has_tangent = (
            pytrees.broadcast_prefix(nonzeros_out[0], out) if nonzeros_out else [True] * len(outs)
        )
        return outs, [
            dx if nz and getattr(a, "dtype", None) != dtypes.float0 else Zero(a)
            for dx, nz, a in zip(
                douts, has_tangent, [get_aval(x).to_tangent_aval() for x in outs], strict=True
            )
        ]

    def transpose(
        self, cts: Sequence[Cotangent], *args: Operand, _prim: VJPHiPrimitive
    ) -> list[Cotangent | None]:
        linear = [type(x) is UndefinedPrimal for x in args]

        def run(*accumulators: PyTree) -> None:
            operands = [
                a if lin else x
                for a, x, lin in zip(
                    _prim.in_tree.flatten_up_to(accumulators), args, linear, strict=True
                )
            ]
            _prim.transpose(
                pytrees.tree_unflatten(_prim.out_tree, cts),
                *pytrees.tree_unflatten(_prim.in_tree, operands),
            )

        pairs = [accumulator_of(x) for x in args]
        _run(_prim, [accum for accum, _ in pairs], run)
        return [accum.freeze() if returned else None for accum, returned in pairs]


call_hi_primitive_p = _Call("call_hi_primitive")


def _batch(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, _prim: VJPHiPrimitive
) -> tuple[list[Value], list[MappingSpec]]:
    if all([d is None for d in dims]):
        outs = call_hi_primitive_p.bind(*args, _prim=_prim)
        return outs, [None] * len(outs)
    out, out_dims = _prim.batch(
        axis_data,
        pytrees.tree_unflatten(_prim.in_tree, args),
        pytrees.tree_unflatten(_prim.in_tree, dims),
    )
    return _prim.out_tree.flatten_up_to(out), _prim.out_tree.flatten_up_to(out_dims)


call_hi_primitive_p.rules["batch_with_axis"] = _batch


def _dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    prim: VJPHiPrimitive = eqn.params["_prim"]
    ins, outs, smaller = prim.dce(pytrees.tree_unflatten(prim.out_tree, used))
    if smaller is None:
        return eqn.replace(invars=[], outvars=[])
    ins = pytrees.broadcast_prefix(ins, prim.in_avals)
    outs = pytrees.broadcast_prefix(outs, prim.out_aval)
    return eqn.replace(
        invars=[a for a, u in zip(eqn.invars, ins, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, outs, strict=True) if u],
        params={"_prim": smaller},
    )


call_hi_primitive_p.rules["dce"] = _dce


class _Linearized(HiPrimitive):
    """The derivative of an operation. It is linear in its last operands, the tangents."""

    multiple_results = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        del self.rules["transpose"]
        self.rules["logged_transpose"] = self._logged_transpose

    def abstract_eval(
        self, *arg_avals: AbstractValue, _prim: VJPHiPrimitive, **_: Param
    ) -> tuple[list[AbstractValue], Effects]:
        return [a.to_tangent_aval() for a in _prim.out_avals_flat], frozenset()

    def _parts(
        self, args: Sequence[Any], residuals_tree: PyTreeDef, nz_in_flat: Sequence[bool]
    ) -> tuple[object, list[Value], list[Value]]:
        """Splits operands into (residuals, primal operands if they were kept, nonzero tangents)."""
        n, n_tangents = residuals_tree.num_leaves, sum(nz_in_flat)
        m = len(args) - n_tangents
        return pytrees.tree_unflatten(residuals_tree, args[:n]), [*args[n:m]], [*args[m:]]

    def to_lojax(
        self,
        *args: Value,
        _prim: VJPHiPrimitive,
        residuals_tree: PyTreeDef,
        nz_in_flat: Sequence[bool],
    ) -> list[Value]:
        """Computes the tangents of the results with the operation's forward-mode rule."""
        residuals, primals, nonzero_tangents = self._parts(args, residuals_tree, nz_in_flat)
        remaining = iter(nonzero_tangents)
        tangents = [
            next(remaining) if nz else Zero(a.to_tangent_aval())
            for nz, a in zip(nz_in_flat, _prim.in_avals_flat, strict=True)
        ]
        trees = pytrees.tree_unflatten(_prim.in_tree, tangents)
        if _prim.defines("vjp_fwd"):
            if not primals and _prim.in_avals_flat:
                _prim.jvp(trees, trees)  # raises the error that `jvp` is not defined
            _, douts = _prim.jvp(pytrees.tree_unflatten(_prim.in_tree, primals), trees)
        else:
            douts = _prim.linearized(residuals, *trees)
        return [instantiate(t) for t in _prim.out_tree.flatten_up_to(douts)]

    def jvp(
        self, primals: Primals, tangents: Tangents, **params: Param
    ) -> tuple[Sequence[Value], Sequence[Tangent]]:
        """Differentiates the operations that evaluate the linearized operation."""
        return jvp_flat(lambda *xs: self.to_lojax(*xs, **params), primals, tangents)

    def _logged_transpose(
        self,
        cts: Sequence[Cotangent],
        *args: Operand,
        _prim: VJPHiPrimitive,
        residuals_tree: PyTreeDef,
        nz_in_flat: Sequence[bool],
    ) -> tuple[Sequence[Cotangent | None], Log]:
        residuals, primals, _ = self._parts(args, residuals_tree, nz_in_flat)
        tangents = args[len(args) - sum(nz_in_flat) :]
        pairs = [accumulator_of(x) for x in tangents]
        given = iter(pairs)
        accums = [
            next(given)[0] if nz else NullAccum(a.to_cotangent_aval())
            for nz, a in zip(nz_in_flat, _prim.in_avals_flat, strict=True)
        ]
        log = _run(
            _prim,
            accums,
            lambda *accums: _prim.vjp_bwd(
                residuals, pytrees.tree_unflatten(_prim.out_tree, cts), *accums
            ),
        )
        known = [None] * (residuals_tree.num_leaves + len(primals))
        return [*known, *(a.freeze() if returned else None for a, returned in pairs)], log


call_hi_primitive_linearized_p = _Linearized("call_hi_primitive_linearized")


def _batch_linearized(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, **params: Param
) -> tuple[list[Value], list[BatchDim]]:
    return batch_flat(
        lambda *xs: call_hi_primitive_linearized_p.to_lojax(*xs, **params), axis_data, args, dims
    )


call_hi_primitive_linearized_p.rules["batch_with_axis"] = _batch_linearized


# --- vmap ---------------------------------------------------------------------------------------


class VmapOf(VJPHiPrimitive):
    """The operation `prim`, batched along an axis."""

    def __init__(
        self, prim: VJPHiPrimitive, axis_data: AxisData, in_dims: PyTree, out_dim: PyTree
    ) -> None:
        self.prim, self.axis_data, self.in_dims, self.out_dim = prim, axis_data, in_dims, out_dim
        self.flat_in = prim.in_tree.flatten_up_to(in_dims)
        self.flat_out = pytrees.broadcast_prefix(out_dim, prim.out_aval, _is_none)
        in_avals = _with(prim.in_avals_flat, self.flat_in, axis_data.size)
        out_avals = _with(prim.out_avals_flat, self.flat_out, axis_data.size)
        self.in_avals = pytrees.tree_unflatten(prim.in_tree, in_avals)
        self.out_aval = pytrees.tree_unflatten(prim.out_tree, out_avals)
        self.params = {"prim": prim, "axis_data": axis_data, "in_dims": in_dims, "out_dim": out_dim}
        super().__init__()
        self.residual_dims: list[Any] = []

    def _batched(
        self, fun: Callable[..., Sequence[Any]], values: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[list[Value], list[BatchDim]]:
        return batch_flat(fun, self.axis_data, values, dims)

    def _at(self, outs: Sequence[Any], dims: Sequence[Any], wanted: Sequence[Any]) -> list[Tangent]:
        """Moves the batch axis of each value to its dimension in `wanted`."""
        size = self.axis_data.size
        return [
            x if w is None or isinstance(x, Zero) else move_to(x, d, w, size)
            for x, d, w in zip(outs, dims, wanted, strict=True)
        ]

    def expand(self, *args: PyTree) -> object:
        prim = self.prim

        def fun(*xs: Value) -> list[Value]:
            return prim.out_tree.flatten_up_to(
                prim.expand(*pytrees.tree_unflatten(prim.in_tree, xs))
            )

        outs_and_dims = self._batched(fun, self.in_tree.flatten_up_to(args), self.flat_in)
        return pytrees.tree_unflatten(self.out_tree, self._at(*outs_and_dims, self.flat_out))

    def defines(self, method: str) -> bool:
        if method in ("jvp", "vjp_fwd"):
            return self.prim.defines(method)
        return method == "vjp_bwd"

    def jvp(self, primals: PyTree, tangents: PyTree) -> tuple[object, object]:
        prim = self.prim
        xs, ts = map(self.in_tree.flatten_up_to, (primals, tangents))
        zero = [isinstance(t, Zero) for t in ts]

        def fun(*values: Value) -> list[Value]:
            remaining = iter(values[len(xs) :])
            tangents = [
                Zero(a.to_tangent_aval()) if z else next(remaining)
                for z, a in zip(zero, prim.in_avals_flat, strict=True)
            ]
            outs, douts = prim.jvp(
                pytrees.tree_unflatten(prim.in_tree, values[: len(xs)]),
                pytrees.tree_unflatten(prim.in_tree, tangents),
            )
            flat = [instantiate(t) for t in prim.out_tree.flatten_up_to(douts)]
            return [*prim.out_tree.flatten_up_to(outs), *flat]

        values = [*xs, *(t for t in ts if not isinstance(t, Zero))]
        dims = [*self.flat_in, *(d for d, z in zip(self.flat_in, zero, strict=True) if not z)]
        outs = self._at(*self._batched(fun, values, dims), [*self.flat_out, *self.flat_out])
        n = len(self.flat_out)
        tree = self.out_tree
        return pytrees.tree_unflatten(tree, outs[:n]), pytrees.tree_unflatten(tree, outs[n:])

    def vjp_fwd(self, nzs_in: PyTree, /, *args: PyTree) -> tuple[object, ...]:
        prim = self.prim
        n = len(self.flat_out)
        nonzeros_out: list[Any] = []
        trees: list[Any] = []

        def fun(*xs: Value) -> list[Value]:
            out, residuals, *nonzeros = prim.vjp_fwd(
                nzs_in, *pytrees.tree_unflatten(prim.in_tree, xs)
            )
            nonzeros_out[:] = nonzeros
            leaves, tree = pytrees.tree_flatten(residuals)
            trees[:] = [tree]
            return [*prim.out_tree.flatten_up_to(out), *leaves]

        outs, dims = self._batched(fun, self.in_tree.flatten_up_to(args), self.flat_in)
        out = pytrees.tree_unflatten(self.out_tree, self._at(outs[:n], dims[:n], self.flat_out))
        return out, _Residuals(outs[n:], dims[n:], trees[0]), *nonzeros_out

    def vjp_bwd(self, res: PyTree, outgrad: PyTree, /, *arg_accums: PyTree) -> Log:
        prim = self.prim
        cts = self.out_tree.flatten_up_to(outgrad)
        zeros = [isinstance(ct, Zero) for ct in cts]
        n = len(res.leaves)
        zero_at: list[bool] = []
        log_tree: Any = None

        def fun(*values: Value) -> list[Value]:
            nonlocal zero_at, log_tree
            nonzero_cts = iter(values[n:])
            inner_cts = [
                Zero(a.to_cotangent_aval()) if z else next(nonzero_cts)
                for z, a in zip(zeros, prim.out_avals_flat, strict=True)
            ]
            accums = [ValAccum(a.to_cotangent_aval()) for a in prim.in_avals_flat]
            log = _run(
                prim,
                accums,
                lambda *accums: prim.vjp_bwd(
                    pytrees.tree_unflatten(res.tree, values[:n]),
                    pytrees.tree_unflatten(prim.out_tree, inner_cts),
                    *accums,
                ),
            )
            operand_cts = [a.freeze() for a in accums]
            zero_at = [isinstance(ct, Zero) for ct in operand_cts]
            entries, log_tree = flat_log(log)
            return [*(ct for ct in operand_cts if not isinstance(ct, Zero)), *entries]

        values = [*res.leaves, *(ct for ct in cts if not isinstance(ct, Zero))]
        dims = [*res.dims, *(d for d, z in zip(self.flat_out, zeros, strict=True) if not z)]
        outs, out_dims = self._batched(fun, values, dims)
        remaining = iter(zip(outs, out_dims, strict=True))
        size = self.axis_data.size
        accumulators = self.in_tree.flatten_up_to(arg_accums)
        for accumulator, d, is_zero in zip(accumulators, self.flat_in, zero_at, strict=True):
            if is_zero:
                continue
            ct, at = next(remaining)
            if d is None:  # all indices share the operand: sum their cotangents
                ct = ct if at is None else calculus.reduce_sum(ct, axes=(at,))
            else:
                ct = move_to(ct, at, d, size)
            accumulator.accum(ct)
        return pytrees.tree_unflatten(log_tree, [move_to(x, d, 0, size) for x, d in remaining])

    def batch_dim_rule(self, axis_data: AxisData, dims: PyTree, /) -> object:
        """Returns the dimensions of an outer batch axis in the results.

        They count the batch axis of this operation, too.
        """
        outer = self.in_tree.flatten_up_to(dims)
        inner = [
            d if d is None or own is None else d - (own < d)
            for d, own in zip(outer, self.flat_in, strict=True)
        ]
        out_dims = self.prim.batch_dim_rule(axis_data, pytrees.tree_unflatten(self.in_tree, inner))
        flat = pytrees.broadcast_prefix(out_dims, self.out_aval, _is_none)
        placed = [
            d if d is None or own is None else d + (own <= d)
            for d, own in zip(flat, self.flat_out, strict=True)
        ]
        return pytrees.tree_unflatten(self.out_tree, placed)


class _Residuals:
    """Residuals of a batched operation, with the batch dimension of each."""

    def __init__(self, leaves: Sequence[Any], dims: Sequence[Any], tree: PyTreeDef) -> None:
        self.leaves, self.dims, self.tree = leaves, tuple(dims), tree


pytrees.register_pytree_node(
    _Residuals,
    lambda r: (tuple(r.leaves), (r.dims, r.tree)),
    lambda aux, leaves: _Residuals(leaves, *aux),
)


def _with(avals: Sequence[Any], dims: Sequence[MappingSpec], size: int) -> list[AbstractValue]:
    """Returns the types `avals` with a batch axis of `size` inserted at `dims`."""
    return [a if d is None else a.inc_rank(size, d) for a, d in zip(avals, dims, strict=True)]
