"""Whether outcomes agree; the documented differences from JAX are listed here.

Results that are promised to the bit are compared so. Others are compared with a tolerance, and where
that fails, with what rounding may do to this very program: it is run again with every intermediate
result off by a few units in the last place (Monte Carlo arithmetic). A program whose results change
as much by that says nothing about either side: a comparison that goes the other way, a
cancellation, an overflow.

Reference: D. Stott Parker, Monte Carlo Arithmetic, UCLA report CSD-970002, 1997.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from tests.fuzz.differential import modes, run
from tests.fuzz.differential.program import Program
from tests.fuzz.differential.run import Outcome

import jitney
import jitney.numpy as jnp
from jitney.primitives.elementwise import convert

# Internal errors: never the answer to a user's program, whatever JAX does.
INTERNAL = (AssertionError, AttributeError, KeyError, UnboundLocalError, RecursionError)

# What differs from JAX on purpose; so do subnormal numbers, which JAX takes for 0, and infinite
# complex ones: see `far`.
# First, programs that JAX refuses and jitney computes: words of JAX's error, and the reason.
REFUSED: dict[str, str] = {
    "NotImplementedError": "XLA has no code for the operation or the dtype",
    "JaxRuntimeError": "XLA has no code for the operation or the dtype",
    "Invalid integer data type 'V'": "JAX asks NumPy about int4, which is not NumPy's",
    "1-bit, 2-bit and 4-bit integers do not support": "a literal beside int4 takes its dtype",
    "Linearization failed to produce known values": "an internal check of JAX's",
    "KeyError": "an internal error of JAX's",
    "AssertionError": "an internal error of JAX's",
    "CustomNode(Zero": "an internal error of JAX's: a derivative that is zero",
    "is out of bounds for array of dimension 0": "running sums take a scalar for a vector",
    "lax.bitcast_convert_type does not support bool or": "their bits are there as well",
    "logistic does not accept dtype": "other numbers are converted, as for other functions",
    "at vmap out_axes[0], got axis spec None": "jacfwd's own vmap, of a value that no tangent reaches",
    "select cases must have the same shapes": "JAX's derivative of a clamp by scalars fails",
    "Attempting to convert array of shape": "bits of batched scalars are converted to wider ones",
    "Slice size at index": "derivatives of operations on empty arrays",
    "Reverse-mode differentiation does not work": "the result is an operand that the loop hands on",
    "Support for narrow-width integers is platform": "int4 works as int8 does",
    "Cannot lower jaxpr with verifier errors": "XLA has no code for transforms of no elements",
    "RFFT input must be": "16-bit floats are transformed in float32",
    "must not be narrower than the original type": "products of complex64 and a Python number",
    "select `which` must be scalar or have": "JAX's batching of conversions that a derivative drops",
    "__jax_array__()": "jitted functions take objects that stand for arrays, too",
}

UNITS = 16  # of noise, in the last place
CLIFF = (2.0, 0.5)  # seconds that are too many where JAX takes no more than the second number
TOLERANCE = 64  # units in the last place of the largest result, before noise is asked


class Failure(NamedTuple):
    """What is wrong with a program."""

    kind: str
    detail: str


# --- values -----------------------------------------------------------------------------------


def _wide(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "biu":
        return x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _is_inexact(dtype: np.dtype) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.inexact))


def _eps(dtype: np.dtype) -> float:
    return float(ml_dtypes.finfo(dtype).eps)


def different_bits(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Mask of elements that are not the same: any NaN is NaN, zeros have signs."""
    g, w = _wide(got), _wide(want)
    if not _is_inexact(got.dtype):
        return np.asarray(g != w)
    if got.dtype.kind == "c":
        return different_bits(g.real, w.real) | different_bits(g.imag, w.imag)
    same = (g == w) & (np.signbit(g) == np.signbit(w)) | (np.isnan(g) & np.isnan(w))
    return np.asarray(~same)


