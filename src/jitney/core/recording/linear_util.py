"""Functions wrapped in stages, inner ones first; public as `jax.extend.linear_util`.

A stage is a function that calls the next inner one. It is either a generator, which yields (args,
kwargs), is sent the result, and yields its own result (`transformation`), or a plain function,
which receives the inner function as its first argument (`transformation2`). Stages "with aux"
produce an auxiliary result, which is available once they have run.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.program.jaxpr import DebugInfo
from jitney.core.settings import caches, config
from jitney.core.tracing.trace import state

if TYPE_CHECKING:
    from jitney.core.typing import Params, PyTree

R = TypeVar("R")


class StoreException(Exception):  # the name is JAX's
    """An auxiliary result was read before it was stored, or was stored twice."""


class Store:
    """A container for one value."""

    __slots__ = ("_full", "_value")

    def __init__(self) -> None:
        self._full = False
        self._value: Any = None

    def store(self, value: object) -> None:
        if self._full:
            raise StoreException("Store occupied")
        self._full, self._value = True, value

    def reset(self) -> None:
        self._full, self._value = False, None

    @property
    def val(self) -> Any:
        if not self._full:
            raise StoreException("Store empty")
        return self._value

    def __bool__(self) -> bool:
        return self._full


class WrappedFun:
    """A function with the stages around it; two are equal if their functions and stages are.

    Attributes:
      f: the function itself.
      f_transformed: the function with all stages.
      transforms: (stage, its static arguments), outermost first.
      stores: the stores of the stages' auxiliary results; None for a stage without such a result.
      params: named values that belong to the function.
      in_type: the types of the arguments, if known.
      debug_info: the origin of the function.
    """

    __slots__ = ("debug_info", "f", "f_transformed", "in_type", "params", "stores", "transforms")

    def __init__(
        self,
        f: Callable[..., Any],
        f_transformed: Callable[..., Any],
        transforms: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...],
        stores: tuple[Store | None, ...],
        params: tuple[tuple[str, Any], ...],
        in_type: object,
        debug_info: DebugInfo,
    ) -> None:
        self.f = f
        self.f_transformed = f_transformed
        self.transforms = transforms
        self.stores = stores
        self.params = params
        self.in_type = in_type
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def call_wrapped(self, *args: PyTree, **kwargs: PyTree) -> Any:
        """Calls the function through all stages."""
        return self.f_transformed(*args, **kwargs)

    def wrap(
        self, stage: Callable[..., Any], static_args: tuple[Any, ...], store: Store | None
    ) -> WrappedFun:
        """Returns the function with one more stage around it.

        The stage is called as `stage(f, [store,] *static_args, *args, **kwargs)`.
        """
        extra = static_args if store is None else (store, *static_args)
        return WrappedFun(
            self.f,
            functools.partial(stage, self.f_transformed, *extra),
            ((stage, static_args), *self.transforms),
            (store, *self.stores),
            self.params,
            None,
            self.debug_info,
        )

    def replace_debug_info(self, debug_info: DebugInfo) -> WrappedFun:
        """Returns a copy with another `debug_info`."""
        return WrappedFun(
            self.f, self.f_transformed, self.transforms, self.stores, self.params, self.in_type,
            debug_info,
        )  # fmt: skip

    def with_unknown_names(self) -> WrappedFun:
        """Returns a copy without names of its arguments and results."""
        return self.replace_debug_info(self.debug_info._replace(arg_names=None, result_paths=None))

    def populate_stores(self, stores: tuple[Store | None, ...]) -> None:
        """Copies the auxiliary results of a run of an equal function."""
        for own, other in zip(self.stores, stores, strict=True):
            if own is not None and other is not None:
                own.store(other.val)

    def _key(self) -> tuple[object, ...]:
        return self.f, self.transforms, self.params, self.in_type

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __repr__(self) -> str:
        stages = "".join(
            f"{i} : {getattr(stage, '__name__', stage)}   {args}\n"
            for i, (stage, args) in enumerate(self.transforms)
        )
        return f"Wrapped function:\n{stages}\nCore: {self.__name__}\n"


def wrap_init(
    f: Callable[..., Any], params: Params | None = None, *, debug_info: DebugInfo | None = None
) -> WrappedFun:
    """Returns `f` as a `WrappedFun` without stages."""
    info = debug_info or DebugInfo("unknown", getattr(f, "__name__", "<unnamed>"))
    pairs = () if params is None else tuple(sorted(params.items()))
    run = functools.partial(f, **dict(pairs)) if pairs else f
    return WrappedFun(f, run, (), (), pairs, None, info)


def transformation2(stage: Callable[..., Any], *args: Any) -> Any:
    """Adds a stage `stage(f, *static, *args, **kwargs)`: (fun, *static) -> WrappedFun.

    Called with `stage` alone, it returns a function of the other arguments, so it works as a
    decorator.
    """
    if not args:
        return functools.partial(transformation2, stage)
    fun, *static = args
    return fun.wrap(stage, tuple(static), None)


def transformation_with_aux2(
    stage: Callable[..., Any], *args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> Any:
    """Adds a stage `stage(f, store, *static, *args, **kwargs)` that stores an auxiliary result.

    Returns: (WrappedFun, function that returns the auxiliary result once the function has run).
    """
    if not args:
        return functools.partial(
            transformation_with_aux2, stage, use_eq_store=use_eq_store, unk_names=unk_names
        )
    fun, *static = args
    store = Store()
    wrapped = fun.wrap(stage, tuple(static), store)
    return wrapped.with_unknown_names() if unk_names else wrapped, lambda: store.val


def transformation(gen: Callable[..., Any], *args: Any) -> Any:
    """Adds a stage like `transformation2`, for a generator: `gen(*static, *args, **kwargs)`."""
    if not args:
        return functools.partial(transformation, gen)
    fun, *static = args
    return fun.wrap(_GeneratorStage(gen), tuple(static), None)


def transformation_with_aux(gen: Callable[..., Any], *args: Any, use_eq_store: bool = False) -> Any:
    """Adds a stage like `transformation`; the generator last yields (result, auxiliary result)."""
    if not args:
        return functools.partial(transformation_with_aux, gen, use_eq_store=use_eq_store)
    fun, *static = args
    store = Store()
    return fun.wrap(_GeneratorStageWithAux(gen), tuple(static), store), lambda: store.val


class _GeneratorStage:
    """A generator function as a plain stage; two are equal if their generator functions are."""

    def __init__(self, gen: Callable[..., Any]) -> None:
        self.gen = gen
        self.__name__ = getattr(gen, "__name__", "stage")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.gen == other.gen

    def __hash__(self) -> int:
        return hash(self.gen)

    def run(
        self, f: Callable[..., Any], args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
    ) -> Any:
        steps = self.gen(*args, **kwargs)
        inner_args, inner_kwargs = next(steps)
        out = steps.send(f(*inner_args, **inner_kwargs))
        steps.close()
        return out

    def __call__(self, f: Callable[..., Any], *args: PyTree, **kwargs: PyTree) -> object:
        return self.run(f, args, kwargs)


class _GeneratorStageWithAux(_GeneratorStage):
    def __call__(
        self, f: Callable[..., Any], store: Store, *args: PyTree, **kwargs: PyTree
    ) -> object:
        out, aux = self.run(f, args, kwargs)
        store.store(aux)
        return out


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, object]:
    """Returns the auxiliary result of the one of two functions that ran.

    Returns: (whether the first one ran, the auxiliary result).

    Raises:
      StoreException: if neither has run, or both have.
    """
    try:
        first = aux1()
    except StoreException:
        return False, aux2()
    try:
        aux2()
    except StoreException:
        return True, first
    raise StoreException("merge_linear_aux: one of the two functions must have run, but both have")


def cache(call: Callable[..., R], *, explain: object = None) -> Callable[..., R]:
    """Memoizes `call(fun: WrappedFun, *args)` by the function, the arguments and the settings.

    Results live as long as the function itself.
    """
    results: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def memoized(fun: WrappedFun, *args: Hashable) -> R:
        known = results.setdefault(fun.f, {})
        axes = state.axis_env, state.checked_axes, state.folds
        key = (fun.transforms, fun.params, fun.in_type, args, config.trace_epoch(), axes)
        if key in known:
            result, stores = known[key]
            fun.populate_stores(stores)
            return result
        result = call(fun, *args)
        known[key] = result, fun.stores
        return result

    caches.register(
        "results for wrapped functions", "the function, its transformations, arguments, settings",
        call.__module__, entries=lambda: sum(map(len, results.values())), clear=results.clear,
    )  # fmt: skip
    cached: Any = memoized
    cached.cache_clear = results.clear
    return cached
