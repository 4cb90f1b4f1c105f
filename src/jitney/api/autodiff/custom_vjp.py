"""`custom_vjp`: functions with custom reverse-mode derivatives."""

# `custom_vjp` and `_Call` access each other's private attributes.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

import numpy as np

from jitney.api.autodiff.nondiff import NondiffArguments, has_tracers
from jitney.api.jit.signature import positional
from jitney.api.rules.inner_rules import inner_rule
from jitney.api.rules.user_results import is_sequence
from jitney.core.diagnostics.errors import UnexpectedTracerError
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.settings import config
from jitney.core.sharding_in_types import varying
from jitney.core.tracing.trace import is_recorded, state
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives.call.custom import (
    FlatRule,
    custom_vjp_call_p,
    differentiate_custom_vjp,
    remat_opt_p,
    with_shape,
)
from jitney.primitives.elementwise.convert import as_value, owned_results
from jitney.transforms.accumulators import ValAccum
from jitney.transforms.logs import checked_log
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, ArrayLike, PyTree, Value
    from jitney.primitives.rule_types import Cotangent
    from jitney.transforms.accumulators import GradAccum
    from jitney.transforms.logs import Log
    from jitney.transforms.zero import Tangent

P = ParamSpec("P")
R = TypeVar("R")


class CustomVJPPrimal:
    """An argument of a forward function with `symbolic_zeros`: a value and its perturbed flag."""

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Array, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed


class custom_vjp(Generic[P, R]):  # lower-case, as in JAX's API
    """A function whose reverse-mode derivative is given by `defvjp` instead of by its operations.

    The rules are a forward function, which takes the arguments and returns (result, residuals), and
    a backward function, which takes (residuals, cotangent of the result) and returns a tuple of
    cotangents, one for each argument. The other `def...` methods set rules with further arguments
    or results; for arguments that their docstrings do not describe, see `defvjp`.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      nondiff_argnums: positions of arguments that are not differentiated. The forward function
        receives them in their original positions, and the backward function before its other
        arguments. They must not be tracers.
      nondiff_argnames: names of further such arguments.

    Example:
      >>> @jax.custom_vjp
      ... def clip_gradient(x):
      ...     return x
      >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
      >>> jax.grad(lambda x: 10 * clip_gradient(x))(3.0)
      Array(1., dtype=float32, weak_type=True)
    """

    __name__: str

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun: Callable[..., R] = fun
        self._nondiff = NondiffArguments(fun, nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = self._nondiff.positions
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False
        self.with_accums = False
        self.with_logs = False
        self.by_remat = False  # whether the rules are those of `defremat`

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Sets the forward function and the backward function.

        Args:
          fwd: the forward function.
          bwd: the backward function.
          symbolic_zeros: whether `fwd` receives `CustomVJPPrimal`s and `bwd` symbolic zeros.
          optimize_remat: whether programs call the function itself in place of `fwd` if the
            residuals are not needed, as in the first forward pass of `checkpoint`. This is useful
            if `fwd` is slower than the function.
          generic_batching: accepted for compatibility; `vmap` of the function always batches its
            rules.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat
        self.with_accums = self.with_logs = self.by_remat = False

    def defvjp_with_logs(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., tuple[Any, Log | None]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Sets rules whose backward function also returns log entries.

        To receive the log, call the pullback's method `with_logs` (see `jax.vjp`); other
        derivatives drop the entries. Each name may occur only once in a backward pass.

        Args:
          bwd: the backward function, which returns a pair (tuple of cotangents, entries). The
            entries are a dict from names to pytrees of arrays, or None.

        Example:
          >>> @jax.custom_vjp
          ... def sine(x):
          ...     return jnp.sin(x)
          >>> def backward(x, ct):
          ...     return (jnp.cos(x) * ct,), {"slope": jnp.cos(x)}
          >>> sine.defvjp_with_logs(lambda x: (jnp.sin(x), x), backward)
          >>> y, pullback = jax.vjp(lambda x: 2.0 * sine(x), 0.0)
          >>> cotangents, log = pullback.with_logs(1.0)
          >>> cotangents[0].item(), log["slope"].item()
          (2.0, 1.0)
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat, generic_batching)
        self.with_logs = True

    def defvjp_with_accums(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Sets rules whose backward function adds cotangents to accumulators.

        Args:
          bwd: the backward function, which takes accumulators after the cotangent, one for each
            leaf of the arguments and in their structure. Calling the method `accum` of an
            accumulator adds a term to the cotangent. The classes are in `jax.experimental.hijax`:
            `ValAccum`, `NullAccum` if the cotangent is not needed, and `RefAccum` if the operand is
            an argument for which a reference was passed to `VJP.with_refs`. `bwd` returns None, or
            log entries as for `defvjp_with_logs`.

        Example:
          >>> @jax.custom_vjp
          ... def product(x, y):
          ...     return x * y
          >>> def backward(residuals, ct, x, y):
          ...     x.accum(ct * residuals[1])
          ...     y.accum(ct * residuals[0])
          >>> product.defvjp_with_accums(lambda x, y: (x * y, (x, y)), backward)
          >>> jax.grad(product)(2.0, 3.0)
          Array(3., dtype=float32, weak_type=True)
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat, generic_batching)
        self.with_accums = True

    def defremat(
        self,
        fwd: Callable[..., Any],
        rem: Callable[..., Any],
        bwd: Callable[..., Any],
        generic_batching: bool = False,
    ) -> None:
        """Sets rules that recompute residuals in the backward pass from saved ones.

        If rules have been set by `defvjp`, this call has no effect.

        Args:
          fwd: the forward function, which returns (result, saved residuals).
          rem: the recomputation: (saved residuals, *arguments) -> (result, residuals that `bwd`
            takes).
          bwd: the backward function, as for `defvjp`.
          generic_batching: accepted for compatibility; `vmap` of the function always batches its
            rules.
        """
        self._defremat(fwd, rem, bwd, self.defvjp)

    def defremat_with_logs(
        self,
        fwd: Callable[..., Any],
        rem: Callable[..., Any],
        bwd: Callable[..., Any],
        generic_batching: bool = False,
    ) -> None:
        """Sets rules like `defremat`, but with a backward function as for `defvjp_with_logs`."""
        self._defremat(fwd, rem, bwd, self.defvjp_with_logs)

    def _defremat(
        self,
        fwd: Callable[..., Any],
        rem: Callable[..., Any],
        bwd: Callable[..., Any],
        define: Callable[..., None],
    ) -> None:
        @functools.wraps(fwd)
        def fwd_and_rem(*args: PyTree) -> tuple[object, object]:
            out, kept = fwd(*args)
            return out, rem(kept, *args)[1]

        if self.fwd is None or self.by_remat:
            define(fwd_and_rem, bwd)
            self.by_remat = True

    def __get__(self, instance: Any, owner: type | None = None) -> Self | functools.partial[R]:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Returns a rule setter of the wrapped function, such as `def_vmap`, if there is one."""
        return inner_rule(self, name)

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"custom_vjp of {self.__name__}: no rules are defined; define them with defvjp(fwd, "
                "bwd) before the first call"
            )
        values = positional(self.fun, args, kwargs, "custom_vjp")
        trace = state.trace
        if trace is state.eval_trace:
            return owned_results(self.fun(*values))
        static, dynamic = self._nondiff.split(values)
        for i, x in static.items():
            if has_tracers(x):
                raise UnexpectedTracerError(
                    f"custom_vjp function {self.__name__}: argument {i} is named by nondiff_argnums, "
                    "so it must not be or contain a traced value. Use nondiff_argnums for arguments "
                    "that are not arrays, such as functions; for other arguments without a gradient, "
                    "the backward function can return None."
                )
        leaves, in_tree = pytrees.tree_flatten(tuple(dynamic))
        call = _Call(self, static, in_tree)
        outs = trace.process_custom_vjp_call(call, leaves)
        return pytrees.tree_unflatten(call.out_tree, outs)


class _Call:
    """One call of a function with the user's two rules on flat values; a `CustomCall`."""

    num_nondiff = 0

    def __init__(
        self, owner: custom_vjp[..., Any], static: dict[int, Any], in_tree: PyTreeDef
    ) -> None:
        assert owner.fwd is not None and owner.bwd is not None
        self.owner = owner
        self.users_fwd, self.users_bwd = owner.fwd, owner.bwd
        self.static = static
        self.in_tree = in_tree
        self.out_tree: Any = None
        self.res_tree: Any = None
        self.in_avals: list[Any] = []
        self.fwd = FlatRule(self._fwd, owner.fwd.__name__)
        self.bwd = FlatRule(self._bwd, owner.bwd.__name__)

    def merged(self, dynamic: Sequence[Any]) -> list[object]:
        """Returns all arguments in their original positions."""
        return self.owner._nondiff.merged(self.static, dynamic)

    def rebind(self, leaves: Sequence[Any]) -> list[Value]:
        return self._results(self.owner, leaves)

    def inline(self, leaves: Sequence[Any]) -> list[Value]:
        return self._results(self.owner.fun, leaves)

    def _results(self, fun: Callable[..., Any], leaves: Sequence[Any]) -> list[Value]:
        result = fun(*self.merged(pytrees.tree_unflatten(self.in_tree, leaves)))
        outs, self.out_tree = pytrees.tree_flatten(result)
        return outs

    def differentiate(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Value], list[Tangent]]:
        return differentiate_custom_vjp(
            primals, tangents,
            fwd=self.fwd, bwd=self.bwd, num_consts=0, symbolic_zeros=self.owner.symbolic_zeros,
        )  # fmt: skip

    def as_equation(self, leaves: Sequence[Any]) -> list[Value]:
        dynamic = pytrees.tree_unflatten(self.in_tree, leaves)
        program, leaves = self.owner._nondiff.traced(self.static, {}, dynamic)
        self.out_tree = program.out_tree
        return custom_vjp_call_p.bind(
            *program.outer_tracers,
            *leaves,
            name=self.owner._nondiff.call.name,
            call_jaxpr=program.closed.copy() if is_recorded() else program.closed,
            fwd=self.fwd,
            bwd=self.bwd,
            num_consts=len(program.outer_tracers),
            out_trees=None,
            symbolic_zeros=self.owner.symbolic_zeros,
        )

    def _fwd(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Value], list[Value]]:
        owner = self.owner
        self.in_avals = [get_aval(x) for x in primals]
        staged = state.trace.is_staging
        if owner.optimize_remat and not owner.symbolic_zeros and staged:
            return self._fwd_as_operation(primals)
        return self._fwd_at_once(primals, perturbed)

    def _fwd_as_operation(self, primals: Sequence[Any]) -> tuple[list[Value], list[Value]]:
        """Binds `fwd` as an operation; the function itself replaces it if no residual is used."""
        function, leaves = self.owner._nondiff.traced(
            self.static, {}, list(pytrees.tree_unflatten(self.in_tree, primals))
        )
        counts: list[int] = []

        def flat(*xs: ArrayLike) -> list[Value]:
            outs, residuals = self._fwd_at_once(xs, [True] * len(xs))
            counts.append(len(residuals))
            return [*outs, *residuals]

        info = DebugInfo("custom_vjp", self.fwd.__name__)
        jaxpr, _, consts = trace_to_jaxpr(flat, self.in_avals, info)
        operands = [*consts, *function.outer_tracers, *leaves]
        n, m = len(consts), len(consts) + len(function.outer_tracers)
        avals = [get_aval(x) for x in operands]

        def as_fwd(*xs: ArrayLike) -> list[Value]:
            return eval_jaxpr(jaxpr, xs[:n], *xs[m:])

        def as_function(*xs: ArrayLike) -> list[Value]:
            return eval_jaxpr(function.closed.jaxpr, function.closed.consts, *xs[n:])

        programs = [trace_to_jaxpr(f, avals, info) for f in (as_fwd, as_function)]
        fwd_jaxpr, fun_jaxpr = (ClosedJaxpr(p, values) for p, _, values in programs)
        results = remat_opt_p.bind(
            *operands, fwd_jaxpr=fwd_jaxpr, fun_jaxpr=fun_jaxpr, num_res=counts[0]
        )
        n_out = len(results) - counts[0]
        return results[:n_out], results[n_out:]

    def _fwd_at_once(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Value], list[Value]]:
        owner = self.owner
        fwd_args: Sequence[Any] = [*map(with_shape, primals)]
        if owner.symbolic_zeros:
            fwd_args = [CustomVJPPrimal(x, p) for x, p in zip(fwd_args, perturbed, strict=True)]
        result = self.users_fwd(*self.merged(pytrees.tree_unflatten(self.in_tree, fwd_args)))
        name = self._name()
        if not is_sequence(result) or len(result) != 2:
            raise TypeError(
                f"custom_vjp of {name}: its forward rule {self.fwd.__name__} must return a pair "
                f"(output, residuals), with the same output as {name}, but returned {result!r}"
            )
        outs, self.out_tree = pytrees.tree_flatten(result[0])
        residuals, self.res_tree = pytrees.tree_flatten(result[1])
        return outs, residuals

    def _name(self) -> str:
        return self.owner.__name__

    def _bwd(
        self, residuals: Sequence[Any], cts: Sequence[Any], accums: Sequence[GradAccum]
    ) -> Log:
        """Adds the cotangents of the arguments to `accums`; returns the log entries of the rule."""
        residual_tree = pytrees.tree_unflatten(self.res_tree, residuals)
        # User functions call methods of arrays.
        arrays = [x if isinstance(x, Zero) else _as_array(x) for x in cts]
        ct_tree = pytrees.tree_unflatten(self.out_tree, arrays)
        arguments = *self.static.values(), residual_tree, ct_tree
        places = pytrees.tree_unflatten(self.in_tree, list(range(self.in_tree.num_leaves)))
        if self.owner.with_accums:
            log = self.users_bwd(*arguments, *pytrees.tree_unflatten(self.in_tree, accums))
            for place, accum in enumerate(accums):
                if isinstance(accum, ValAccum):
                    self._checked(place, accum.freeze(), places)
            return checked_log(log, self._rule())
        result, log = self._parted(self.users_bwd(*arguments))
        for accum, ct in zip(accums, self._cotangents(result, places), strict=True):
            accum.accum(ct)
        return log

    def _rule(self) -> str:
        """Returns the name of the backward rule in error messages."""
        return f"custom_vjp of {self._name()}: its backward rule {self.bwd.__name__}"

    def _parted(self, result: Any) -> tuple[object, Log]:
        """Splits the result of the backward rule into (cotangents, log)."""
        if not self.owner.with_logs:
            return result, {}
        if not is_sequence(result) or len(result) != 2:
            raise TypeError(
                f"{self._rule()}, set by defvjp_with_logs, must return a pair (cotangents, logs), but "
                f"returned {result!r}"
            )
        return result[0], checked_log(result[1], f"{self._rule()}, in addition to the cotangents,")

    def _cotangents(self, result: Any, empty: PyTree) -> list[Cotangent]:
        """Returns the cotangents from the backward rule, one for each leaf of the arguments.

        Args:
          result: the result of the backward rule.
          empty: a pytree with the arguments' structure, whose leaves are the leaf numbers.
        """
        if not is_sequence(result) or len(result) != len(empty):
            raise TypeError(
                f"{self._rule()} must return a tuple of "
                f"{len(empty)} cotangents, one for each differentiable argument, but "
                "returned "
                f"{result!r}"
            )
        # None stands for a zero cotangent of an entire argument.
        out: list[Any] = [Zero(a.to_cotangent_aval()) for a in self.in_avals]

        def enter(positions: PyTree, ct: PyTree) -> None:
            try:  # one cotangent can stand for an entire subtree
                values = pytrees.broadcast_prefix(ct, positions, _is_absent)
            except ValueError:
                raise TypeError(
                    f"custom_vjp of {self._name()}: its backward rule {self.bwd.__name__} must "
                    "return a "
                    "cotangent for each argument, in the tree structure of the arguments, "
                    f"{pytrees.tree_structure(positions)}, but returned "
                    f"{pytrees.tree_structure(ct)}"
                ) from None
            # `None` in the arguments has no leaf number.
            places = pytrees.tree_leaves(positions, _is_absent)
            for place, value in zip(places, values, strict=True):
                if place is not None and value is not None:
                    out[place] = self._checked(place, value, empty)

        for positions, ct in zip(empty, result, strict=True):
            enter(positions, ct)
        return out

    def _checked(self, place: int, ct: PyTree, places: PyTree) -> Cotangent:
        """Returns the cotangent `ct` of argument leaf `place` after checking its type."""
        wanted = self.in_avals[place].to_cotangent_aval()
        if wanted.dtype == dtypes.float0:
            return Zero(wanted)
        got: Any = ct.aval if isinstance(ct, Zero) else get_aval(ct)
        # As in JAX, floating-point cotangents may have another precision, which they keep.
        floating = dtypes.issubdtype(wanted.dtype, np.inexact) and dtypes.issubdtype(
            got.dtype, np.inexact
        )
        is_fine = got.shape == wanted.shape and (got.dtype == wanted.dtype or floating)
        is_fine = is_fine and varying.type_of(got) is varying.type_of(wanted)
        if not is_fine and not config.disable_bwd_checks.value:
            paths = [path for path, p in pytrees.tree_leaves_with_path(places) if p == place]
            raise ValueError(
                f"custom_vjp of {self._name()}: its backward rule {self.bwd.__name__} must return "
                f"{wanted.str_short()} for an argument of type {self.in_avals[place].str_short()}, "
                "but "
                f"output{pytrees.keystr(paths[0])} is {got.str_short()}"
                + varying.how_to_vary(got, wanted, "the output")
                + _how_not_to_vary(got, wanted)
                + (". None stands for a cotangent of zeros" if isinstance(ct, Zero) else "")
            )
        return Zero(wanted) if isinstance(ct, Zero) else ct


def _how_not_to_vary(got: AbstractValue, wanted: AbstractValue) -> str:
    """Returns advice for a cotangent that varies over devices although its argument does not."""
    extra = varying.axes_of(got) - varying.axes_of(wanted)
    if not extra:
        return ""
    axes = tuple(sorted(extra, key=str))
    return f". The argument is the same on all devices: apply jax.lax.psum(..., {axes})"


def _is_absent(ct: PyTree) -> bool:
    return ct is None or isinstance(ct, Zero)


def _as_array(x: PyTree) -> Value:
    return x if getattr(x, "dtype", None) == dtypes.float0 else as_value(x)


custom_vjp.__module__ = "jax"
