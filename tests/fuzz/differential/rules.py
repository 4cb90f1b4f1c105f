"""What random programs are made of: for each kind of operation, a function that drafts a call.

A rule looks at the values in scope and writes a call that may be valid. Whether it is, and of what
type its result, is found out by tracing it (`generate`): rules need not know the types' laws.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import ml_dtypes
from tests.fuzz.differential.program import MATRIX, Type
from tests.fuzz.differential.values import kind

Scope = Sequence[tuple[str, Type]]


class Draft(NamedTuple):
    """A call: see `program.Op`."""

    text: str
    operands: tuple[str, ...]
    exact: bool = True


Rule = Callable[[random.Random, Scope], Draft | None]

# --- names ------------------------------------------------------------------------------------

EXACT_UNARY = """
    jnp.negative jnp.abs jnp.sign jnp.square jnp.floor jnp.ceil jnp.trunc jnp.rint jnp.sqrt
    jnp.isnan jnp.isinf jnp.isfinite jnp.signbit jnp.conj jnp.real jnp.imag jnp.logical_not
    jnp.invert jnp.bitwise_count lax.clz lax.population_count lax.bitwise_not lax.is_finite
    jnp.positive jnp.nan_to_num jnp.ravel jnp.transpose jnp.flip jnp.zeros_like jnp.ones_like
    jnp.atleast_2d jnp.atleast_1d jnp.matrix_transpose jax.nn.relu jax.nn.relu6 lax.stop_gradient
    jnp.fix jnp.iscomplex jnp.isneginf lax.round jnp.size jnp.diagonal jnp.triu jnp.tril
    lax.optimization_barrier lax.full_like
""".split()
UNARY = """
    jnp.sin jnp.cos jnp.tan jnp.arcsin jnp.arccos jnp.arctan jnp.sinh jnp.cosh jnp.tanh jnp.arcsinh
    jnp.arccosh jnp.arctanh jnp.exp jnp.exp2 jnp.expm1 jnp.log jnp.log2 jnp.log10 jnp.log1p jnp.cbrt
    jnp.reciprocal lax.rsqrt lax.logistic lax.erf lax.erfc lax.erf_inv lax.lgamma lax.digamma
    lax.bessel_i0e lax.bessel_i1e jnp.angle jnp.deg2rad jnp.sinc jnp.i0 jax.nn.softplus jax.nn.gelu
    jax.nn.silu jax.nn.elu jax.nn.softmax jax.nn.log_softmax jax.nn.logsumexp jax.nn.hard_tanh
    jax.nn.standardize jnp.abs lax.square
""".split()
EXACT_BINARY = """
    jnp.add jnp.subtract jnp.multiply jnp.maximum jnp.minimum jnp.fmax jnp.fmin jnp.equal
    jnp.not_equal jnp.less jnp.less_equal jnp.greater jnp.greater_equal jnp.logical_and
    jnp.logical_or jnp.logical_xor jnp.bitwise_and jnp.bitwise_or jnp.bitwise_xor jnp.left_shift
    jnp.right_shift jnp.floor_divide jnp.remainder jnp.fmod jnp.copysign jnp.nextafter jnp.heaviside
    jnp.gcd jnp.lcm lax.rem lax.shift_right_logical lax.shift_left lax.shift_right_arithmetic
    jnp.divide lax.complex lax.nextafter jnp.ldexp lax.max lax.min
""".split()
BINARY = """
    jnp.power jnp.float_power jnp.arctan2 jnp.hypot jnp.logaddexp jnp.logaddexp2 lax.igamma
    lax.igammac jnp.true_divide lax.atan2 lax.pow lax.div jnp.divmod
""".split()
EXACT_FOLDS = "max min any all argmax argmin nanmax nanmin count_nonzero nanargmax ptp".split()
FOLDS = """
    sum prod mean var std nansum nanmean cumsum cumprod median nanprod cumulative_sum