def far(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Mask of elements that differ by more than the tolerance."""
    g, w = _wide(got), _wide(want)
    if not _is_inexact(got.dtype):
        return np.asarray(g != w)
    with np.errstate(all="ignore"):
        finite = np.abs(w[np.isfinite(w)])
        scale = float(finite.max(initial=0.0))
        unit = TOLERANCE * _eps(got.dtype)
        # Subnormal numbers are kept; for JAX they are zero.
        least = 2 * float(ml_dtypes.finfo(got.dtype).tiny)
        close = np.abs(g - w) <= unit * max(min(scale, 1e30), least)
        same = (g == w) | (np.isnan(g) & np.isnan(w)) | (close & np.isfinite(g) & np.isfinite(w))
        if got.dtype.kind == "c":
            # Products, moduli and logarithms of huge or infinite complex numbers overflow on the
            # way in one formula, and do not in another: which parts are NaN is not defined.
            same |= ~np.isfinite(w)
    return np.asarray(~same)


# --- noise ------------------------------------------------------------------------------------


class Noise(NamedTuple):
    """How a noisy run differs from the program itself.

    Attributes:
      seed: of the random numbers.
      units: how far results are put off, in the last place.
      flush: subnormal numbers are replaced by 0.
      infinite: what stands for infinite complex numbers and for NaN operands of linear algebra, or
        None: which parts of a result these reach depends on the order of operations.
      negative_nan: NaN has the other sign: which sign an operation gives it is not defined.
      without_nan: NaN that linear algebra and convolutions make of operands that are not finite is
        replaced by 1: where it is depends on pivots, and on zeros that are multiplied or left out.
      huge: numbers whose squares overflow are replaced by smaller ones, and so are factors of which
        products may overflow: sums and products of them overflow on the way in one order of
        operations, and do not in another.
    """

    seed: int
    units: float
    flush: bool = False
    infinite: complex | None = None
    huge: bool = False
    negative_nan: bool = False
    without_nan: bool = False


RUNS = (
    Noise(0, UNITS), Noise(1, UNITS), Noise(2, UNITS / 4), Noise(3, UNITS, flush=True),
    Noise(4, 0, flush=True), Noise(5, 1), Noise(6, 1, infinite=complex("nan")),
    Noise(7, 1, infinite=complex("inf")), Noise(8, 1, huge=True), Noise(9, 0, negative_nan=True),
    Noise(10, 1, without_nan=True),
)  # fmt: skip


def noise(kind: Noise) -> Callable[..., Any]:
    """A function that puts its argument off by up to `kind.units` in the last place.

    Small whole numbers stay, since exact operations on them are exact, but for those that are
    `inexact`. `of` are the operands of linear algebra or a convolution that it was computed from;
    `factors` says that it is multiplied up.
    """
    rng = np.random.default_rng(kind.seed)

    def off(x: Any, inexact: bool = False, of: tuple[Any, ...] = (), factors: bool = False) -> Any:
        if isinstance(x, (tuple, list)):
            return type(x)([off(y, inexact, of, factors) for y in x])
        if not hasattr(x, "dtype") or not jnp.issubdtype(x.dtype, jnp.inexact):
            return x
        is_complex = jnp.issubdtype(x.dtype, jnp.complexfloating)
        is_weak = getattr(getattr(x, "aval", None), "weak_type", False)
        # Before a factor makes it infinite.
        if kind.huge:
            x = _moderate_factors(x) if factors and not is_complex else _moderate(x)
        factor = 1 + kind.units * _eps(x.dtype) * rng.uniform(-1, 1, x.shape)
        keep = ~jnp.isfinite(x)
        if is_complex:
            factor = factor + 1j * kind.units * _eps(x.dtype) * rng.uniform(-1, 1, x.shape)
        elif not inexact:
            keep |= (x == jnp.round(x)) & (jnp.abs(x) * _eps(x.dtype) < 1)
        moved = jnp.where(keep, x, x * jnp.asarray(factor, x.dtype))
        if kind.flush:
            moved = _flushed(moved)
        if kind.negative_nan and not is_complex:
            moved = jnp.where(jnp.isnan(x), -x, moved)
        if kind.infinite is not None:
            if is_complex:  # a product, so that derivatives are undefined, too
                moved = moved * jnp.where(keep, kind.infinite, 1).astype(x.dtype)
            for operand in of:
                has_nan = jnp.isnan(operand).any()
                moved = moved * jnp.where(has_nan, kind.infinite.real, 1).astype(x.dtype)
        for operand in of if kind.without_nan else ():
            is_finite = jnp.isfinite(operand).all()
            replaced = ~(jnp.isfinite(moved) | is_finite)
            moved = jnp.where(replaced, jnp.ones_like(moved), moved)
        # A strong scalar has no common type with 8-bit floats.
        return convert.convert(moved, moved.dtype, True) if is_weak else moved

    return off


def _moderate_factors(x: Any) -> Any:
    """Real `x`, and smaller numbers if products of some of them overflow."""
    largest = float(ml_dtypes.finfo(x.dtype).max)
    sizes = jnp.where(jnp.isfinite(x), jnp.maximum(jnp.abs(x), 1), 1).astype(jnp.float32)
    most = largest ** (1 / max(x.size, 1))
    less = jnp.where(jnp.isfinite(x), jnp.clip(x, -most, most), x)
    return jnp.where(jnp.sum(jnp.log(sizes)) > np.log(largest), less, x)


def _moderate(x: Any) -> Any:
    """`x` with numbers whose squares overflow replaced by smaller ones."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jitney.lax.complex(_moderate(x.real), _moderate(x.imag))
    most = float(ml_dtypes.finfo(x.dtype).max) ** 0.5 / 4
    return jnp.where(jnp.isfinite(x), jnp.clip(x, -most, most), x)


def _flushed(x: Any) -> Any:
    """`x` with 0 for subnormal numbers, whose derivatives are as before."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jitney.lax.complex(_flushed(x.real), _flushed(x.imag))
    is_subnormal = jnp.abs(x) < jnp.finfo(x.dtype).tiny
    return jnp.where(is_subnormal, x - jitney.lax.stop_gradient(x), x)


def noisy_runs(program: Program) -> list[list[np.ndarray]]:
    """Results with the noise of each of `RUNS`."""
    body = program.body(noisy=True)
    found = []
    for kind in RUNS:
        out = run.compiled(body, noise=noise(kind))
        if out.error is None:
            found.append(out.results)
    return found


def unexplained(
    got: np.ndarray, want: np.ndarray, bad: np.ndarray, runs: Sequence[np.ndarray]
) -> np.ndarray:
    """The part of the mask `bad` that noise does not account for."""
    with np.errstate(all="ignore"):
        g, w = _wide(got), _wide(want)
        spread = np.zeros(g.shape)
        for noisy in runs:
            n = _wide(noisy)
            # Where noise iterations a number into NaN or infinity, nothing can be said.
            if _is_inexact(got.dtype):
                lost = (np.isfinite(n) != np.isfinite(g)) | (np.isnan(n) != np.isnan(g))
                lost |= np.isinf(n) & (n != g)
                spread = np.where(lost, np.inf, np.maximum(spread, np.nan_to_num(np.abs(n - g))))
            else:
                spread = np.where(n != g, np.inf, spread)
        apart = np.abs(g.astype(np.complex128) - w.astype(np.complex128))
        apart = np.where(np.isnan(apart), np.inf, apart)
        return bad & ~((apart <= 8 * spread) | np.isinf(spread))


# --- outcomes ---------------------------------------------------------------------------------


def describe(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def values(
    program: Program, got: Outcome, want: Outcome, what: str, exact: bool, types: bool
) -> Failure | None:
    """What is wrong with `got`, if `want` is right."""
    if len(got.results) != len(want.results):
        return Failure(f"types {what}", f"{len(got.results)} results, not {len(want.results)}")
    runs: list[list[np.ndarray]] | None = None
    for i, (g, w) in enumerate(zip(got.results, want.results, strict=True)):
        if (g.dtype, g.shape) != (w.dtype, w.shape):
            return Failure(
                f"types {what}", f"result {i}: {g.dtype}{g.shape}, not {w.dtype}{w.shape}"
            )
        if types and got.weak[i] != want.weak[i]:
            return Failure(f"types {what}", f"result {i}: weak type is {got.weak[i]}")
        bad = different_bits(g, w) if exact else far(g, w)
        if bad.any() and not exact:
            runs = noisy_runs(program) if runs is None else runs
            bad = unexplained(g, w, bad, [r[i] for r in runs if r[i].shape == g.shape])
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            return Failure(
                f"values {what}",
                f"result {i}, {int(bad.sum())} of {bad.size}, at {at}: {g[at]!r}, not {w[at]!r}",
            )
    return None


def check(program: Program, fast: Outcome, slow: Outcome, eager: Outcome | None,
          jax: Outcome | None) -> Failure | None:  # fmt: skip
    """What is wrong with the outcomes of `program`."""
    for what, out in (("compiled", fast), ("interpreted", slow), ("eager", eager)):
        if (
            out
            and isinstance(out.error, INTERNAL)
            and type(out.error) is not type(jax and jax.error)
        ):
            return Failure(f"internal {what}", describe(out.error))
    if jax is not None:
        found = _against_jax(program, fast, jax)
        if found:
            return found
    for what, out in (("interpreted", slow), ("eager", eager)):
        if out is None:
            continue
        if (out.error is None) != (fast.error is None):
            error = out.error or fast.error
            return Failure(f"raises {what}" if out.error else "raises compiled", describe(error))
        exact = program.is_exact and what == "interpreted"
        found = values(program, fast, out, f"compiled, {what}", exact, what == "eager")
        if found is not None and what == "eager" and found.kind.startswith("values"):
            found = _eager(program, fast, out, found, jax is not None)
        if found:
            return found
    return _when_repeated(program, eager) if eager is not None else None


def _eager(
    program: Program, fast: Outcome, eager: Outcome, found: Failure, with_jax: bool
) -> Failure | None:
    """What is wrong with eager results other than compiled ones, which are found to be JAX's."""
    # Gradients of maxima that are NaN: products with masks select within one program.
    single = run.eager_with_masks(eager.body)
    if single.error is None and values(program, fast, single, "", False, True) is None:
        return None
    # JAX's may differ likewise: a fold from a known value is a maximum, and has its derivative.
    theirs = run.by_jax_eagerly(eager.body) if with_jax else None
    if theirs is not None and theirs.error is None:
        return values(program, eager, theirs, "eager, JAX", False, False)
    return found


def _when_repeated(program: Program, eager: Outcome) -> Failure | None:
    """What is wrong with later eager calls of a program, of which the first is right."""
    again = eager.again
    if eager.error is not None or again is None:
        return None
    if again.error is not None:
        return Failure("raises repeated", describe(again.error))
    if again.seconds > CLIFF[0] and again.seconds > 2 * eager.seconds:
        return Failure("cliff repeated", f"{again.seconds:.1f} s, first {eager.seconds:.2f}")
    return values(program, again, eager, "eager, repeated", False, True)


def _against_jax(program: Program, fast: Outcome, jax: Outcome) -> Failure | None:
    if jax.error is None and fast.seconds > CLIFF[0] and jax.seconds <= CLIFF[1]:
        return Failure("cliff", f"{fast.seconds:.1f} s; JAX takes {jax.seconds:.2f}")
    if fast.error is not None or jax.error is not None:
        if fast.error is not None and jax.error is not None:
            return None
        if fast.error is not None:
            return Failure("raises", describe(fast.error))
        error = f"{type(jax.error).__name__}: {jax.error}"
        is_known = any(words in error for words in REFUSED)
        return None if is_known else Failure("accepts", error.splitlines()[0][:300])
    # Derivatives by weakly typed scalars are weakly typed or not by how they happen to be computed.
    types = not modes.DERIVATIVES & {name for name, _ in program.mode}
    found = values(program, fast, jax, "compiled, JAX", False, types)
    if found is not None and found.kind.startswith("values"):
        # XLA's code for the whole may be wrong where that for each operation is right: it computes
        # 0/0 of booleans as 0, and reads past the end in conversions to 4-bit integers.
        single = run.by_jax_eagerly(jax.body)
        if single.error is None and values(program, fast, single, "", False, False) is None:
            return None
        # Rounding that noise does not reach: JAX's own two results are as far apart.
        if single.error is None and all(
            not unexplained(w, g, far(g, w), [s]).any()
            for g, w, s in zip(fast.results, jax.results, single.results, strict=True)
        ):
            return None
    return found


__all__ = ["INTERNAL", "Failure", "check", "jitney"]
