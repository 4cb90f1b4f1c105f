"""Checks of primitives' rules: derivatives and batching, against real jax and against definitions.

A case is a function f(lax, *args) that is run with `jax.lax` and with `jitney.lax`, and its arguments.
All run in 64 bits.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax as jax_lax

import jitney
from jitney import lax

RTOL = 1e-9


class Case(NamedTuple):
    """A function of a `lax` and arrays.

    Attributes:
      f: f(lax, *args) -> array or tuple of arrays.
      args: NumPy arrays.
      smooth: whether central differences are meaningful at `args`.
      step: of the central differences.
      same: which programs print as jax's do: a choice of "jvp", "vjp", "vmap".
      rtol: against real jax.
    """

    f: Callable[..., Any]
    args: tuple[Any, ...]
    smooth: bool = True
    step: float = 1e-6
    same: tuple[str, ...] = ("jvp", "vjp", "vmap")
    rtol: float = RTOL


def flat(x: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in (x if isinstance(x, tuple | list) else (x,))]


def module(j: Any, name: str) -> Any:
    """The module of that name of a library, jax or jitney."""
    return importlib.import_module(f"{j.__name__}.{name}")


def close(found: Any, wanted: Any, rtol: float = RTOL, atol: float = 1e-12) -> None:
    """Asserts that results agree in shape, dtype and value."""
    found, wanted = flat(found), flat(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, a.dtype, b.shape, b.dtype)
        if a.dtype == jax.dtypes.float0 or a.size == 0:
            continue
        if jnp.issubdtype(a.dtype, np.inexact):  # bfloat16 and 8-bit floats among them
            wide = np.complex128 if a.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(a, b)


def is_float(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def random_like(x: Any, seed: int) -> Any:
    """A tangent for `x`."""
    x = np.asarray(x)
    if not is_float(x):
        return np.zeros(x.shape, jax.dtypes.float0)
    rng = np.random.default_rng(seed)
    out = rng.standard_normal(x.shape)
    return (out + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else out).astype(x.dtype)


def with_both(case: Case) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The case's function with real jax's lax and with jitney's."""
    return functools.partial(case.f, jax_lax), functools.partial(case.f, lax)


def of_some(f: Callable[..., Any], args: Any, chosen: tuple[int, ...]) -> Callable[..., Any]:
    """`f` as a function of the arguments `chosen`, the others fixed."""

    def function(*xs: Any) -> Any:
        full = list(args)
        for k, x in zip(chosen, xs, strict=True):
            full[k] = x
        return f(*full)

    return function


def check_jvp(case: Case) -> None:
    """Forward derivatives: with each floating argument's tangent alone and all together."""
    theirs, ours = with_both(case)
    floats = [k for k, x in enumerate(case.args) if is_float(x)]
    with jax.enable_x64(True), jitney.enable_x64(True):
        for chosen in {(k,) for k in floats} | {tuple(floats)}:
            primals = tuple(case.args[k] for k in chosen)
            tangents = tuple(random_like(x, k) for k, x in enumerate(primals))
            f = of_some(theirs, [jnp.asarray(x) for x in case.args], chosen)
            g = of_some(ours, [jitney.numpy.asarray(x) for x in case.args], chosen)
            wanted = jax.jvp(f, primals, tangents)
            found = jitney.jvp(g, primals, tangents)
            compiled = jitney.jit(lambda p, t, g=g: jitney.jvp(g, p, t))(primals, tangents)
            for side in (0, 1):
                close(found[side], wanted[side], case.rtol)
                close(compiled[side], wanted[side], case.rtol)
            if case.smooth:
                moved = [
                    flat(
                        g(*[x + s * case.step * t for x, t in zip(primals, tangents, strict=True)])
                    )
                    for s in (1, -1)
                ]
                for a, b, t in zip(*moved, flat(found[1]), strict=True):
                    if t.dtype != jax.dtypes.float0:
                        slope = (a - b) / (2 * case.step)
                        np.testing.assert_allclose(t, slope, rtol=1e-5, atol=1e-5)
            if "jvp" in case.same:
                same_text(
                    jax.make_jaxpr(lambda p, t, f=f: jax.jvp(f, p, t))(primals, tangents),
                    jitney.make_jaxpr(lambda p, t, g=g: jitney.jvp(g, p, t))(primals, tangents),
                )


