"""`jit`: just-in-time compiled functions."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    overload,
)

from jitney.api.jit import stages
from jitney.api.jit.inlining import Inline, at_tracing
from jitney.api.jit.jit_call import JitCall, JitOptions, make_call
from jitney.api.jit.jit_placement import places_on
from jitney.api.jit.make_jaxpr import result_structure
from jitney.api.jit.signature import CallSpec
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import entered_mesh
from jitney.core.tracing.trace import state
from jitney.runtime.compilation import lazy_compiler
from jitney.runtime.devices.sharding import UNSPECIFIED
from jitney.runtime.execution.dispatch import PjitFunction

if TYPE_CHECKING:
    from jitney.core.typing import PyTree
    from jitney.runtime.devices.device import Device

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
S = TypeVar("S", contravariant=True)


class Jitted(Protocol[P, R]):
    """The static type of a jitted function: a callable with its own signature, and methods."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Jitted[Concatenate[S, Q], R], instance: S, owner: type | None = None
    ) -> Jitted[Q, R]: ...

    def trace(self, *args: PyTree, **kwargs: PyTree) -> stages.Traced: ...
    def lower(self, *args: PyTree, **kwargs: PyTree) -> stages.Lowered: ...
    def eval_shape(self, *args: PyTree, **kwargs: PyTree) -> PyTree: ...
    def clear_cache(self) -> None: ...


class JitFunction(PjitFunction):
    """A jitted function. Calls that hit the native cache run no Python code of this package."""

    call: JitCall

    @property
    def fun(self) -> Callable[..., object]:
        return self.call.fun

    @api_boundary
    def trace(self, *args: PyTree, **kwargs: PyTree) -> stages.Traced:
        """Traces the function for these arguments (arrays or `ShapeDtypeStruct`s)."""
        return stages.trace(self.call, args, kwargs)

    @api_boundary
    def lower(
        self, *args: PyTree, lowering_platforms: Sequence[str] | None = None, **kwargs: PyTree
    ) -> stages.Lowered:
        """Traces and lowers the function for these arguments (arrays or `ShapeDtypeStruct`s).

        `lowering_platforms` is accepted for compatibility; it has no effect.
        """
        return stages.trace(self.call, args, kwargs).lower()

    @api_boundary
    def eval_shape(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """Returns the shapes and dtypes of the result, which tracing determines."""
        program, _ = self.call.trace(args, kwargs, abstract=True)
        result = result_structure(program.closed.out_avals, program.out_tree)
        places = program.params.get("out_shardings")
        if self.call.options.out_places is None or places is None:
            return result
        leaves, tree = pytrees.tree_flatten(result)
        placed = [
            x if place is UNSPECIFIED else x.update(sharding=place)
            for x, place in zip(leaves, places, strict=True)
        ]
        return pytrees.tree_unflatten(tree, placed)

    def clear_cache(self) -> None:
        """Clears the traced programs and executables of this function."""
        self.call.cache.clear()
        self.clear_fast_path()

    def _cache_size(self) -> int:
        """Returns how many programs have been traced for calls with these options."""
        return sum(key[0] == self.call.options_key for key in self.call.cache if len(key) == 2)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.call.fun)

    def __copy__(self) -> JitFunction:
        return JitFunction(self.call, self.call.fun)

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction:
        return self.__copy__()

    def __reduce__(self) -> str | tuple[object, ...]:
        # Decorated functions are pickled by name, like plain functions.
        name = getattr(self, "__qualname__", "")  # `partial` objects have no name
        named = getattr(sys.modules.get(self.__module__), name, None)
        if named is self:
            return name
        return _rebuild, (self.call.fun, self.call.spec, self.call.options)


def _rebuild(fun: Callable[..., Any], spec: CallSpec, options: JitOptions) -> JitFunction:
    return JitFunction(JitCall(fun, spec, options), fun)


@overload
def jit(
    fun: Callable[P, R],
    /,
    *,
    in_shardings: PyTree = ...,
    out_shardings: PyTree = ...,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Device | None = ...,
    backend: str | None = ...,
    inline: bool | Inline = ...,
    abstracted_axes: None = ...,
    compiler_options: dict[str, Any] | None = ...,
) -> Jitted[P, R]: ...