""".split()
LAX_CUMULATIVE = "cumsum cumprod cummax cummin cumlogsumexp".split()
OPERATORS = "+ - * / // % ** & | ^ << >> < <= > >= == != @".split()
LITERALS = "2 -1 0 3 0.5 -1.5 2.0 1e6 True 100".split()
MODES = "promise_in_bounds clip drop fill wrap".split()

# --- choosing operands ------------------------------------------------------------------------


def pick(r: random.Random, scope: Scope, kinds: str = "", rank: int = 0) -> tuple[str, Type] | None:
    """A value of one of `kinds` with at least `rank` axes, later ones more often."""
    good = [
        s for s in scope if (not kinds or kind(s[1].dtype) in kinds) and len(s[1].shape) >= rank
    ]
    return good[-1 - int(len(good) * r.random() ** 1.6)] if good else None


def fitting(r: random.Random, scope: Scope, type_: Type, same: bool) -> tuple[str, Type] | None:
    """A value that broadcasts with one of `type_`; mostly one of its dtype, always so if `same`."""
    good = [s for s in scope if _broadcast(s[1].shape, type_.shape)]
    if same or r.random() < 0.6:
        good = [s for s in good if s[1].dtype == type_.dtype] or ([] if same else good)
    if same:
        good = [s for s in good if s[1].shape == type_.shape]
    return r.choice(good) if good else None


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False))


def axis(r: random.Random, type_: Type) -> int:
    rank = len(type_.shape)
    return r.randrange(-rank, rank) if rank else 0


# --- rules ------------------------------------------------------------------------------------


def unary(r: random.Random, scope: Scope) -> Draft | None:
    exact = r.random() < 0.5
    name = r.choice(EXACT_UNARY if exact else UNARY)
    found = pick(r, scope, "" if exact else r.choice(("fc", "fc", "fc", "")))
    if not found:
        return None
    if name == "jax.nn.standardize" and kind(found[1].dtype) in "iu":
        return None  # JAX squares integers in their own dtype: squares overflow
    text = f"{name}({{0}}, 2)" if name == "lax.full_like" else f"{name}({{0}})"
    if "bessel" in name:  # derivatives of large arguments are differences of nearly equal numbers
        text = f"{name}(jnp.clip({{0}}, -20, 20))"
    text = f"jnp.asarray({text})" if name == "jnp.size" else text  # a Python number
    return Draft(text, (found[0],), exact and kind(found[1].dtype) != "c")


def binary(r: random.Random, scope: Scope) -> Draft | None:
    exact = r.random() < 0.8
    name = r.choice(EXACT_BINARY if exact else BINARY)
    x = pick(r, scope)
    y = fitting(r, scope, x[1], name.startswith("lax.")) if x else None
    if not x or not y:
        return None
    text = f"{name}({{0}}, {{1}})"
    if name in ("lax.igamma", "lax.igammac"):  # beside limits and large numbers JAX is wrong
        text = f"{name}(jnp.clip({{0}}, 0.5, 50), jnp.clip({{1}}, 0.5, 50))"
        if x[1].dtype == "float64":  # the reference's derivative by the first has 12 digits
            return None
    if name == "jnp.right_shift" and x[1].dtype == "uint4":
        return None  # JAX shifts the highest bit in
    if name == "jnp.arctan2" and "c" in kind(x[1].dtype) + kind(y[1].dtype):
        return None  # JAX computes complex ones by logarithms, on another branch at times
    exact = exact and "c" not in kind(x[1].dtype) + kind(y[1].dtype)
    return Draft(f"{text}[{r.randrange(2)}]" if name == "jnp.divmod" else text, (x[0], y[0]), exact)


def operator(r: random.Random, scope: Scope) -> Draft | None:
    """With another value, or with a Python number: weak types."""
    sign = r.choice(OPERATORS)
    x = pick(r, scope)
    if not x:
        return None
    if sign == ">>" and x[1].dtype == "uint4":
        return None  # JAX shifts the highest bit in
    exact = sign not in ("**", "@", "%") and kind(x[1].dtype) != "c"
    if r.random() < 0.5:
        literal = r.choice(LITERALS)
        text = f"{{0}} {sign} {literal}" if r.random() < 0.7 else f"{literal} {sign} {{0}}"
        return Draft(text, (x[0],), exact)
    y = fitting(r, scope, x[1], False)
    exact = exact and bool(y) and kind(y[1].dtype) != "c"
    return Draft(f"{{0}} {sign} {{1}}", (x[0], y[0]), exact) if y else None


def fold(r: random.Random, scope: Scope) -> Draft | None:
    exact = r.random() < 0.4
    name = r.choice(EXACT_FOLDS if exact else FOLDS)
    x = pick(r, scope)
    if not x:
        return None
    options = "" if r.random() < 0.3 else f", axis={axis(r, x[1])}"
    if r.random() < 0.2 and not name.startswith(("cum", "nanarg")):
        options += ", keepdims=True"
    exact = (exact or kind(x[1].dtype) in "biu") and kind(x[1].dtype) != "c"
    exact = exact and name not in ("mean", "var", "std", "nanmean", "median")
    return Draft(f"jnp.{name}({{0}}{options})", (x[0],), exact)


def cumulative(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope, "fiuc", 1)
    if not x:
        return None
    name = r.choice(LAX_CUMULATIVE)
    at = axis(r, x[1]) % len(x[1].shape)
    if name == "cumlogsumexp" and x[1].dtype == "float8_e4m3fn":
        return None  # JAX begins with -inf, which that dtype does not have
    # Where complex numbers are NaN, the least or largest depends on the order of comparisons.
    is_ordered = kind(x[1].dtype) != "c" or name not in ("cummax", "cummin")
    operand = "{0}" if is_ordered else "jnp.nan_to_num({0})"
    text = f"lax.{name}({operand}, axis={at}, reverse={r.random() < 0.5})"
    exact = name in ("cummax", "cummin") or (kind(x[1].dtype) in "iu" and name != "cumlogsumexp")
    return Draft(text, (x[0],), exact)


def _partitioned(k: int) -> str:
    """The element that partition puts in its place: the order of the others is not defined.

    JAX loses the order of NaN and of the least integer, whose signs it turns. Which of equal elements
    has the derivative is not defined either: halves of normal numbers are 0 for JAX, and equal.
    """
    return f"jnp.partition(jnp.nan_to_num({{0}} / 1), {k})[..., {k}]"


def order(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope, "", 1)
    if not x:
        return None
    at = axis(r, x[1])
    last = x[1].shape[-1]
    y = fitting(r, scope, x[1], True) or x
    text = r.choice((
        f"jnp.sort({{0}}, axis={at}, descending={r.random() < 0.3})",
        f"jnp.argsort({{0}}, axis={at}, descending={r.random() < 0.3})",
        f"lax.top_k({{0}}, {r.randint(0, last)})[{r.randrange(2)}]",
        f"lax.sort(({{0}}, {{1}}), dimension={at}, num_keys={r.randint(1, 2)})[{r.randrange(2)}]",
        "jnp.searchsorted(jnp.sort(jnp.ravel({0})), jnp.ravel({1}))",
        f"jnp.unique({{0}}, size={r.randint(1, 5)}, fill_value=1)",
        _partitioned(r.randrange(max(last, 1))),
        f"jnp.bincount(jnp.ravel({{0}}), length={r.randint(1, 5)})",
        "jnp.lexsort(({0}, {1}))",
        f"jnp.nonzero({{0}}, size={r.randint(1, 5)})[0]",
        "jnp.digitize({0}, jnp.sort(jnp.ravel({1})))",
        f"lax.argmax({{0}}, {at % len(x[1].shape)}, jnp.int32)",
        f"lax.approx_max_k({{0}}, {r.randint(1, max(last, 1))})[0]",
    ))  # fmt: skip
    return Draft(text, (x[0], y[0]) if "{1}" in text else (x[0],), kind(x[1].dtype) != "c")


def shape(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope, "", r.choice((0, 1, 1, 2)))
    if not x:
        return None
    dims = x[1].shape
    rank, at = len(dims), axis(r, x[1])
    order_ = list(range(rank))
    r.shuffle(order_)
    widths = ", ".join(
        [f"({r.randint(-1, 2)}, {r.randint(-1, 2)}, {r.randint(0, 1)})" for _ in dims]
    )
    text = r.choice((
        f"jnp.transpose({{0}}, {tuple(order_)})",
        f"jnp.reshape({{0}}, {dims[::-1]})",
        f"jnp.reshape({{0}}, (-1, {dims[-1] if dims else 1}))",
        f"jnp.expand_dims({{0}}, {r.randint(-rank - 1, rank)})",
        "jnp.squeeze({0})",
        f"jnp.broadcast_to({{0}}, {(r.choice((1, 2)), *dims)})",
        f"jnp.roll({{0}}, {r.randint(-3, 3)}, axis={r.choice((None, at)) if rank else None})",
        f"jnp.flip({{0}}, axis={at})",
        f"jnp.rot90({{0}}, {r.randrange(4)})",
        f"jnp.tile({{0}}, {r.choice((2, (2, 1), (1, 2)))})",
        f"jnp.repeat({{0}}, {r.randint(0, 3)}, axis={r.choice((None, at))})",
        f"jnp.swapaxes({{0}}, {at}, {axis(r, x[1])})",
        f"lax.pad({{0}}, jnp.zeros((), {{0}}.dtype), ({widths}{',' if dims else ''}))",
        f"jnp.pad({{0}}, 1, mode={r.choice(('edge', 'wrap', 'reflect', 'constant', 'symmetric'))!r})",
        f"jnp.resize({{0}}, {r.choice(((4,), (2, 3), (), (3,)))})",
        f"jnp.diff({{0}}, axis={at})",
        f"jnp.array_split({{0}}, 2, axis={at})[{r.randrange(2)}]",
        f"lax.rev({{0}}, ({at % rank if rank else ''},))" if rank else "jnp.ravel({0})",
        f"lax.broadcasted_iota({{0}}.dtype, {{0}}.shape, {at % rank if rank else 0})",
        f"jnp.diag({{0}}, {r.randint(-1, 1)})",
        f"jnp.trace({{0}}, {r.randint(-1, 1)})",
        f"lax.reduce_precision({{0}}, {r.randint(2, 8)}, {r.randint(2, 20)})",
        f"jnp.insert({{0}}, {r.randint(0, 1)}, 2)",
        f"jnp.tril({{0}}, {r.randint(-1, 1)})",
        f"jnp.moveaxis({{0}}, {at}, {axis(r, x[1])})",
    ))  # fmt: skip
    return Draft(text, (x[0],), "diff" not in text and "trace" not in text)


def _index(r: random.Random, size: int, other: str | None) -> str:
    """An index of one axis as text; {1} is an integer array."""
    n = max(size, 1)
    return r.choice((
        str(r.randint(-n - 1, n)), str(r.randrange(n)),
        f"{r.randint(-n, n)}:{r.randint(-n, n + 1)}", f"::{r.choice((-2, -1, 2, 3))}",
        f"{r.randrange(n)}:", ":", "None", "...",
        f"jnp.array([{r.randrange(n)}, {r.randint(-n, n)}])",
        *(["{1}", "{1}", "{1}"] if other else []),
    ))  # fmt: skip


def index(r: random.Random, scope: Scope) -> Draft | None:
    """Indexing, reading or writing, with every mode."""
    x = pick(r, scope, "", 1)
    if not x:
        return None
    i = pick(r, scope, r.choice(("iu", "iu", "b")))
    if i and kind(i[1].dtype) == "i" and ml_dtypes.iinfo(i[1].dtype).max < max(x[1].shape):
        i = None  # JAX adds the extent to negative indices in their dtype, which does not hold it
    indices = [_index(r, n, i and i[0]) for n in x[1].shape[: r.randint(1, 2)]]
    where = ", ".join(indices)
    operands = (x[0], i[0]) if i else (x[0], x[0])
    kinds = kind(x[1].dtype)
    if r.random() < 0.35:
        mode = r.choice(MODES[1:4])
        taken = f"jnp.take({{0}}, {{1}}, axis={axis(r, x[1])}, mode={mode!r})"
        return r.choice((
            Draft(f"{{0}}[{where}]", operands),
            Draft(f"{{0}}.at[{where}].get(mode={mode!r})", operands),
            # Of empty arrays, JAX's have not the shape of NumPy's, and ours.
            Draft(taken if 0 not in x[1].shape else "{0} * 1", operands),
            Draft(f"jnp.take_along_axis({{0}}, jnp.argsort({{0}}, axis={axis(r, x[1])}), axis=-1)",
                  operands[:1]),
            Draft(f"jnp.choose({{1}}, ({{0}}, {{0}}), mode={mode!r})", operands),
        ))  # fmt: skip
    value = pick(r, scope)
    method = r.choice(
        ("set", "add", "multiply", "min", "max", "divide", "power", "subtract", "apply")
    )
    if method == "apply":
        return Draft(f"{{0}}.at[{where}].apply(lambda y: y * y)", operands, kinds != "c")
    new = "2" if r.random() < 0.4 or not value else "{2}"
    # Which of two values wins, or in which order they are multiplied, is not defined.
    options = (
        ", unique_indices=True" if method in ("set", "divide", "power") and r.random() < 0.2 else ""
    )
    options = "" if "{1}" in where or "array" in where else options
    mode = r.choice(MODES[1:4])
    exact = method in ("set", "min", "max") or (kinds in "iu" and method in ("add", "multiply"))
    text = f"{{0}}.at[{where}].{method}({new}, mode={mode!r}{options})"
    return Draft(text, (*operands, value[0]) if new == "{2}" else operands, exact and kinds != "c")


def dynamic(r: random.Random, scope: Scope) -> Draft | None:
    x, i = pick(r, scope, "", 1), pick(r, scope, "iu")
    if not x or not i:
        return None
    dims = x[1].shape
    start = (
        f"jnp.ravel({{1}})[:1].sum().astype({r.choice(('jnp.int32', 'jnp.int32', 'jnp.uint8'))})"
    )
    starts = ", ".join([start if k == 0 else str(r.randint(-1, 2)) for k in range(len(dims))])
    sizes = tuple([r.randint(0, n) for n in dims])
    part = ", ".join([f":{n}" for n in sizes])
    at = axis(r, x[1])
    text = r.choice((
        f"lax.dynamic_slice({{0}}, ({starts},), {sizes})",
        f"lax.dynamic_index_in_dim({{0}}, {start}, {at})",
        f"lax.dynamic_slice_in_dim({{0}}, {start}, {r.randint(0, dims[at])}, {at})",
        f"lax.dynamic_update_slice({{0}}, {{0}}[{part}] + 1, ({starts},))",
        f"lax.dynamic_update_index_in_dim({{0}}, 1, {start}, {at})",
    ))  # fmt: skip
    return Draft(text.replace(", 1, jnp", ", jnp.ones((), {0}.dtype), jnp"), (x[0], i[0]))


def join(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope)
    y = fitting(r, scope, x[1], r.random() < 0.5) if x else None
    if not x or not y:
        return None
    at = axis(r, x[1])
    text = r.choice((
        f"jnp.concatenate(({{0}}, {{1}}), axis={at})", f"jnp.stack(({{0}}, {{1}}), axis={at})",
        "jnp.where({0} > 0, {0}, {1})", "jnp.where({0}, {1}, 0)",
        "jnp.select([{0} > 1, {1} < 0], [{0}, {1}], 3)",
        "jnp.hstack(({0}, {1}))", "jnp.meshgrid(jnp.ravel({0}), jnp.ravel({1}))[0]",
        "jnp.clip({0}, {1}, 3)", "lax.clamp(jnp.min({0}), {0}, jnp.max({0}))",
        "lax.select_n({0} != {1}, {0}, {1})", "jnp.append({0}, {1})", "jnp.isin({0}, {1})",
        "jnp.piecewise({0}, [{0} < 0, {1} > 1], [-1, 1, 2])", "jnp.isclose({0}, {1})",
        "jnp.broadcast_arrays({0}, {1})[1]", "lax.concatenate(({0}, {1}), 0)",
        "jnp.array_equal({0}, {1})",
    ))  # fmt: skip
    return Draft(text, (x[0], y[0]))


def product(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope, r.choice(("f", "")), 1)
    y = pick(r, scope, kind(x[1].dtype)) if x else None
    if not x or not y:
        return None
    text = r.choice((
        "jnp.dot({0}, {1})", "jnp.matmul({0}, {1})", "jnp.outer({0}, {1})", "jnp.inner({0}, {1})",
        "jnp.vdot({0}, {0})", "jnp.tensordot({0}, {1}, 1)", "jnp.kron({0}, {1})",
        "{0} @ jnp.swapaxes({0}, -1, -2)", "jnp.einsum('...i,...i->...', {0}, {0})",
        "jnp.einsum('ij,kj->ik', {0}, {0})", "jnp.einsum('ii->i', {0} @ {0}.T)",
        "jnp.convolve(jnp.ravel({0}), jnp.ravel({1})[:3])", "jnp.cross({0}, {1})",
        "lax.dot_general({0}, {0}, (((0,), (0,)), ((), ())))",
        "jnp.polyval(jnp.ravel({0})[:3], {1})",
        "lax.dot_general({0}, {0}, (((1,), (1,)), ((0,), (0,))))",
        "jnp.correlate(jnp.ravel({0}), jnp.ravel({0}))",
        "lax.conv_general_dilated({0}[None, None], {0}[None, None], (1,) * {0}.ndim, 'SAME')",
        "jnp.matmul({0}, {0}, preferred_element_type=jnp.float32)", "jnp.linalg.norm({0})",
        "jnp.linalg.norm({0}, axis=-1, ord=1)",
        "{0} @ jnp.ravel({0})[: {0}.shape[-1]]", "jnp.ravel({0})[: {0}.shape[0]] @ {0}",
        "jnp.einsum('i...,i...->...', {0}, {0})", "jnp.einsum('i...,i...->i', {0}, {0})",
        "jnp.einsum('i...,->...', {0}, jnp.ravel({0})[0])", "jnp.tensordot({0}, {0}, {0}.ndim)",
        "jax.vmap(jnp.vdot)({0}, {0})", "jax.vmap(lambda y: {0} @ y, -1, -1)({1})",
        "jax.vmap(lambda y, z: jnp.outer(y, z))({0}, {0})",
        "jnp.tanh({0} @ jnp.swapaxes({0}, -1, -2)) @ {0}",
    ))  # fmt: skip
    in_floats = any(word in text for word in ("norm", "float32", "convolve", "correlate", "tanh"))
    exact = kind(x[1].dtype) in "iub" and not in_floats
    return Draft(text, (x[0], y[0]) if "{1}" in text else (x[0],), exact)


def window(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope, "fi", 1)
    if not x:
        return None
    rank = len(x[1].shape)
    size = tuple([r.randint(1, 3) for _ in range(rank)])
    stride = tuple([r.randint(1, 2) for _ in range(rank)])
    name, start = r.choice((("add", "0"), ("max", "-jnp.inf"), ("min", "jnp.inf"), ("mul", "1")))
    if kind(x[1].dtype) == "i":
        start = {
            "max": f"jnp.iinfo('{x[1].dtype}').min",
            "min": f"jnp.iinfo('{x[1].dtype}').max",
        }.get(name, start)
    padding = r.choice(("SAME", "VALID"))
    initial = f"{{0}}, np.array({start}, {{0}}.dtype), lax.{name}"
    text = f"lax.reduce_window({initial}, {size}, {stride}, {padding!r})"
    if r.random() < 0.2:
        axes = (axis(r, x[1]) % rank,)
        text = f"lax.reduce({initial}, {axes})"
    return Draft(text, (x[0],), name in ("max", "min"))


def convert(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope)
    if not x:
        return None
    name = r.choice(("float32", "float32", "int32", "bool", "float16", "bfloat16", "int8",
        "uint8", "uint32",
                     "complex64", "float64", "int64", "uint64", "int4", "float8_e4m3fn",
                     "int16"))  # fmt: skip
    if r.random() < 0.15:
        return Draft(f'lax.bitcast_convert_type({{0}}, "{name}")', (x[0],))
    return Draft(f'{{0}}.astype("{name}")', (x[0],))


def algebra(r: random.Random, scope: Scope) -> Draft | None:
    """Linear algebra of a well-conditioned matrix made of a value; Fourier transforms."""
    x = pick(r, scope, "f", 1)
    if not x:
        return None
    if 0 in x[1].shape:
        return None  # XLA has no code for transforms of no elements, whatever the type rule says
    good = MATRIX
    text = r.choice((
        f"jnp.linalg.solve({good}, jnp.resize({{0}}, (3,)))", f"jnp.linalg.inv({good})",
        f"jnp.linalg.det({good})", f"jnp.linalg.cholesky({good} @ {good}.T)",
        f"jnp.linalg.qr({good})[1]", f"jnp.linalg.svd({good}, compute_uv=False)",
        f"jnp.linalg.eigvalsh({good})", f"jnp.linalg.slogdet({good})[1]",
        "jnp.fft.fft({0})", "jnp.fft.rfft({0})", "jnp.fft.ifft({0}).real", "jnp.fft.fft2({0})",
        f"lax.linalg.triangular_solve({good}, jnp.resize({{0}}, (3, 2)), left_side=True, lower=True)",
        f"jnp.linalg.matrix_power({good}, {r.randint(-1, 3)})", f"jnp.linalg.pinv({good})",
    ))  # fmt: skip
    return Draft(text, (x[0],), False)


def special(r: random.Random, scope: Scope) -> Draft | None:
    x = pick(r, scope, "f")
    y = fitting(r, scope, x[1], True) if x else None
    if not x or not y:
        return None
    text = r.choice((
        # JAX divides by 0 and the least numbers in its derivative before it multiplies.
        "jax.scipy.special.xlogy({0}, jnp.where(jnp.abs({1}) < 1e-3, 1, {1}))",
        "jax.scipy.special.gammaln({0})",
        "jax.scipy.special.ndtr({0})",
        "jax.scipy.special.entr({0})", "jax.scipy.special.logit({0})",
        "jax.scipy.special.zeta(2 + jnp.clip({0}, 0, 50), 1.0)",  # JAX's is NaN at infinity
        "jax.scipy.stats.norm.logpdf({0})",
        "lax.betainc(1 + jnp.abs({0}), 2 + jnp.abs({0}), jax.nn.sigmoid({1}))",
        "jnp.interp({0}, jnp.linspace(-1, 1, 4), jnp.array([0., 2, 1, 4]))",
        "lax.integer_pow({0}, 3)",
        "lax.integer_pow({0}, -2)", "jnp.trapezoid({0})", "jnp.gradient({0})",
        "jnp.histogram({0}, bins=3)[0]",
        "jnp.quantile({0}, 0.3)", "jnp.percentile({0}, 60.0)", "jnp.cov({0})", "jnp.unwrap({0})",
        "jnp.ediff1d({0})", "jax.nn.one_hot(jnp.arange(3), 4)", "jnp.vander(jnp.ravel({0})[:3])",
        "jnp.frexp({0})[0]", "jnp.modf({0})[1]", "jax.nn.glu(jnp.resize({0}, (4,)))",
        "jax.nn.celu({0})",
        "jax.ops.segment_sum(jnp.ravel({0}), jnp.arange({0}.size) % 3, 4)",
        "jnp.average({0}, weights={1})",
        "jnp.apply_along_axis(jnp.cumsum, 0, {0})",
    ))  # fmt: skip
    if "betainc" in text and "float8" in x[1].dtype:
        return None  # XLA computes it in 8 bits
    return Draft(text, (x[0], y[0]) if "{1}" in text else (x[0],), False)


def draw(r: random.Random, scope: Scope) -> Draft | None:
    """Random numbers: bits are JAX's."""
    key = f"jax.random.key({r.randrange(100)})"
    x = pick(r, scope)
    if not x:
        return None
    return r.choice((
        Draft(f"jax.random.uniform({key}, {{0}}.shape)", (x[0],), False),
        Draft(f"jax.random.normal({key}, {{0}}.shape)", (x[0],), False),
        Draft(f"jax.random.randint({key}, {{0}}.shape, -3, 9)", (x[0],)),
        Draft(f"jax.random.bits({key}, {{0}}.shape)", (x[0],)),
        Draft(f"jax.random.permutation({key}, {{0}})", (x[0],)),
        Draft(f"jax.random.bernoulli({key}, 0.4, {{0}}.shape)", (x[0],)),
    ))  # fmt: skip


# By how often they are wanted.
RULES: tuple[tuple[Rule, int], ...] = (
    (unary, 16), (binary, 16), (operator, 10), (fold, 10), (cumulative, 3), (order, 5), (shape, 12),
    (index, 14), (dynamic, 4), (join, 9), (product, 6), (window, 2), (convert, 6), (algebra, 2),
    (special, 4), (draw, 2),
)  # fmt: skip
