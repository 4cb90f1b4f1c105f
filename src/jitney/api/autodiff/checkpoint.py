"""`checkpoint`: derivatives that recompute intermediate values instead of storing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from jitney.api.jit.jit_call import JitCall, JitOptions, make_call
from jitney.core.diagnostics.errors import ConcretizationTypeError
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.jaxpr import DebugInfo, Jaxpr, JaxprEqn, Literal, Var
from jitney.core.program.shape_dtype import abstractify
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.source import source_info
from jitney.core.types.avals import is_valid_operand
from jitney.core.util.wraps import wraps
from jitney.primitives.call.remat import bind_program, name_p
from jitney.transforms.linearize import linearize_flat

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, ArrayLike, PyTree, Value

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_REMOVED: Any = object()


class _CheckpointCall(JitCall):
    """A `JitCall` that traces a function for `checkpoint`; it keeps unused arguments."""

    traced_for = "checkpoint / remat"

    def __init__(self, call: JitCall) -> None:
        super().__init__(call.fun, call.spec, JitOptions(call.name, keep_unused=True))
        self.cache = self.cache.setdefault(self.traced_for, {})


def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: object = _REMOVED,
) -> Callable[P, R]:
    """Returns a version of `fun` whose derivatives recompute intermediate values.

    Only the arguments are stored for the backward pass. This trades computing time for memory.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      prevent_cse: whether to keep the compiler from merging the recomputation with the original
        computation. A tuple has one entry for each argument that is not static: a boolean, or a
        pytree prefix of the argument with boolean leaves.
      policy: selects intermediate values that are stored nevertheless; see
        `jax.checkpoint_policies`.
      static_argnums: positions of arguments that are passed to `fun` untraced, such as flags that
        decide which operations it performs. If one of them is not hashable, each call traces `fun`
        again.
      static_argnames: names of arguments that are passed to `fun` untraced.
      concrete: must not be given; JAX has removed this option.

    Returns: a function that takes the arguments of `fun` and returns its results.

    Raises:
      TypeError: if `concrete` is given.

    Example:
      >>> jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    if concrete is not _REMOVED:
        raise TypeError(
            "jax.checkpoint: JAX 0.11 has removed the option `concrete`; use `static_argnums` for "
            "the arguments on which control flow in Python depends"
        )

    def call_of(fun: Callable[..., Any]) -> _CheckpointCall:
        call = make_call(fun, static_argnums, static_argnames, api_name="checkpoint")
        return _CheckpointCall(call)

    shared = call_of(fun)

    @wraps(fun)
    @api_boundary
    def checkpointed(*args: PyTree, **kwargs: PyTree) -> R:
        call = shared
        if call.spec.has_static and not _has_hash(call.spec.static_values(args, kwargs)):
            args, kwargs = call.spec.map_static(_Unhashed, args, kwargs)
            call = call_of(_of_unhashed(fun))
        try:
            program, leaves = call.trace(args, kwargs)
        except ConcretizationTypeError as error:
            error.args = (f"{error.args[0]}\n\n{_HINT}", *error.args[1:])
            raise
        flags = prevent_cse
        if not isinstance(flags, bool):
            flags = _flags_of_leaves(flags, call, args, kwargs)
            flags = (*(False,) * len(program.outer_tracers), *flags)
        params = {"prevent_cse": flags, "differentiated": False, "policy": policy}
        operands = [*program.outer_tracers, *leaves]
        return pytrees.tree_unflatten(
            program.out_tree, bind_program(program.closed, operands, params)
        )

    return checkpointed