@overload
def jit(
    fun: None = None,
    /,
    *,
    in_shardings: PyTree = ...,
    out_shardings: PyTree = ...,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Device | None = ...,
    backend: str | None = ...,
    inline: bool | Inline = ...,
    abstracted_axes: None = ...,
    compiler_options: dict[str, Any] | None = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool | Inline = False,
    abstracted_axes: None = None,
    compiler_options: dict[str, Any] | None = None,
) -> object:
    """Returns a version of `fun` that is compiled once for each combination of argument types.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays. It must not have side
        effects, since its Python code runs only when a new combination of argument types is traced.
        If `fun` is omitted, `jit` returns a decorator.
      static_argnums: positions of arguments that remain Python values during tracing. They must be
        hashable; the function is traced again for each new value.
      static_argnames: names of static arguments. If only one of `static_argnums` and
        `static_argnames` is given, the other is inferred.
      donate_argnums: positions of arguments whose memory may be reused for results. The caller must
        not use these arrays afterwards, even if the call fails.
      donate_argnames: names of donated arguments.
      keep_unused: whether compiled programs take arguments that `fun` does not use.
      inline: a `jax.Inline`, the policy for calls within other traced functions. With JAX_EARLY,
        they leave no `jit` equation. True stands for JAX_LATE, and False for AUTO.
      in_shardings: the shardings of the arguments: a Sharding, a PartitionSpec on the context mesh
        (`jax.set_mesh`), or a pytree of these that is a prefix of the tuple of arguments.
        Uncommitted arguments are resharded accordingly. None leaves the sharding of an argument as
        it is.
      out_shardings: the shardings of the results, in the same form; a pytree is a prefix of the
        result.
      device: the device that runs the program, and to which arguments are moved; deprecated.
      backend: "cpu", for the first CPU device; deprecated.
      abstracted_axes: must be None; shapes are static.
      compiler_options: a dict of XLA options, which must not be given for calls within a traced
        function. They have no effect.

    Returns: a function with `fun`'s signature and the methods `trace`, `lower` and `eval_shape`.

    Raises:
      TypeError: if `fun` is not callable.
      ValueError: if an option refers to an argument that `fun` does not have; if both `device` and
        `backend` are given, or one of them together with shardings. When the function is called: if
        shardings do not fit the arguments or results; if an argument is committed to other devices;
        if `compiler_options` were given, and the call is within a traced function.
      JaxRuntimeError: when the function is called, if one of the `compiler_options` is unknown;
        names that begin with "xla_" are not checked.

    Example:
      >>> jax.jit(lambda x: 2 * x + 1)(3)
      Array(7, dtype=int32, weak_type=True)
      >>> power = jax.jit(lambda x, n: x**n, static_argnums=1)
      >>> power(2.0, 10)
      Array(1024., dtype=float32, weak_type=True)
    """
    if abstracted_axes is not None:
        raise ValueError("jit: abstracted_axes must be None: shapes are static")
    if device is not None or backend is not None:
        in_shardings, out_shardings = places_on(device, backend, in_shardings, out_shardings)
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            inline=inline,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            compiler_options=compiler_options,
        )
    call = make_call(
        fun, static_argnums, static_argnames, donate_argnums, donate_argnames, keep_unused,
        inline is not False and at_tracing(inline),
        in_shardings=in_shardings, out_shardings=out_shardings, compiler_options=compiler_options,
    )  # fmt: skip
    lazy_compiler.start()
    return JitFunction(call, fun)


