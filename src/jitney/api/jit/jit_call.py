"""Calls of jitted functions: flattening of arguments, tracing, caching.

A call passes through these levels, from the fastest to the slowest:

1. The native fast path (`runtime`) maps a signature to an executable without running Python code.
2. `JitCall.call` flattens the arguments, looks up the traced program by (static values, tree,
   avals, settings), looks up its executable, and runs it.
3. `JitCall.trace` runs the Python function once on tracers, and caches the jaxpr.

Under another trace the call becomes one `jit` equation that holds the traced program.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.api.jit import slow_calls
from jitney.api.jit.compiler_options import check_compiler_options
from jitney.api.jit.jit_placement import GivenPlaces, given_places
from jitney.api.jit.signature import (
    CallSpec,
    canonicalize_argnames,
    canonicalize_argnums,
    check_argnames,
    check_argnums,
    infer_argnums_and_argnames,
    signature_of,
)
from jitney.api.jit.traced_program import TracedProgram as TracedProgram, TraceResult
from jitney.core.messages import messages
from jitney.core.program import key_reuse
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, is_high
from jitney.core.program.liveness import live_inputs
from jitney.core.program.shape_dtype import ShapeDtypeStruct, abstractify, is_abstract_operand
from jitney.core.pytree import pytrees
from jitney.core.recording import closures, jaxpr_trace
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.ref_checks import check_passed_once
from jitney.core.settings import caches, compile_log, config, performance
from jitney.core.source import source_info
from jitney.core.tracing.hi_types import HAS_QDD, is_mutable, with_state
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types.avals import AbstractValue, get_aval, is_valid_operand
from jitney.core.types.refs import any_refs, is_ref
from jitney.core.util.record import record
from jitney.core.util.wraps import transformations_of
from jitney.primitives.call.call import jit_p
from jitney.runtime.devices.sharding import UNSPECIFIED
from jitney.runtime.execution import debug_checks, dispatch, placements, signatures
from jitney.runtime.execution.assignment import any_on_mesh, assign
from jitney.transforms.lojax import run_lowered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jitney.api.jit.inlining import Inline
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import Params, PyTree, Value
    from jitney.runtime.arrays.array import ArrayImpl
    from jitney.runtime.execution.assignment import Assignment


# The flattened arguments of a call: (leaves, tree, dynamic args, dynamic kwargs, static key).
Flat: TypeAlias = tuple[list[Any], Any, Any, Any, Any]

# The key of a traced program: (static key, tree, types of the leaves, epoch of settings, axes).
Key: TypeAlias = "tuple[object, PyTreeDef, tuple[AbstractValue, ...], object, object]"

# Function -> (key of the call -> trace, (options, key) -> traced program).
_traced: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def _cache_of(fun: Callable[..., Any]) -> dict[Any, Any]:
    try:
        cache = _traced.get(fun)
        if cache is None:
            cache = _traced[fun] = {}
        return cache
    except TypeError:  # not hashable or weakly referenceable: cached per jitted function
        return {}


def _clear_traced() -> None:
    for cache in list(_traced.values()):
        cache.clear()


caches.register(
    "traced programs", "the function, static arguments, structure, types, settings", __name__,
    entries=lambda: sum(map(len, _traced.values())), clear=_clear_traced,
)  # fmt: skip


@record(frozen=True, eq=False)
class JitOptions:
    """The options of `jit`, except those that split the arguments, which are in `CallSpec`.

    Attributes:
      name: the name of the function in jaxprs and messages.
      keep_unused: whether unused arguments are passed to the program, too.
      inline: whether calls during tracing record the equations of the body.
      in_places: the placement of the arguments, from `in_shardings` or the device.
      out_places: the placement of the results, from `out_shardings` or the device.
      compiler_options: XLA options, whose names are checked at each compilation; they have no
        effect.
      api_name: the name of the public function to which the options were passed, for messages.
    """

    name: str
    keep_unused: bool = False
    inline: bool = False
    in_places: GivenPlaces | None = None
    out_places: GivenPlaces | None = None
    compiler_options: Mapping[str, Any] | None = None
    api_name: str = "jit"

    def key(self) -> tuple[object, ...]:
        """Returns a key that is equal for options that result in the same program of a function."""
        return (
            self.name, self.keep_unused, self.inline, self.in_places, self.out_places,
            self.api_name,
        )  # fmt: skip


class JitCall:
    """A function with its `jit` options; handles all calls that the native fast path does not."""

    traced_for = "jit"  # the transformation's name in messages

    def __init__(self, fun: Callable[..., Any], spec: CallSpec, options: JitOptions) -> None:
        self.fun = fun
        self.spec = spec
        self.options = options
        self.name = options.name
        self.cache = _cache_of(fun)
        self.narrowing_calls = 0
        # The part of a traced program's key that is the same for all calls.
        self.options_key = (spec.donate_argnums, spec.donate_argnames, *options.key())

    # --- arguments --------------------------------------------------------------------------------

    def flatten(self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> Flat:
        """Returns (leaves, tree, dynamic args, dynamic kwargs, static key)."""
        dynamic, dynamic_kwargs, static = self.spec.split(args, kwargs)
        leaves, tree = pytrees.tree_flatten((dynamic, dynamic_kwargs))
        return leaves, tree, dynamic, dynamic_kwargs, static

    def avals(
        self,
        leaves: list[Any],
        dynamic: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        static: Any,
        abstract: bool,
    ) -> tuple[AbstractValue, ...]:
        """Returns the types of the flat arguments.

        While another program is being recorded, an argument may be a `ShapeDtypeStruct`, which is
        replaced by a tracer in `leaves`. The recorded program then cannot be run.

        Raises:
          TypeError: if an argument is not an array; the message names it.
        """
        type_of = abstractify if abstract else get_aval
        try:
            avals = tuple([type_of(x) for x in leaves])
            if any(map(HAS_QDD, avals)):
                avals = tuple([with_state(a, x) for a, x in zip(avals, leaves, strict=True)])
            return avals
        except TypeError:
            if not abstract and state.trace.is_staging and _record_valueless(leaves):
                return self.avals(leaves, dynamic, kwargs, static, abstract)
            is_valid = is_abstract_operand if abstract else is_valid_operand
            self._refuse(leaves, dynamic, kwargs, static, is_valid)
            raise
        except OverflowError:
            self._refuse_integer(leaves, dynamic, kwargs, static)
            raise

    def _refuse(
        self,
        leaves: Sequence[Any],
        dynamic: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        static: Any,
        is_valid: Callable[[PyTree], bool],
    ) -> None:
        names = self.spec.argument_names(dynamic, kwargs, static)
        for x, name in zip(leaves, names, strict=True):
            if not is_valid(x):
                raise TypeError(
                    f"jit({self.name}): arguments must be arrays or scalars, or pytrees of these, but "
                    f"{name} is of type {type(x)}.\n"
                    f"Instead: {_as_argument(name, x)}{messages.see('jit-argument')}"
                ) from None

    def _refuse_integer(
        self,
        leaves: Sequence[Any],
        dynamic: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        static: Any,
    ) -> None:
        names = self.spec.argument_names(dynamic, kwargs, static)
        for x, name in zip(leaves, names, strict=True):
            try:
                abstractify(x)
            except OverflowError as error:
                raise OverflowError(
                    f"jit({self.name}): argument {name} is out of the range of its dtype: {error}"
                ) from None

    # --- tracing ----------------------------------------------------------------------------------

    def trace(
        self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree], abstract: bool = False
    ) -> tuple[TracedProgram, list[Value]]:
        """Returns the traced program for these arguments, and the flat arguments.

        With `abstract`, arguments may be anything with a shape and a dtype.
        """
        flat = self.flatten(args, kwargs)
        return self._traced(flat, abstract), flat[0]

    def _traced(self, flat: Flat, abstract: bool) -> TracedProgram:
        """Returns the traced program for the result of `flatten`."""
        key = self._key(flat, abstract)
        program = self.cache.get((self.options_key, key)) or closures.known(
            self.fun, (self.options_key, key)
        )
        return self._new_program(flat, key) if program is None else program

    def _new_program(self, flat: Flat, key: Key) -> TracedProgram:
        """Returns the program of the function for new argument types or new options."""
        _, _, dynamic, dynamic_kwargs, static = flat
        traced = self.cache.get(key)
        if traced is None and config.reuse_equal_functions.value:
            traced = self._shared_trace(flat, key)
        elif traced is None:
            traced = self._new_trace(flat, key)
        program = self._program(traced, self.spec.donated(dynamic, dynamic_kwargs))
        if self.options.in_places is not None or self.options.out_places is not None:
            program.params.update(self._places(program, dynamic, dynamic_kwargs, static))
        # The state of mutable values may differ in the next call.
        outer = program.outer_tracers
        if any([isinstance(x, Tracer) or is_mutable(x) for x in outer]):
            closures.keep(self.fun, (self.options_key, key), program, outer)
            return program
        self.cache[key] = traced
        self.cache[self.options_key, key] = program
        return program

    def _new_trace(self, flat: Flat, key: Key) -> TraceResult:
        """Traces the function, and warns if it is traced too often."""
        _, tree, dynamic, dynamic_kwargs, static = flat
        if config.explain_cache_misses.value:
            self._explain(key, dynamic, dynamic_kwargs)
        traced = self._trace(tree, key[2], dynamic, dynamic_kwargs, static)
        if state.trace is state.eval_trace and performance.warns():
            self._watch(key, traced, dynamic, dynamic_kwargs)
        return traced

    def _shared_trace(self, flat: Flat, key: Key) -> TraceResult:
        """Returns the trace that equal functions share, or a new one."""
        from jitney.api.jit import equal_functions  # not needed without the option

        function = None
        if state.trace is state.eval_trace:
            function = equal_functions.repeated(self.fun, flat[1], flat[4])
        traced = None if function is None else equal_functions.trace_of(function, key)
        if traced is None:
            traced = self._new_trace(flat, key)
            if function is not None:
                equal_functions.keep(function, key, traced)
        return traced

    def _key(self, flat: Flat, abstract: bool) -> Key:
        """Returns the cache key of the traced program; its third entry has the argument types."""
        leaves, tree, dynamic, dynamic_kwargs, static = flat
        avals = self.avals(leaves, dynamic, dynamic_kwargs, static, abstract)
        axes = state.axis_env, state.checked_axes, state.folds
        return static, tree, avals, config.trace_epoch(), axes

    def key(self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> Key:
        """Returns a key that is equal for calls that share a traced program."""
        return self._key(self.flatten(args, kwargs), abstract=False)

    def _explain(
        self, key: tuple[Any, ...], dynamic: tuple[PyTree, ...], kwargs: dict[str, PyTree]
    ) -> None:
        from jitney.api.jit import cache_misses

        names = self.spec.argument_names(dynamic, kwargs, key[0])
        cache_misses.explain(self.fun, key, self._known(), names, self.spec.static_name)

    def _known(self) -> list[Key]:
        """Returns the keys of the cached traces, oldest first."""
        return [k for k, entry in list(self.cache.items()) if isinstance(entry, TraceResult)]

    def _watch(
        self,
        key: tuple[Any, ...],
        traced: TraceResult,
        dynamic: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
    ) -> None:
        """Warns if the function is traced too often."""

        def reasons() -> tuple[list[str], str] | None:
            names = self.spec.argument_names(dynamic, kwargs, key[0])
            return slow_calls.reasons(key, self._known(), names, self.spec.static_name)

        slow_calls.watch_trace(self.fun, traced.closed.jaxpr, reasons)

    def _program(self, traced: TraceResult, donated: tuple[bool, ...]) -> TracedProgram:
        closed, outer = traced.closed, traced.outer_tracers
        params = jit_params(
            self.name,
            len(closed.in_avals),
            len(closed.out_avals),
            donated=(False,) * len(outer) + donated,
            keep_unused=self.options.keep_unused,
            inline=self.options.inline,
        )
        return TracedProgram(closed, traced.out_tree, outer, params)

    def _places(
        self,
        program: TracedProgram,
        dynamic: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        static: Any,
    ) -> Params:
        """Returns the parameters `in_shardings` and `out_shardings` of a program.

        Raises:
          ValueError: if the options do not fit the arguments or results, or if `in_shardings` is
            combined with keyword arguments.
        """
        closed, n_outer = program.closed, len(program.outer_tracers)
        params: dict[str, Any] = {}
        if self.options.in_places is not None:
            if kwargs and not self.options.in_places.is_of_one_device:
                raise ValueError(
                    f"{self.options.api_name}: in_shardings applies to positional arguments only, but "
                    f"{', '.join(kwargs)} were passed by keyword; pass them by position"
                )
            names = self.spec.argument_names(dynamic, kwargs, static)
            places = self.options.in_places.spread(
                (dynamic, kwargs) if kwargs else dynamic,
                closed.in_avals[n_outer:],
                lambda i: str(names[i]),
            )
            params["in_shardings"] = (*(UNSPECIFIED,) * n_outer, *places)
        if self.options.out_places is not None:
            result = pytrees.tree_unflatten(program.out_tree, closed.out_avals)
            paths = pytrees.tree_flatten_with_path(result)[0]
            params["out_shardings"] = self.options.out_places.spread(
                result, closed.out_avals, lambda i: f"result{pytrees.keystr(paths[i][0])}"
            )
        return params

    def _trace(
        self,
        tree: PyTreeDef,
        avals: Sequence[AbstractValue],
        dynamic: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        static: Any,
    ) -> TraceResult:
        if config.no_tracing.value:
            raise RuntimeError(f"jit({self.name}) must be traced, but no_tracing is set")
        names = tuple(self.spec.argument_names(dynamic, kwargs, static))
        place = source_info.fun_sourceinfo(self.fun)
        is_plain = type(self.fun) is FunctionType and not self.fun.__dict__  # avoids a call
        made_by = () if is_plain else transformations_of(self.fun)
        info = DebugInfo(self.traced_for, place, names, None, made_by)

        def merged(inner_args: tuple[PyTree, ...], inner_kwargs: dict[str, PyTree]) -> object:
            full_args, full_kwargs = self.spec.merge(inner_args, inner_kwargs, static)
            return self.fun(*full_args, **full_kwargs)

        def refusal(x: object, path: str) -> str:
            return (
                f"function {info.func_src_info} traced for {info.traced_for} must return arrays or "
                "scalars, "
                f"but {f'output component {path}' if path else 'its output'} is of type {type(x)}"
            )

        flat = FlatFunction(merged, tree, refusal)
        with compile_log.step("tracing", self.name):
            closed, outer = trace_closed(flat, avals, info)
        if config.debug_key_reuse.value:
            key_reuse.check_program(closed)
        return TraceResult(closed, flat.out_tree, outer)

    def _check_refs(self, program: TracedProgram, flat: Flat) -> None:
        leaves, _, dynamic, kwargs, static = flat
        info = DebugInfo(self.traced_for, source_info.fun_sourceinfo(self.fun))
        check_passed_once(
            leaves,
            program.outer_tracers,
            lambda: self.spec.argument_names(dynamic, kwargs, static),
            info,
        )

    # --- calling ----------------------------------------------------------------------------------

    def check_compiler_options(self) -> None:
        """Checks that compiler options exist, and that the call is not within a traced function.

        Raises:
          ValueError: if the call is within a traced function, which is compiled as a unit.
          JaxRuntimeError: if an option is unknown; names that begin with "xla_" are not checked.
        """
        if isinstance(state.trace, jaxpr_trace.JaxprTrace):
            raise ValueError(
                f"jit({self.name}) has compiler_options={self.options.compiler_options}, but is called "
                "while another function is traced, and will be compiled as part of that function: "
                "pass the options to the outermost jit"
            )
        check_compiler_options(self.options.compiler_options)

    def call(
        self,
        args: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        remember: Callable[..., None] | None = None,
    ) -> object:
        """Calls the function under any trace.

        Args:
          args: positional arguments.
          kwargs: keyword arguments.
          remember: a function that is called with (signature, program, result tree, assignment)
            after a call that native code can repeat.
        """
        if config.disable_jit_enabled():
            return self.fun(*args, **kwargs)
        if self.options.compiler_options:
            self.check_compiler_options()
        flat = self.flatten(args, kwargs)
        program, leaves = self._traced(flat, abstract=False), flat[0]
        takes_refs = any_refs(program.closed.in_avals)
        if takes_refs:
            self._check_refs(program, flat)
        is_evaluated = state.trace is state.eval_trace and not takes_refs
        if is_evaluated and is_high(program.closed):
            outs = run_lowered(program.closed, (*program.outer_tracers, *leaves), dispatch.run)
        elif is_evaluated and not program.outer_tracers:
            outs = self._run(program, flat, args, kwargs, remember)
        else:
            outs = bind_program(program, leaves)
        return pytrees.tree_unflatten(program.out_tree, outs)

    def _run(
        self,
        program: TracedProgram,
        flat: Flat,
        args: tuple[PyTree, ...],
        kwargs: dict[str, PyTree],
        remember: Callable[..., None] | None,
    ) -> Sequence[Value]:
        """Runs a program of arrays; returns its flat results.

        Args:
          program: the traced program.
          flat: the arguments, from `flatten`.
          args, kwargs, remember: as for `call`.
        """
        leaves = flat[0]
        consumed = ()
        if any(program.params["donated_invars"]):
            consumed = program.consumed(any_on_mesh(leaves))
        signature = None
        if slow_calls.narrows(self, leaves):
            remember = None
        if remember is not None:
            signature = signatures.signature(flat[1], leaves, program.closed.in_avals, flat[4])
        live = None if self.options.keep_unused else live_inputs(program.closed.jaxpr)

        def describe(i: int) -> str:
            names = self.spec.argument_names(flat[2], flat[3], flat[4])
            return f"argument {names[i]} of {self.name}"

        requests = placements.in_context(program.requests(), self.options.api_name == "pjit")
        assignment = assign(leaves, consumed, live, describe, requests)
        try:
            on_mesh = assignment.mesh is not None
            outs = self._run_unreduced(program, leaves, assignment) if on_mesh else None
            if outs is not None:
                remember = None  # native code does not support unreduced arrays
            else:
                outs = dispatch.run(
                    program.closed,
                    leaves,
                    assignment,
                    keep_unused=self.options.keep_unused,
                    name=self.name,
                )
        except FloatingPointError as error:
            if not config.checks_values() or any(consumed):  # donated: may be overwritten
                raise
            debug_checks.raise_where_it_arises(error, self.name, lambda: self.fun(*args, **kwargs))
        if remember is not None and signature is not None:
            remember(signature, program.closed, program.out_tree, assignment)
        return outs

    def _run_unreduced(
        self, program: TracedProgram, leaves: Sequence[Any], assignment: Assignment
    ) -> list[ArrayImpl] | None:
        """Runs a program if arguments or results are unreduced, and returns None otherwise."""
        from jitney.api.jit import unreduced  # needed on several devices only

        return unreduced.call(program.closed, leaves, assignment, self.name)


def trace_closed(
    flat_fun: Callable[..., Sequence[Any]], avals: Sequence[AbstractValue], info: DebugInfo
) -> tuple[ClosedJaxpr, tuple[Value, ...]]:
    """Returns a program, and the captured values that are its first operands.

    These are tracers of enclosing traces, and references. All other captured values are constants
    of the program.
    """
    jaxpr, _, consts = jaxpr_trace.trace_to_jaxpr(flat_fun, avals, info)
    is_outer = [isinstance(x, Tracer) or is_ref(x) or is_mutable(x) for x in consts]
    pairs = [*zip(jaxpr.constvars, consts, strict=True)]
    outer = [pair for pair, is_one in zip(pairs, is_outer, strict=True) if is_one]
    if not outer:
        return ClosedJaxpr(jaxpr, consts), ()
    kept = [pair for pair, is_one in zip(pairs, is_outer, strict=True) if not is_one]
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))
    jaxpr = jaxpr.replace(
        constvars=[v for v, _ in kept],
        invars=[v for v, _ in outer] + jaxpr.invars,
        debug_info=jaxpr.debug_info._replace(arg_names=(None,) * len(outer) + names),
    )
    return ClosedJaxpr(jaxpr, [x for _, x in kept]), tuple(x for _, x in outer)


def jit_params(
    name: str,
    n_in: int,
    n_out: int,
    *,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    inline: bool = False,
) -> Params:
    """Returns the parameters of a `jit` equation, except `jaxpr`, in the same order as in JAX."""
    return {
        "in_shardings": (UNSPECIFIED,) * n_in,
        "out_shardings": (UNSPECIFIED,) * n_out,
        "in_layouts": (None,) * n_in,
        "out_layouts": (None,) * n_out,
        "donated_invars": donated or (False,) * n_in,
        "ctx_mesh": None,
        "name": name,
        "keep_unused": keep_unused,
        "inline": inline,
        "compiler_options_kvs": (),
    }


def bind_program(program: TracedProgram, leaves: Sequence[Any]) -> list[Value]:
    """Applies a traced program under the current trace: inlined, or as one equation."""
    operands = (*program.outer_tracers, *leaves)
    if program.params["inline"]:
        outs = eval_jaxpr(program.closed.jaxpr, program.closed.consts, *operands)
        pairs = zip(outs, program.closed.out_avals, strict=True)
        # A literal is a Python scalar, which has no dtype.
        return [x if hasattr(x, "dtype") else np.asarray(x, aval.dtype) for x, aval in pairs]
    return jit_p.bind(*operands, jaxpr=program.closed, **program.params)


def fun_name(fun: Callable[..., Any]) -> str:
    """Returns the name of `fun` in equations."""
    name = getattr(fun, "__name__", None)
    if name is not None:
        return name
    if isinstance(fun, functools.partial):
        return fun_name(fun.func)
    return type(fun).__name__


def make_call(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    inline: bool | Inline = False,
    name: str | None = None,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    api_name: str = "jit",
    compiler_options: Mapping[str, Any] | None = None,
) -> JitCall:
    """Returns the `JitCall` of `fun`, with options checked against its signature.

    `api_name` is the name of the public function, for messages.

    Raises:
      TypeError: if `fun` is not callable, or options are of the wrong type.
      ValueError: if an option names an argument that `fun` does not have, or that is both static
        and donated; if `donate_argnames` is given for a function without a known signature; if
        `inline` is neither a boolean nor an `Inline`.
    """
    if not isinstance(inline, bool):
        from jitney.api.jit import inlining

        inline = inlining.at_tracing(inline)
    if not callable(fun):
        raise TypeError(f"{api_name} needs a function, but got {fun} of type {type(fun).__name__}")
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"{api_name} needs a function, but got {fun}; place the decorator {api_name} below "
            "@staticmethod, not above it"
        )
    if inspect.isgeneratorfunction(fun):
        raise TypeError(
            f"{api_name} needs a function that returns arrays, but {fun} is a generator function; "
            "return a tuple of the values that it yields, or loop with jax.lax.scan"
        )
    signature = signature_of(fun)
    numbers, names = _roles(signature, fun, static_argnums, static_argnames, "static")
    d_numbers, d_names = _roles(signature, fun, donate_argnums, donate_argnames, "donate")
    if donate_argnames is not None and signature is None:
        raise ValueError(
            f"donate_argnames needs the names of the parameters, but {fun} has no signature; pass "
            "positions as donate_argnums"
        )
    if d_names or d_numbers:
        _check_disjoint("argnames", names, d_names)
        _check_disjoint("argnums", numbers, d_numbers)
    spec = CallSpec(signature, numbers, frozenset(names), d_numbers, frozenset(d_names))
    options = JitOptions(
        name or fun_name(fun),
        keep_unused,
        inline,
        given_places("in_shardings", in_shardings, api_name),
        given_places("out_shardings", out_shardings, api_name),
        compiler_options,
        api_name,
    )
    return JitCall(fun, spec, options)


def _check_disjoint(kind: str, static: Iterable[object], donated: Iterable[object]) -> None:
    both = set(static) & set(donated)
    if both:
        raise ValueError(
            f"static_{kind} and donate_{kind} cannot intersect, but both have {sorted(map(str, both))}"
        )


def _roles(
    signature: inspect.Signature | None,
    fun: Callable[..., Any],
    argnums: int | Sequence[int] | None,
    argnames: str | Iterable[str] | None,
    role: str,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Returns the positions and names of the arguments with a role, such as "static".

    If only the positions or only the names are given, the others are inferred.
    """
    by_number, by_name = f"{role}_argnums", f"{role}_argnames"
    numbers = None if argnums is None else canonicalize_argnums(argnums, by_number)
    names = None if argnames is None else canonicalize_argnames(argnames, by_name)
    check_argnums(signature, fun, numbers or (), by_number)
    check_argnames(signature, fun, names or (), by_name)
    return infer_argnums_and_argnames(signature, numbers, names)


__all__ = ["JitCall", "JitOptions", "TracedProgram", "jit_params", "make_call", "trace_closed"]


def _record_valueless(leaves: list[Any]) -> bool:
    """Replaces each `ShapeDtypeStruct` by a tracer without a value; returns whether there are any."""
    structs = [i for i, x in enumerate(leaves) if isinstance(x, ShapeDtypeStruct)]
    for i in structs:
        leaves[i] = state.trace.new_valueless(leaves[i], abstractify(leaves[i]))
    return bool(structs)


def _as_argument(name: str | None, x: object) -> str:
    """Returns advice on how to pass `x` to a jitted function."""
    if name == "self":
        kind = type(x).__name__
        return (
            f"to pass its arrays as data, jax.tree_util.register_dataclass({kind}); if it is constant "
            "and hashable, functools.partial(jax.jit, static_argnums=0)"
        )
    return (
        "if it is an option, list it in static_argnums or static_argnames; if it is a container of "
        "arrays, register its class with jax.tree_util.register_dataclass"
    )