class _Unhashed:
    """A static argument that is not hashable; programs traced with it are not cached."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _has_hash(values: Sequence[object]) -> bool:
    try:
        hash(tuple(values))
    except TypeError:
        return False
    return True


def _of_unhashed(fun: Callable[..., R]) -> Callable[..., R]:
    """Returns a function that replaces `_Unhashed` arguments by their values, and calls `fun`."""

    def value_of(x: PyTree) -> object:
        return x.value if type(x) is _Unhashed else x

    @wraps(fun)
    def with_values(*args: PyTree, **kwargs: PyTree) -> R:
        return fun(*map(value_of, args), **{name: value_of(x) for name, x in kwargs.items()})

    return with_values


def _flags_of_leaves(
    arg_flags: Sequence[PyTree], call: JitCall, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
) -> tuple[bool, ...]:
    """Returns a flag for each leaf of the arguments that are not static.

    `arg_flags` has one entry for each argument.

    Raises:
      TypeError: if `arg_flags` is not a sequence.
      ValueError: if `arg_flags` is not a prefix of the arguments.
    """
    if not isinstance(arg_flags, tuple | list):
        raise TypeError(
            "checkpoint: `prevent_cse` must be a boolean, or a tuple with one for each argument that "
            f"is not static, but is {arg_flags!r} of type {type(arg_flags)}"
        )
    _, _, dynamic, by_name, _ = call.flatten(args, kwargs)
    signature = call.spec.signature
    order = list(signature.parameters) if by_name and signature else []
    names = sorted(by_name, key=lambda name: order.index(name) if name in order else len(order))
    first, remaining = tuple(arg_flags[: len(dynamic)]), arg_flags[len(dynamic) :]
    named: dict[str, PyTree] = dict.fromkeys(names, True)
    if by_name and remaining:
        named.update(zip(names, remaining, strict=True))
    elif remaining:
        first = tuple(arg_flags)  # too many flags: `broadcast_prefix` raises the error
    flags = pytrees.broadcast_prefix((first, named), (tuple(dynamic), by_name))
    return tuple([bool(flag) for flag in flags])


_HINT = (
    "Consider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`: arguments "
    "named there are not traced."
)


@overload
def checkpoint_name(x: ArrayLike, name: str) -> Array: ...


@overload
def checkpoint_name(x: T, name: str) -> T: ...


def checkpoint_name(x: PyTree, name: str) -> object:
    """Names the values in the pytree `x`, so that `checkpoint` policies can refer to them."""

    def named(leaf: Value) -> Value:
        return name_p.bind(leaf, name=name)

    return pytrees.tree_map(named, x)


checkpoint_name_fwd = checkpoint_name  # JAX exports this as the JVP rule; it is the same function


# --- residuals ------------------------------------------------------------------------------------


def saved_residuals(
    f: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree
) -> list[tuple[AbstractValue, str]]:
    """Returns the types and origins of the residuals that the derivative of `f` stores."""
    leaves, tree = pytrees.tree_flatten((args, kwargs))
    paths = [p for p, _ in pytrees.tree_flatten_with_path((args, kwargs))[0]]
    call = make_call(f, api_name="saved_residuals")
    names = call.spec.argument_names(args, kwargs, ())

    flat = FlatFunction(f, tree, has_kwargs=True)

    def residuals(*values: ArrayLike) -> list[Value]:
        info = DebugInfo("saved_residuals", source_info.fun_sourceinfo(f))
        return linearize_flat(flat, values, info)[1].consts

    for x in leaves:
        if not is_valid_operand(x):
            raise TypeError(
                f"saved_residuals: arguments must be arrays or scalars, but {x!r} is of type "
                f"{type(x)}"
            )
    info = DebugInfo("saved_residuals", source_info.fun_sourceinfo(f), tuple(names))
    jaxpr, _, _ = trace_to_jaxpr(residuals, [abstractify(x) for x in leaves], info)
    assert len(names) == len(paths)
    return _described(jaxpr, names)


def _described(jaxpr: Jaxpr, names: Sequence[str | None]) -> list[tuple[AbstractValue, str]]:
    residuals: list[tuple[Any, str]] = []
    kept = list(dict.fromkeys(v for v in jaxpr.outvars if isinstance(v, Var)))
    residuals += [(a.aval, "from a literal") for a in jaxpr.outvars if isinstance(a, Literal)]
    wanted = set(kept)
    residuals += [(v.aval, "from a constant") for v in jaxpr.constvars if v in wanted]
    residuals += [
        (v.aval, f"from the argument {name}")
        for v, name in zip(jaxpr.invars, names, strict=True)
        if v in wanted
    ]
    named = {
        v: eqn
        for eqn in jaxpr.eqns
        if eqn.primitive is name_p
        for v in (eqn.invars[0], eqn.outvars[0])
        if isinstance(v, Var)
    }
    made_by = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    for v, eqn in made_by.items():
        if v in wanted:
            source = eqn.invars[0] if eqn.primitive.name == "reduce_precision" else v
            if isinstance(source, Var) and source in made_by:
                residuals.append((v.aval, _origin(made_by[source], source, named)))
            else:
                residuals.append((v.aval, _origin(eqn, v, named)))
    return residuals


def _origin(eqn: JaxprEqn, var: Var, named: dict[Var, JaxprEqn]) -> str:
    where = source_info.summarize(eqn.source_info)
    if var in named:
        return f"named '{named[var].params['name']}' from {where}"
    if eqn.primitive.name == "jit":
        return f"output of jitted function '{eqn.params['name']}' from {where}"
    return f"output of {eqn.primitive.name} from {where}"


def print_saved_residuals(f: Callable[..., PyTree], *args: PyTree, **kwargs: PyTree) -> None:
    """Prints the result of `saved_residuals`, one residual per line."""
    for aval, what in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {what}")


checkpoint.__module__ = "jax"