def pjit(
    fun: Callable[P, R],
    in_shardings: PyTree = UNSPECIFIED,
    out_shardings: PyTree = UNSPECIFIED,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool | Inline = False,
    abstracted_axes: None = None,
    compiler_options: dict[str, Any] | None = None,
) -> Jitted[P, R]:
    """Compiles `fun` like `jit`, but takes shardings by position and uses the mesh of `with mesh:`.

    Within `with mesh:`, PartitionSpecs refer to that mesh, None means replicated, and results are
    placed on the mesh. See `jit` for the options.

    Raises:
      ValueError: if `device` or `backend` is given within `with mesh:`.
    """
    if (device is not None or backend is not None) and not entered_mesh().empty:
        raise ValueError(
            "pjit: device and backend cannot be passed within `with mesh:`, where programs run "
            f"on the mesh, {entered_mesh()}, but got {device=}, {backend=}"
        )
    if abstracted_axes is not None or device is not None or backend is not None:
        return jit(
            fun, in_shardings=in_shardings, out_shardings=out_shardings, device=device,
            backend=backend, inline=inline, abstracted_axes=abstracted_axes, keep_unused=keep_unused,
            static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            compiler_options=compiler_options,
        )  # fmt: skip
    call = make_call(
        fun, static_argnums, static_argnames, donate_argnums, donate_argnames, keep_unused,
        inline is not False and at_tracing(inline),
        in_shardings=in_shardings, out_shardings=out_shardings, api_name="pjit",
        compiler_options=compiler_options,
    )  # fmt: skip
    lazy_compiler.start()
    jitted: Any = JitFunction(call, fun)
    return jitted


@overload
def jit_when_traced(
    fun: F,
    *,
    name: str | None = None,
    static_argnames: str | Iterable[str] | None = None,
    static_argnums: int | Sequence[int] | None = None,
    inline: bool = False,
    compiled_from: int | None = None,
) -> F: ...


@overload
def jit_when_traced(
    fun: None = None,
    *,
    name: str | None = None,
    static_argnames: str | Iterable[str] | None = None,
    static_argnums: int | Sequence[int] | None = None,
    inline: bool = False,
    compiled_from: int | None = None,
) -> Callable[[F], F]: ...


def jit_when_traced(
    fun: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    static_argnames: str | Iterable[str] | None = None,
    static_argnums: int | Sequence[int] | None = None,
    inline: bool = False,
    compiled_from: int | None = None,
) -> object:
    """Returns a decorator for library functions that JAX stages as one `jit` equation.

    Outside of any trace, the Python body runs eagerly, unless an operand, or a result whose shape
    is the static argument `shape`, has at least `compiled_from` elements. In that case it runs as a
    compiled program. The option is meant for functions that become many times faster by
    compilation, with bit-identical results. With `compiled_from=0`, the body is always compiled,
    and results may differ from those of eager evaluation.

    Within a trace the call becomes a `jit` equation named `name` (by default the function's own
    name); with `inline`, the equations of the body are recorded instead.

    Independently of this, repeated calls of public functions are compiled as one program
    (`api/jit/repeated.py`), whose operands are all arguments that are not static.
    """
    if fun is None:
        return functools.partial(
            jit_when_traced,
            name=name,
            static_argnames=static_argnames,
            static_argnums=static_argnums,
            inline=inline,
            compiled_from=compiled_from,
        )
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums or ())
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames or ())
    if inline and compiled_from is None:
        setattr(fun, "static_arguments", (numbers, names))  # noqa: B010
        return fun
    body = fun
    # Created on the first call, so that importing the library stays fast.
    call: JitCall | None = None
    compiled: PjitFunction | None = None

    def make() -> JitCall:
        return make_call(body, static_argnums, static_argnames, name=name)

    def is_large(args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> bool:
        assert compiled_from is not None
        return (
            math.prod(kwargs.get("shape", ())) >= compiled_from
            or any([getattr(x, "size", 0) >= compiled_from for x in args])
        )  # fmt: skip

    @functools.wraps(body)
    def wrapper(*args: PyTree, **kwargs: PyTree) -> object:
        nonlocal call, compiled
        is_eager = state.trace is state.eval_trace
        if compiled_from is not None and is_eager and is_large(args, kwargs):
            if compiled is None:
                call = call or make()
                compiled = PjitFunction(call, body)
            return compiled(*args, **kwargs)
        if inline or is_eager:
            return body(*args, **kwargs)
        if call is None:
            call = make()
        return call_within_trace(call, args, kwargs)

    setattr(wrapper, "static_arguments", (numbers, names))  # noqa: B010 (functions have no such field)
    return wrapper


@api_boundary
def call_within_trace(call: JitCall, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> object:
    """Calls a library function within a trace, which records one equation."""
    return call.call(args, kwargs)
