"""What transformations return has the names, the attributes and the signature of the function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from tests.helpers.both import of_both

import jitney
from jitney.experimental import checkify, sparse


def noted(function: Any, **notes: int) -> Any:
    """`function` with attributes."""
    vars(function).update(notes)
    return function


def double(x: float, y: int = 2, *, z: Any = None) -> float:
    """Doubles."""
    return x * 2


noted(double, note=7)


class Model:
    """A callable object."""

    kind = "model"

    def __init__(self) -> None:
        self.size = 9
        self.__name__ = "named"

    def __call__(self, x: Any, y: int = 2) -> Any:
        return x * 2

    def method(self, x: Any, y: int = 2) -> Any:
        return x * 2

    noted(method, note=3)


class Bare:
    """A callable object that holds nothing and has no name."""

    __slots__ = ()

    def __call__(self, x: Any) -> Any:
        return x * 2


@functools.wraps(double)
def decorated(*args: Any, **kwargs: Any) -> Any:
    return double(*args, **kwargs)


noted(decorated, other=8)
partial = noted(functools.partial(double, y=3), note=5)
nested = functools.partial(functools.partial(Model(), y=1))

CALLABLES: dict[str, Callable[..., Any]] = {
    "function": double,
    "lambda": lambda x: x,
    "decorated": decorated,
    "partial": partial,
    "nested": nested,
    "object": Model(),
    "bare": Bare(),
    "method": Model().method,
    "builtin": abs,
    "class": complex,
}

TRANSFORMATIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    **{
        name: lambda jax, name=name: getattr(jax, name)
        for name in (
            "jit", "vmap", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "checkpoint",
            "pmap", "make_jaxpr", "custom_jvp", "custom_vjp",
        )
    },
    "vectorize": lambda jax: jax.numpy.vectorize,
    "custom_vmap": lambda jax: jax.custom_batching.custom_vmap,
    "checkpoint with an option": lambda jax: functools.partial(jax.checkpoint, prevent_cse=False),
    "grad of vmap": lambda jax: lambda f: jax.grad(jax.vmap(f)),
    "jit of grad": lambda jax: lambda f: jax.jit(jax.grad(f)),
    "shard_map": lambda jax: lambda f: jax.shard_map(
        f, mesh=jax.make_mesh((1,), ("x",)), in_specs=jax.P(), out_specs=jax.P()
    ),
}  # fmt: skip


def seen(wrapper: Any) -> dict[str, Any]:
    """What programs ask of a function."""
    found: dict[str, Any] = {}
    for name in ("__name__", "__qualname__", "__module__", "note", "other", "size", "kind"):
        found[name] = getattr(wrapper, name, "absent")
    found["wraps"] = type(getattr(wrapper, "__wrapped__", None)).__name__
    try:
        found["signature"] = str(inspect.signature(wrapper))
    except ValueError:
        found["signature"] = "none"
    return found


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("kind", CALLABLES)
def test_attributes(name: str, kind: str) -> None:
    transformation, function = TRANSFORMATIONS[name], CALLABLES[kind]
    ours, theirs = of_both(lambda library: seen(transformation(library)(function)))
    if name == "make_jaxpr" and kind in ("object", "bare"):  # real jax's tell of its partial
        for attribute in ("__qualname__", "wraps"):
            del ours[attribute], theirs[attribute]
    assert ours == theirs


def test_other_wrappers_keep_attributes() -> None:
    wrappers: list[Any] = [
        jitney.named_call(double),
        jitney.named_scope("scope")(double),
        jitney.enable_x64(True)(double),
        sparse.sparsify(double),
        checkify.checkify(double),
        sparse.grad(double),
    ]
    for wrapper in wrappers:
        assert wrapper.note == 7
        assert (wrapper.__name__, wrapper.__wrapped__) == ("double", double)


def test_attributes_that_names_cannot_be() -> None:
    proxy: Any = type(
        "Proxy", (), {"__getattr__": lambda self, name: 3, "__call__": lambda _, x: x}
    )()
    transformations: list[Any] = [jitney.vmap, jitney.grad, jitney.jit, jitney.checkpoint]
    for transform in transformations:
        assert transform(proxy).__wrapped__ is proxy
