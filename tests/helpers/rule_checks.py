"""Checks of primitives' rules: derivatives and batching, against real jax and against definitions.

A case is a function f(lax, *args) that is run with `jax.lax` and with `jitney.lax`, and its arguments.
All run in 64 bits. What real jax answers is recorded.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tests.helpers.answers import agree_within
from tests.helpers.oracle import Value, answer, jax

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.dtypes import float0

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


def leaves(x: Any) -> list[Any]:
    return [*x] if isinstance(x, tuple | list) else [x]


def flat(x: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in leaves(x)]


def module(j: Any, name: str) -> Any:
    """The module of that name of a library, jax or jitney."""
    return importlib.import_module(f"{j.__name__}.{name}")


def close(found: Any, wanted: Any, rtol: float = RTOL, atol: float = 1e-12) -> None:
    """Asserts that results agree in shape, dtype, weakness (of JAX's arrays and ours), and value."""
    own, theirs = leaves(found), leaves(wanted)
    assert len(own) == len(theirs)
    for x, y in zip(own, theirs, strict=True):
        if isinstance(x, jitney.Array) and isinstance(y, Value):
            assert x.aval.weak_type == y.weak_type, f"weak type is {x.aval.weak_type}"
        a, b = np.asarray(x), np.asarray(y)
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, a.dtype, b.shape, b.dtype)
        if a.dtype == float0 or a.size == 0:
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
        return np.zeros(x.shape, float0)
    rng = np.random.default_rng(seed)
    out = rng.standard_normal(x.shape)
    return (out + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else out).astype(x.dtype)


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
    floats = [k for k, x in enumerate(case.args) if is_float(x)]
    prints_alike = "jvp" in case.same
    with jitney.enable_x64(True):
        for chosen in sorted({(k,) for k in floats} | {tuple(floats)}):
            primals = tuple(case.args[k] for k in chosen)
            tangents = tuple(random_like(x, k) for k, x in enumerate(primals))
            wanted, text = jvp_of_jax(case.f, case.args, chosen, primals, tangents, prints_alike)
            g = of_some(functools.partial(case.f, lax), [jnp.asarray(x) for x in case.args], chosen)
            found = jitney.jvp(g, primals, tangents)
            compiled = jitney.jit(lambda p, t, g=g: jitney.jvp(g, p, t))(primals, tangents)
            for side in (0, 1):
                close(found[side], wanted[side], case.rtol)
                close(compiled[side], wanted[side], case.rtol)
            if case.smooth:
                check_slope(g, primals, tangents, found[1], case.step)
            if prints_alike:
                program = jitney.make_jaxpr(lambda p, t, g=g: jitney.jvp(g, p, t))
                same_text(text, program(primals, tangents))


def jvp_of_jax(
    f: Callable[..., Any], args: Any, chosen: tuple[int, ...], primals: Any, tangents: Any,
    prints: bool,
) -> tuple[Any, str | None]:  # fmt: skip
    """Real jax's `jvp` with respect to the arguments `chosen`, and its program's text if `prints`."""

    def results() -> Any:
        with jax.enable_x64(True):
            g = of_some(functools.partial(f, jax.lax), [jax.numpy.asarray(x) for x in args], chosen)
            program = jax.make_jaxpr(lambda p, t: jax.jvp(g, p, t))
            text = str(program(primals, tangents)) if prints else None
            return jax.jvp(g, primals, tangents), text

    return answer(results)


def check_slope(
    f: Callable[..., Any], primals: Any, tangents: Any, derivative: Any, step: float
) -> None:
    """Asserts that a forward derivative is a central difference of `f`."""
    above, below = [
        flat(f(*[x + s * step * t for x, t in zip(primals, tangents, strict=True)]))
        for s in (1, -1)
    ]
    for a, b, t in zip(above, below, flat(derivative), strict=True):
        if t.dtype != float0:
            np.testing.assert_allclose(t, (a - b) / (2 * step), rtol=1e-5, atol=1e-5)


