"""The pullback that `vjp` returns: a function from cotangents to cotangents, with its residuals.

Residuals are either arguments of the function (`args_res`, in the structure of the arguments) or
intermediate values (`opaque_residuals`). A caller that keeps an argument itself, or can recompute
it, can remove it from `args_res` after the forward pass and restore it before the backward pass, so
that it is not held in between. An example is a layer's parameters, which are gathered from several
devices when the layer runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.api.autodiff.argument_flags import mirrored
from jitney.api.autodiff.differentiation import cotangent, debug_info, pull_back
from jitney.api.jit.jit_call import fun_name
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.messages import messages
from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import equality_errors_pytreedef
from jitney.core.sharding_in_types.varying import how_to_vary, varies_otherwise
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.core.types.refs import IS_REF, array_type, is_ref
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.refs.accumulator import RefAccum
from jitney.transforms.accumulators import GradAccum, NullAccum
from jitney.transforms.discharge import content_type
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.api.autodiff.argument_flags import Flags
    from jitney.core.program.jaxpr import Jaxpr
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import PyTree, Value
    from jitney.primitives.rule_types import Cotangent
    from jitney.transforms.linearize import Linear


class _Marker:
    """A pytree without leaves, equal to all other instances of its class."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


M = TypeVar("M", bound=_Marker)


def _marker(cls: type[M]) -> type[M]:
    pytrees.register_pytree_node(cls, lambda _: ((), None), lambda _, __: cls())
    return cls


@_marker
class GradRef(_Marker):
    """The entry, in a tuple of cotangents, for a cotangent accumulated into a reference."""


@_marker
class NotNeeded(_Marker):
    """The entry of `VJP.args_res` for an argument whose value the backward pass does not need."""


@_marker
class NotSaveable(_Marker):
    """The entry of `VJP.args_res` for a needed argument that `saveable_args` excludes."""


@_marker
class GradValue(_Marker):
    """An argument of `VJP.with_refs` that requests a cotangent as part of the result."""


@_marker
class DontWant(_Marker):
    """An argument of `VJP.with_refs` that states that the cotangent need not be computed."""


@_marker
class DidntWant(_Marker):
    """The entry, in a tuple of cotangents, for a cotangent that was not requested."""


@dataclass(frozen=True, eq=False)
class Static:
    """The components of a pullback that are not arrays.

    Attributes:
      fun: the function that was differentiated, for messages.
      linear: the function's linearized program, without the values of the residuals.
      in_avals, out_avals: types of its arguments and results.
      in_tree, out_tree: structures of its arguments and results.
      places: for each residual, the number of the flat argument to which it is identical, or None.
    """

    fun: Callable[..., Any]
    linear: Linear
    in_avals: Sequence[AbstractValue]
    out_avals: Sequence[AbstractValue]
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    places: Sequence[int | None]


