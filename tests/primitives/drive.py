"""Puts a function through every transformation, and checks what comes out against definitions.

jvp        differences, where the function is smooth there
transpose  <u, J v> = <J^T u, v>
vmap       a loop over the batch, each operand batched alone and all together, first and last axis
jet        nested jvp
lowering   is run; what it computes is the subject of other tests
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import jitney
from jitney.compiler import lower
from jitney.experimental import jet
from jitney.transforms.jet import jet_flat
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.zero import Zero

RTOL = 1e-9
STEP = 1e-6

DERIVATIVES = ("jvp", "transpose", "jet")

# What operations say that have no derivative, or none by one of their operands.
REFUSALS = (
    "not implemented", "no batching rule", "no derivative", "differentiated", "derivative of",
    "Derivatives of", "have derivatives only if",
    "reverse-mode derivative", "rules define reverse mode", "do not support JVP",
)  # fmt: skip

Function = Callable[..., Any]


def leaves(out: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in jitney.tree_util.tree_leaves(out)]


def is_inexact(x: Any) -> bool:
    return bool(jitney.numpy.issubdtype(np.asarray(x).dtype, np.inexact))


def problems(f: Function, args: Sequence[Any], skip: Sequence[str] = ()) -> Iterator[str]:
    """What is wrong with the rules that `f` uses, a line for each; `skip` are run as well."""
    checks = {
        "jvp": forward,
        "transpose": backward,
        "vmap": batched,
        "jet": series,
        "lower": lowered,
        "constants": constants,
    }
    for what, check in checks.items():
        for some in _choices(args, what):
            try:
                with np.errstate(all="ignore"):
                    check(*some(f))
            except Exception as error:
                text = " ".join(str(error).split())
                if what not in skip and not any(words in text for words in REFUSALS):
                    yield f"{what}: {type(error).__name__}: {text[:300]}"
            else:
                break


def _choices(args: Sequence[Any], what: str) -> Iterator[Callable[[Function], Any]]:
    """All operands; then each inexact one alone, as not every one can be differentiated by."""
    yield lambda f: (f, args)
    for i, x in enumerate(args) if what in DERIVATIVES else ():
        if is_inexact(x):

            def alone(f: Function, i: int = i) -> tuple[Function, list[Any]]:
                return (lambda only: f(*args[:i], only, *args[i + 1 :])), [args[i]]

            yield alone


def constants(f: Function, args: Sequence[Any]) -> None:
    """Rules of operations on integers run, if one gives them tangents: these must be zero."""
    arrays = [i for i, x in enumerate(args) if isinstance(x, np.ndarray | np.generic)]

    def flat(*some: Any) -> list[Any]:
        full = list(args)
        for i, x in zip(arrays, some, strict=True):
            full[i] = x
        return jitney.tree_util.tree_leaves(f(*full))

    primals = [jitney.numpy.asarray(args[i]) for i in arrays]
    none = [
        jitney.numpy.ones_like(x) if is_inexact(x) else np.zeros(x.shape, jitney.dtypes.float0)
        for x in primals
    ]
    # Operations that compute with tangents refuse these.
    with contextlib.suppress(TypeError, ValueError, NotImplementedError):
        out, tangents = jvp_flat(flat, primals, none)
        for y, t in zip(out, tangents, strict=True):
            assert is_inexact(y) or isinstance(t, Zero) or t.dtype == jitney.dtypes.float0
    with contextlib.suppress(TypeError, ValueError, NotImplementedError):
        jet_flat(flat, primals, [[t, t] for t in none], 2)


def lowered(f: Function, args: Sequence[Any]) -> None:
    """Every lowering runs; eager execution does so as well."""
    f(*args)
    lower.lower(jitney.jit(f).trace(*args).program.closed)


# --- derivatives ------------------------------------------------------------------------------


def split(f: Function, args: Sequence[Any]) -> tuple[Function, list[Any]]:
    """`f` as a function from its inexact operands to its inexact results; these operands."""
    which = [i for i, x in enumerate(args) if is_inexact(x) and not isinstance(x, (float, complex))]

    def smooth(*some: Any) -> list[Any]:
        full = list(args)
        for i, x in zip(which, some, strict=True):
            full[i] = x
        out = jitney.tree_util.tree_leaves(f(*full))
        return [y for y in out if jitney.numpy.issubdtype(y.dtype, np.inexact)]

    return smooth, [args[i] for i in which]


def directions(xs: Sequence[Any], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    out = []
    for x in map(np.asarray, xs):
        v = rng.normal(size=x.shape)
        w = v + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else v
        out.append(np.asarray(w).astype(x.dtype))
    return out


def forward(f: Function, args: Sequence[Any]) -> None:
    g, xs = split(f, args)
    if not xs or not (out := leaves(g(*xs))):
        return
    vs = directions(xs, 0)
    primal, tangent = jitney.jvp(g, tuple(xs), tuple(vs))
    for y, want in zip(leaves(primal), out, strict=True):
        eps = float(jitney.numpy.finfo(want.dtype).eps)
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            y.astype(wide), want.astype(wide), rtol=8 * eps, atol=8 * eps, err_msg="primal"
        )
    if any(np.asarray(x).dtype.itemsize < 8 or np.asarray(x).dtype.name == "complex64" for x in xs):
        return  # differences need more digits
    h = STEP * max(1.0, *[float(np.abs(x).max(initial=0)) for x in xs])
    after = leaves(g(*[x + h * v for x, v in zip(xs, vs, strict=True)]))
    before = leaves(g(*[x - h * v for x, v in zip(xs, vs, strict=True)]))
    for y, dy, a, b in zip(out, leaves(tangent), after, before, strict=True):
        want = (a - b) / (2 * h)
        right, left = (a - y) / h, (y - b) / h
        scale = np.abs(want).max(initial=1e-3, where=np.isfinite(want))
        # Where slopes differ, there is a corner or a jump.
        smooth = np.isfinite(want) & (np.abs(right - left) < 1e-3 * scale)
        np.testing.assert_allclose(
            dy[smooth], want[smooth], rtol=1e-4, atol=1e-5 * scale, err_msg="differences"
        )


def backward(f: Function, args: Sequence[Any]) -> None:
    g, xs = split(f, args)
    if not xs or not leaves(g(*xs)):
        return
    vs = directions(xs, 0)
    _, tangent = jitney.jvp(g, tuple(xs), tuple(vs))
    out, pull = jitney.vjp(g, *xs)
    us = directions(out, 1)
    cts = pull([jitney.numpy.asarray(u) for u in us])
    pairs = list(zip(us, leaves(tangent), strict=True))
    back = list(zip(leaves(cts), vs, strict=True))
    # Real parts: conjugation and the like are linear over real numbers alone.
    one, other = (sum(np.sum((a * b).real) for a, b in each) for each in (pairs, back))
    size = sum(np.sum(np.abs(a * b)) for a, b in pairs + back)
    eps = max(float(jitney.numpy.finfo(u.dtype).eps) for u in (*us, *vs))
    assert np.isclose(one, other, rtol=0, atol=200 * eps * size + 1e-300, equal_nan=True), (
        f"<u, Jv> = {one}, <J'u, v> = {other}"
    )


def series(f: Function, args: Sequence[Any]) -> None:
    """Two terms, against nested forward derivatives."""
    g, xs = split(f, args)
    if not xs or not leaves(g(*xs)):
        return
    vs = directions(xs, 0)

    def first(*at: Any) -> Any:
        return jitney.jvp(g, at, tuple(vs))[1]

    want = jitney.jvp(first, tuple(xs), tuple(vs))
    zeros = [np.zeros_like(v) for v in vs]
    _, terms = jet.jet(g, tuple(xs), tuple([list(t) for t in zip(vs, zeros, strict=True)]))
    for i, term in enumerate(terms):
        for k in range(2):
            w = leaves(want[k][i])[0]
            wide = np.complex128 if w.dtype.kind == "c" else np.float64
            eps = float(jitney.numpy.finfo(w.dtype).eps)
            scale = np.abs(w.astype(wide)).max(initial=0, where=np.isfinite(w))
            np.testing.assert_allclose(
                np.asarray(term[k]).astype(wide), w.astype(wide), rtol=1e4 * eps,
                atol=1e3 * eps * scale, err_msg=f"term {k + 1}",
            )  # fmt: skip


# --- batching ---------------------------------------------------------------------------------


def batched(f: Function, args: Sequence[Any]) -> None:
    arrays = [i for i, x in enumerate(args) if isinstance(x, np.ndarray | np.generic)]
    choices = [tuple(arrays), *[(i,) for i in arrays if len(arrays) > 1]]
    for chosen in choices:
        rows = [list(args), [np.flip(x) if i in chosen else x for i, x in enumerate(args)]]
        want = [leaves(f(*row)) for row in rows]
        for axis in (0, -1):
            axes = [axis if i in chosen else None for i in range(len(args))]
            several = [
                np.stack([*pair], axis) if i in chosen else pair[0]
                for i, pair in enumerate(zip(*rows, strict=True))
            ]
            got = leaves(jitney.vmap(f, tuple(axes))(*several))
            for j, y in enumerate(got):
                wide = np.complex128 if y.dtype.kind == "c" else np.float64
                w = np.stack([row[j] for row in want])
                assert (y.dtype, y.shape) == (w.dtype, w.shape), f"{axes}: {y.dtype}{y.shape}"
                if y.dtype.kind in "biu":
                    np.testing.assert_array_equal(y, w, err_msg=f"{axes}")
                elif y.dtype.kind in "fcV":
                    eps = float(jitney.numpy.finfo(y.dtype).eps)
                    # Batched contractions may add in another order, and terms may cancel.
                    finite = np.abs(w.astype(wide)[np.isfinite(w.astype(wide))])
                    atol = 4 * eps * max(float(finite.max(initial=0)), 1.0)
                    np.testing.assert_allclose(
                        y.astype(wide), w.astype(wide), rtol=100 * eps, atol=atol, err_msg=f"{axes}"
                    )