def check_vjp(case: Case) -> None:
    """Backward derivatives with respect to all floating arguments, against real jax."""
    ours = functools.partial(case.f, lax)
    prints_alike = "vjp" in case.same
    floats = tuple(k for k, x in enumerate(case.args) if is_float(x))
    with jitney.enable_x64(True):
        found_out, found_back = jitney.vjp(ours, *case.args)
        cts = [random_like(y, k) for k, y in enumerate(flat(found_out))]
        ct: Any = type(found_out)(cts) if isinstance(found_out, tuple | list) else cts[0]
        out, wanted, text = vjp_of_jax(case.f, case.args, floats, ct, prints_alike)
        close(found_out, out, case.rtol)
        close(found_back(ct), wanted, case.rtol)

        def compiled(*args: Any) -> Any:
            *xs, ct = args
            return jitney.vjp(ours, *xs)[1](ct)

        close(jitney.jit(compiled)(*case.args, ct), wanted, case.rtol)
        if prints_alike:
            g = of_some(ours, [jnp.asarray(x) for x in case.args], floats)
            xs = tuple(case.args[k] for k in floats)
            same_text(text, jitney.make_jaxpr(lambda xs, ct: jitney.vjp(g, *xs)[1](ct))(xs, ct))


def vjp_of_jax(
    f: Callable[..., Any], args: Any, floats: tuple[int, ...], ct: Any, prints: bool
) -> tuple[Any, Any, str | None]:
    """Results of real jax's `vjp`, cotangents of all arguments, and the program's text if `prints`."""

    def results() -> Any:
        with jax.enable_x64(True):
            theirs = functools.partial(f, jax.lax)
            out, back = jax.vjp(theirs, *args)
            g = of_some(theirs, [jax.numpy.asarray(x) for x in args], floats)
            program = jax.make_jaxpr(lambda xs, ct: jax.vjp(g, *xs)[1](ct))
            text = str(program(tuple(args[k] for k in floats), ct)) if prints else None
            return out, back(ct), text

    return answer(results)


def check_vmap(case: Case, size: int = 3) -> None:
    """Batches of each subset of arguments, at each axis, against a loop."""
    ours = functools.partial(case.f, lax)
    choices = [[None, *range(np.ndim(x) + 1)] for x in case.args]
    every = [axes for axes in _few(choices) if any(a is not None for a in axes)]
    batches = [
        [
            x if a is None else np.stack([_vary(x, k) for k in range(size)], a)
            for x, a in zip(case.args, axes, strict=True)
        ]
        for axes in every
    ]
    texts = vmaps_of_jax(case.f, every, batches) if "vmap" in case.same else [None] * len(every)
    with jitney.enable_x64(True):
        for axes, args, text in zip(every, batches, texts, strict=True):
            rows = [flat(ours(*_row(args, axes, k))) for k in range(size)]
            wanted = [np.stack(column) for column in zip(*rows, strict=True)]
            batched = jitney.vmap(ours, in_axes=axes)
            close(batched(*args), wanted, case.rtol)
            close(jitney.jit(batched)(*args), wanted, case.rtol)
            if text is not None:
                same_text(text, jitney.make_jaxpr(batched)(*args))


def vmaps_of_jax(f: Callable[..., Any], every: Any, batches: Any) -> list[str]:
    """Texts of real jax's programs for batches of `f`, one for each choice of axes."""

    def results() -> Any:
        with jax.enable_x64(True):
            theirs = functools.partial(f, jax.lax)
            return [
                str(jax.make_jaxpr(jax.vmap(theirs, in_axes=axes))(*args))
                for axes, args in zip(every, batches, strict=True)
            ]

    return answer(results)


def _row(args: Any, axes: Any, k: int) -> list[Any]:
    """The operands of row `k` of a batch."""
    return [x if a is None else np.take(x, k, a) for x, a in zip(args, axes, strict=True)]


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

    def results() -> Any:
        leaves, structure = jax.tree.flatten(use(jax))
        return leaves, str(structure)

    want, structure = answer(results, agrees=agree_within(rtol, atol))
    got = use(jitney)
    assert str(jitney.tree.structure(got)) == structure
    close(tuple(jitney.tree.leaves(got)), want, rtol=rtol, atol=atol)