class VJP:
    """The pullback of a function at a point: maps cotangents of results to those of arguments.

    It is a pytree whose leaves are the residuals: the values that the backward pass needs.

    Attributes:
      args_res: the residuals that are arguments: a list with one entry per argument, which has the
        structure of the argument; leaves that the backward pass does not need are `NotNeeded()`.
        Entries can be assigned: set one to None to release its arrays, and restore it before the
        call.
      opaque_residuals: a list of all other residuals.
      in_tree, out_tree: structures of the arguments (a tuple) and of the result.
      jaxpr: the linear program that is transposed.
      out_nzs: which results can have nonzero tangents, in the structure of the result.
      want_logs: whether calls also return the log of the backward pass; see `with_logs`.

    Example:
      >>> y, pullback = jax.vjp(lambda x, w: jnp.exp(x) + 2.0 * w, 0.0, 3.0)
      >>> pullback.args_res, pullback.opaque_residuals
      ([NotNeeded(), NotNeeded()], [Array(1., dtype=float32, weak_type=True)])
    """

    __slots__ = ("args_res", "opaque_residuals", "refs", "static", "want_logs", "wanted")

    def __init__(
        self,
        static: Static,
        args_res: list[PyTree],
        opaque_residuals: list[PyTree],
        wanted: tuple[bool, ...] | None = None,
        refs: Sequence[Any] = (),
        want_logs: bool = False,
    ) -> None:
        self.static = static
        self.args_res = args_res
        self.opaque_residuals = opaque_residuals
        self.wanted = wanted  # one flag per flat argument; None: all are wanted
        self.want_logs = want_logs
        self.refs = refs  # per flat argument, the reference for its cotangent, or None

    @property
    def in_tree(self) -> PyTreeDef:
        return self.static.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        return self.static.out_tree

    @property
    def out_nzs(self) -> Flags | None:
        return mirrored(self.static.linear.nonzero_out, self.out_tree)

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear program that the pullback transposes; its constants are the residuals."""
        return self.static.linear.jaxpr

    def __repr__(self) -> str:
        name, where = fun_name(self.static.fun), f"{self.in_tree} <- {self.out_tree}"
        return f"VJP({name}, {where}, {self.args_res=!r}, {self.opaque_residuals=!r})".replace(
            "self.", ""
        )

    @api_boundary
    def __call__(self, out_ct: PyTree, *extra_args: PyTree) -> Any:
        """Returns the tuple of the arguments' cotangents, or with `want_logs` a pair (tuple, log).

        Args:
          out_ct: the cotangent of the result, with the structure of the result.
          *extra_args: must be empty; accepted only for a more helpful error message.

        Raises:
          TypeError: if there are extra arguments, or a residual was removed from `args_res` and not
            restored.
          ValueError: if the structure or types of `out_ct` are not those of the result.
        """
        static = self.static
        if extra_args:
            name = fun_name(static.fun)
            raise TypeError(
                f"the pullback that vjp applied to {name} returned takes one argument, a cotangent "
                f"with the structure of the result of {name}, but was called with "
                f"{messages.counted(1 + len(extra_args), 'argument')}. If the result is a tuple, "
                "pass a tuple of cotangents."
            )
        self._check_refs()
        flat_cts = _checked_cotangents(static, out_ct)
        # Operations that only unwanted cotangents need may write log entries, too.
        computed = None if self.want_logs else self.wanted
        operand_cts, log = pull_back(
            static.linear, self._residuals(), flat_cts, computed, self._accumulators()
        )
        wanted = self.wanted or [True] * len(operand_cts)
        result: list[Value | _Marker | None] = [
            cotangent(ct, aval) if is_wanted else DidntWant()
            for ct, aval, is_wanted in zip(operand_cts, static.in_avals, wanted, strict=True)
        ]
        for k, ref in enumerate(self.refs):
            if ref is not None:
                if not static.in_avals[k].is_ref:
                    ref.addupdate(result[k])
                result[k] = GradRef()
        operand_tree = pytrees.tree_unflatten(static.in_tree, result)
        return (operand_tree, log) if self.want_logs else operand_tree

    @property
    def with_logs(self) -> VJP:
        """Returns a copy of the pullback that also returns the log entries of backward rules.

        Its calls return (cotangents, log), where the log is a dict of pytrees of arrays. Entries
        are written by backward rules that were set by `custom_vjp.defvjp_with_logs`,
        `defvjp_with_accums` or `defremat_with_logs`, or by `custom_gradient(with_logs=True)`; other
        derivatives drop them. A rule that does not run, because no cotangent reaches it, writes
        nothing.

        Loops stack the entries of their iterations, in order, along a new leading axis. A `vmap` in
        the differentiated function stacks the entries of its indices in the same way. An entry from
        a branch of `cond` or `switch` is a structure with the fields `index`, the branch that ran,
        and `branches`, a list with the entry of each branch: zeros for a branch that did not run,
        and None for a branch that does not write the entry. Entries from `shard_map` are
        concatenated along their first axis; scalars become vectors with one element per device.

        Raises:
          ValueError: if two entries have the same name.

        Example:
          >>> @jax.custom_vjp
          ... def watched(x):
          ...     return x
          >>> watched.defvjp_with_logs(lambda x: (x, None), lambda _, ct: ((ct,), {"ct": ct}))
          >>> y, pullback = jax.vjp(lambda x: 3.0 * watched(jnp.sin(x)), 0.0)
          >>> cotangents, log = pullback.with_logs(1.0)
          >>> log
          {'ct': Array(3., dtype=float32, weak_type=True)}
        """
        return self._changed(want_logs=True)

    def _changed(self, **changes: Any) -> VJP:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return VJP(**{**fields, **changes})

    def with_refs(self, *wanted: PyTree) -> VJP:
        """Returns a copy of the pullback that computes only the requested cotangents.

        Args:
          *wanted: for each argument a pytree of `jax.ad.GradValue()`, `jax.ad.DontWant()` and
            mutable references, in the argument's structure or a prefix of it.

        Returns: a pullback that accumulates cotangents into the references, and returns
          `jax.ad.GradRef()` in place of such a cotangent, and `jax.ad.DidntWant()` in place of one
          that is not requested. If an argument is itself a reference, then before the call the
          reference passed here must hold the cotangent of the argument's final content (usually
          zeros); after the call it holds the cotangent of the initial content.

        Raises:
          TypeError: if an entry is of another type.
          ValueError: if the structure does not fit the arguments, a reference does not have the
            type of its cotangent, or `GradValue()` is passed for an argument that is a reference.

        Example:
          >>> y, pullback = jax.vjp(lambda x, w: x * w, 2.0, 3.0)
          >>> pullback.with_refs(jax.ad.DontWant(), jax.ad.GradValue())(1.0)
          (DidntWant(), Array(2., dtype=float32, weak_type=True))
        """
        in_tree = self.in_tree
        arguments = pytrees.tree_unflatten(in_tree, [0] * in_tree.num_leaves)
        spread = pytrees.tree_broadcast(wanted, arguments, is_leaf=_is_leaf_of_wanted)
        leaves = pytrees.tree_leaves(spread, is_leaf=_is_leaf_of_wanted)
        for x in leaves:
            if not isinstance(x, GradValue | DontWant) and not is_ref(x):
                raise TypeError(
                    "VJP.with_refs: pass jax.ad.GradValue() or a Ref for each requested cotangent, and "
                    f"jax.ad.DontWant() for all others, but got {x!r} of type {type(x)}"
                )
        for k, x in enumerate(leaves):
            self._check_wanted(k, x)
        flags = tuple([not isinstance(x, DontWant) for x in leaves])
        refs = [x if is_ref(x) else None for x in leaves]
        return self._changed(wanted=flags, refs=refs)

    def _check_wanted(self, k: int, x: object) -> None:
        """Raises ValueError unless `x` is a valid request for the cotangent of argument `k`."""
        content: Any = content_type(self.static.in_avals[k])
        if is_ref(x):
            wanted, got = content.to_cotangent_aval(), array_type(get_aval(x))
            is_float0 = getattr(wanted, "dtype", None) == dtypes.float0
            if not is_float0 and (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
                raise ValueError(
                    f"VJP.with_refs: the cotangent of {self._argument(k)} is of type "
                    f"{wanted.str_short()}, but the reference passed for it holds "
                    f"{got.str_short()}"
                )
        elif isinstance(x, GradValue):
            self._check_is_no_ref(k)

    def _check_refs(self) -> None:
        """Raises ValueError if an argument is a reference and `with_refs` was not called."""
        if self.wanted is None and any(map(IS_REF, self.static.in_avals)):
            for k in range(len(self.static.in_avals)):
                self._check_is_no_ref(k)

    def _check_is_no_ref(self, k: int) -> None:
        aval = self.static.in_avals[k]
        if aval.is_ref:
            raise ValueError(
                f"the pullback of {fun_name(self.static.fun)}: {self._argument(k)} is a "
                f"reference, {aval.str_short()}, so its cotangent is accumulated in place: pass to "
                "the method with_refs a reference for it, jax.new_ref(jnp.zeros_like(...)), or "
                "jax.ad.DontWant()"
            )

    def _argument(self, k: int) -> str:
        """Returns the path of flat argument `k`, for messages."""
        tree = self.in_tree
        leaves = pytrees.tree_leaves_with_path(pytrees.tree_unflatten(tree, [0] * tree.num_leaves))
        return f"args{pytrees.keystr(leaves[k][0])}"

    def _accumulators(self) -> list[GradAccum | None] | None:
        """Returns an accumulator for each argument, as requested by `with_refs`."""
        if self.wanted is None:
            return None
        accums: list[GradAccum | None] = []
        for aval, ref, is_wanted in zip(self.static.in_avals, self.refs, self.wanted, strict=True):
            ct_aval = content_type(aval).to_cotangent_aval()
            if not is_wanted:
                accums.append(NullAccum(ct_aval))
            else:
                accums.append(None if ref is None else RefAccum(ct_aval, ref))
        return accums

    def _residuals(self) -> list[Value]:
        """Returns the residuals in the order in which the linear program takes them."""
        static = self.static
        opaque = iter(self.opaque_residuals)
        if all(place is None for place in static.places):
            return list(opaque)
        # None stands for an array that was removed, possibly an entire argument.
        kept = pytrees.tree_unflatten(static.in_tree, [0] * static.in_tree.num_leaves)
        of_arguments: list[Any] = []
        for argument, entry in zip(kept, self.args_res, strict=True):
            structure = pytrees.tree_structure(argument)
            if _is_absent(entry) or isinstance(entry, NotSaveable):
                of_arguments += [entry] * structure.num_leaves
            else:
                of_arguments += structure.flatten_up_to(entry)
        out: list[Any] = []
        for place in static.places:
            value = next(opaque) if place is None else of_arguments[place]
            if isinstance(value, NotSaveable):
                raise ValueError(
                    f"the pullback of {fun_name(static.fun)} needs the value of leaf {place} of "
                    "its arguments, which saveable_args excludes; assign it in args_res "
                    "before the call"
                )
            if _is_absent(value):
                raise TypeError(
                    f"the pullback of {fun_name(static.fun)} needs the value of leaf {place} of "
                    "its arguments, which has been removed from args_res; restore it before the "
                    "call"
                )
            out.append(value)
        return out


pytrees.register_pytree_node(
    VJP,
    lambda f: ((f.args_res, f.opaque_residuals, f.refs), (f.static, f.wanted, f.want_logs)),
    lambda aux, children: VJP(aux[0], children[0], children[1], aux[1], children[2], aux[2]),
)


def _is_absent(x: object) -> bool:
    return x is None or isinstance(x, NotNeeded)


def _is_leaf_of_wanted(x: object) -> bool:
    return isinstance(x, GradValue | DontWant) or is_ref(x)


def make_vjp(
    fun: Callable[..., Any],
    linear: Linear,
    values: Sequence[Any],
    in_tree: PyTreeDef,
    out_avals: Sequence[AbstractValue],
    out_tree: PyTreeDef,
    kept: Sequence[bool] | None = None,
) -> VJP:
    """Returns the pullback of `fun`, whose derivative at the flat arguments `values` is `linear`.

    `kept` states which arguments the pullback may hold; all by default.
    """
    by_identity = {id(x): k for k, x in enumerate(values)}
    places = [by_identity.get(id(c)) for c in linear.consts]
    args_res: list[Any] = [NotNeeded()] * len(values)
    opaque: list[Any] = []
    for place, const in zip(places, linear.consts, strict=True):
        if place is None:
            opaque.append(const)
        else:
            args_res[place] = const if kept is None or kept[place] else NotSaveable()
    in_avals = [get_aval(x) for x in values]
    static = Static(
        fun, linear.without_consts(), in_avals, out_avals, in_tree, out_tree, tuple(places)
    )
    return VJP(static, list(pytrees.tree_unflatten(in_tree, args_res)), opaque)


def _checked_cotangents(static: Static, ct: PyTree) -> list[Cotangent]:
    """Returns the leaves of a cotangent of the result.

    Raises:
      ValueError: if their structure or types do not match the result.
    """
    fun, out_tree = static.fun, static.out_tree
    cts, ct_tree = pytrees.tree_flatten(ct)
    if ct_tree != out_tree:
        where = debug_info(fun, "vjp").func_src_info
        differences = equality_errors_pytreedef(out_tree, ct_tree)
        raise ValueError(
            f"vjp of {where}: the cotangent must have the tree structure of the output, "
            f"{out_tree}, but has "
            f"{ct_tree}"
            + "".join(
                f"\n  * {'out' + pytrees.keystr(path)} is a {before}, but its cotangent is a {after}: "
                f"{reason}"
                for path, before, after, reason in differences
            )
        )
    return [_checked_cotangent(c, a, fun) for c, a in zip(cts, static.out_avals, strict=True)]


def _checked_cotangent(ct: Value, aval: AbstractValue, fun: Callable[..., Any]) -> Cotangent:
    wanted: Any = aval.to_cotangent_aval()
    if wanted.is_high:
        if get_aval(ct) != wanted:
            raise ValueError(
                f"vjp of {fun_name(fun)}: the cotangent of an output {aval.str_short()} must be "
                f"{wanted.str_short()}, but is {get_aval(ct).str_short()}"
            )
        return ct
    if wanted.dtype == dtypes.float0:
        return Zero(wanted)
    got: Any = get_aval(ct)
    if got.shape != wanted.shape or got.dtype != wanted.dtype or varies_otherwise(got, wanted):
        raise ValueError(
            f"vjp of {fun_name(fun)}: the cotangent of an output {aval.str_short()} must be "
            f"{wanted.str_short()}, but is {got.str_short()}"
            + how_to_vary(got, wanted, "the argument")
            + how_to_vary(wanted, got, "the point of differentiation")
        )
    return ct if not isinstance(ct, np.ndarray | np.generic) else as_value(ct)