def check_vjp(case: Case) -> None:
    """Backward derivatives with respect to all floating arguments, against real jax."""
    theirs, ours = with_both(case)
    with jax.enable_x64(True), jitney.enable_x64(True):
        out, back = jax.vjp(theirs, *case.args)
        found_out, found_back = jitney.vjp(ours, *case.args)
        close(found_out, out, case.rtol)
        cts = [random_like(y, k) for k, y in enumerate(flat(out))]
        ct: Any = type(out)(cts) if isinstance(out, tuple | list) else cts[0]
        wanted = back(ct)
        close(found_back(ct), wanted, case.rtol)

        def compiled(*args: Any) -> Any:
            *xs, ct = args
            return jitney.vjp(ours, *xs)[1](ct)

        close(jitney.jit(compiled)(*case.args, ct), wanted, case.rtol)
        if "vjp" in case.same:
            floats = tuple(k for k, x in enumerate(case.args) if is_float(x))
            f = of_some(theirs, [jnp.asarray(x) for x in case.args], floats)
            g = of_some(ours, [jitney.numpy.asarray(x) for x in case.args], floats)
            xs = tuple(case.args[k] for k in floats)
            same_text(
                jax.make_jaxpr(lambda xs, ct: jax.vjp(f, *xs)[1](ct))(xs, ct),
                jitney.make_jaxpr(lambda xs, ct: jitney.vjp(g, *xs)[1](ct))(xs, ct),
            )


def check_vmap(case: Case, size: int = 3) -> None:
    """Batches of each subset of arguments, at each axis, against a loop."""
    theirs, ours = with_both(case)
    ranks = [np.ndim(x) for x in case.args]
    choices = [[None, *range(rank + 1)] for rank in ranks]
    with jax.enable_x64(True), jitney.enable_x64(True):
        for axes in _few(choices):
            if all(a is None for a in axes):
                continue
            args = [
                x if a is None else np.stack([_vary(x, k) for k in range(size)], a)
                for x, a in zip(case.args, axes, strict=True)
            ]
            rows = [
                flat(
                    ours(
                        *[
                            x if a is None else np.take(x, k, a)
                            for x, a in zip(args, axes, strict=True)
                        ]
                    )
                )
                for k in range(size)
            ]
            wanted = [np.stack(column) for column in zip(*rows, strict=True)]
            batched = jitney.vmap(ours, in_axes=axes)
            close(batched(*args), wanted, case.rtol)
            close(jitney.jit(batched)(*args), wanted, case.rtol)
            if "vmap" in case.same:
                same_text(
                    jax.make_jaxpr(jax.vmap(theirs, in_axes=axes))(*args),
                    jitney.make_jaxpr(batched)(*args),
                )


def _few(choices: list[list[Any]]) -> list[tuple[Any, ...]]:
    """All choices of axes, or, if they are many, each subset of arguments at first and last axes."""
    every = list(itertools.product(*choices))
    if len(every) <= 40:
        return every
    return list(itertools.product(*[sorted({*c[:2], c[-1]}, key=str) for c in choices]))[:40]


def _vary(x: Any, k: int) -> np.ndarray:
    """Another array like `x`: its elements rotated."""
    x = np.asarray(x)
    if not x.ndim:
        return (
            (x + k).astype(x.dtype) if x.dtype.kind in "iu" else (x * (1 + k / 8)).astype(x.dtype)
        )
    return np.roll(x, k)


def same_text(theirs: Any, ours: Any) -> None:
    """Asserts that programs print alike."""
    wanted, found = str(theirs).splitlines(), str(ours).splitlines()
    assert found == wanted, "\n".join(difflib.unified_diff(wanted, found, lineterm="", n=1))


def agree(use: Any, rtol: float = 2e-5, atol: float = 1e-5) -> None:
    """Asserts that `use(j)`, a pytree of arrays, is the same for both libraries."""
    want, got = use(jax), use(jitney)
    assert str(jitney.tree.structure(got)) == str(jax.tree.structure(want))
    close(tuple(jitney.tree.leaves(got)), tuple(jax.tree.leaves(want)), rtol=rtol, atol=atol)
