"""Rules for kinds of operands: strided and reversed views, scalars of Python and NumPy, objects that
stand for arrays, and arguments of all signs and magnitudes.

They find what rules for operations pass over: code for one layout, conversions that a function makes of
arrays alone, ranges of a special function, NaN that a comparison hides.
"""

from __future__ import annotations

import random

from tests.fuzz.differential.rules import Draft, Rule, Scope, axis, fitting, pick
from tests.fuzz.differential.values import kind

# Element types that fill a vector with many, or with few, elements.
LANES = "int8 uint8 int16 float16 bfloat16 float32 int32 complex64 bool".split()
STEPS = (-1, -1, 2, -2, 3, -3)
LENGTHS = (5, 16, 17, 33, 64, 67)
AFTER = ("{v}", "{v} + 1", "{v} * 2", "jnp.where({v} > 0, {v}, 0)", "{v} + jnp.flip({v})",
         "jnp.cumsum({v}, -1)", "jnp.max({v}, -1)")  # fmt: skip

NUMPY_SCALARS = ("np.float32(1.5)", "np.float32(-0.0)", "np.int8(3)", "np.int32(-2)", "np.bool_(True)",
                 "np.float16(0.5)", "np.complex64(1 - 1j)", "np.uint8(200)")  # fmt: skip
PYTHON_SCALARS = ("2", "-1", "0.5", "True", "-0.0", "(1 + 2j)")
OF_TWO = """
    jnp.add jnp.multiply jnp.subtract jnp.divide jnp.maximum jnp.minimum jnp.equal jnp.less jnp.power
    jnp.where jnp.hypot jnp.arctan2 jnp.copysign jnp.logaddexp jnp.full_like jnp.floor_divide jnp.fmod
    jnp.logical_and jnp.append jnp.outer jnp.isclose jnp.dot jnp.kron jnp.searchsorted jnp.nextafter
""".split()
# An object that stands for the operand, as parameters of neural networks do.
OBJECT = "type('Holder', (), {{{{'__jax_array__': lambda self: {x}}}}})()"
OF_OBJECTS = (
    "jnp.sum({o})", "jnp.dot({o}, {o})", "jnp.reshape({o}, -1)", "jnp.transpose({o})", "{o} + {x}",
    "jnp.einsum('...->...', {o})", "jax.nn.softmax({o})", "jnp.tensordot({o}, {o}, 0)", "jnp.sin({o})",
    "jnp.concatenate([jnp.ravel({x}), jnp.ravel(jnp.asarray({o}))])", "jnp.where({x} > 0, {o}, 0)",
    "jnp.stack([{o}, {o}])", "jnp.squeeze({o})", "jax.nn.relu({o})", "jnp.max({o})",
    "lax.mul(jnp.asarray({o}), jnp.asarray({o}))", "jnp.expand_dims({o}, 0)",
)  # fmt: skip

# Functions whose results both packages have right for operands of these signs: see tests/scipy for
# where JAX's are wrong.
OF_PAIRS = (
    "jax.scipy.special.xlogy({0}, {1})", "jax.scipy.special.xlog1py({0}, {1})",
    "jnp.logaddexp({0}, {1})", "jnp.hypot({0}, {1})", "jnp.arctan2({0}, {1})", "jnp.fmod({0}, {1})",
    "jnp.copysign({0}, {1})", "jnp.remainder({0}, {1})", "jnp.floor_divide({0}, {1})",
    "jnp.heaviside({0}, {1})", "jnp.power(jnp.abs({0}), jnp.clip({1}, -8, 8))", "jnp.ldexp({0}, 3)",
)  # fmt: skip
DENSITIES = (
    "norm.logpdf({0}, {1}, 2.0)", "norm.cdf({0}, {1}, 2.0)", "norm.logcdf({0})",
    "uniform.pdf(jnp.nan_to_num({0}), jnp.nan_to_num({1}))",  # of NaN JAX's is 1
    "cauchy.pdf({0}, {1})", "cauchy.cdf({0}, {1})", "laplace.logpdf({0}, {1})", "logistic.pdf({0})",
    "expon.logpdf({0} + 4.0, {1})",
    "poisson.logpmf(jnp.round(jnp.nan_to_num({0})), jnp.clip(jnp.nan_to_num({1}), 0.5, 50))",
    "bernoulli.pmf(jnp.round({0}), jax.nn.sigmoid({1}))", "geom.pmf(jnp.round({0}), 0.3)",
    "gamma.logpdf(jnp.abs({0}) + 0.1, jnp.clip(jnp.abs({1}), 0.5, 50))",
    "t.logpdf({0}, jnp.clip(jnp.abs({1}), 1, 50))",
)  # fmt: skip
# Products of two of the smallest are normal: JAX takes subnormal numbers for 0.
MAGNITUDES = ("1.0", "1e-16", "1e-8", "1e4", "1e12", "1e30", "-1.0", "-1e6")


def views(r: random.Random, scope: Scope) -> Draft | None:
    """A strided or reversed view of some vectors' length, and an operation that reads it."""
    x = pick(r, scope, "biufc", 1)
    if not x:
        return None
    dtype = r.choice(LANES)
    shape = (r.choice(LENGTHS),) if r.random() < 0.6 else (r.choice((3, 8)), r.choice(LENGTHS))
    if len(shape) == 2 and shape[0] * shape[1] > 600:
        shape = (3, shape[1])
    base = f"jnp.resize(jnp.nan_to_num({{0}}), {shape})"
    if dtype.startswith(("int", "uint")):  # conversions out of range are for another rule
        base = f"jnp.clip(jnp.real({base}), 0, 9)"
    indices = ", ".join([f"{r.choice(('', '1', '-2'))}::{r.choice(STEPS)}" for _ in shape])
    view = f'({base}.astype("{dtype}"))[{indices}]'
    if len(shape) == 2 and r.random() < 0.4:
        view += ".T"
    after = r.choice(AFTER)
    exact = dtype != "complex64" and ("cumsum" not in after or "float" not in dtype)
    return Draft(after.replace("{v}", view), (x[0],), exact)


def scalars(r: random.Random, scope: Scope) -> Draft | None:
    """A function of a value and a scalar of Python or NumPy, or a list of these."""
    x = pick(r, scope)
    if not x:
        return None
    scalar = r.choice(PYTHON_SCALARS if r.random() < 0.5 else NUMPY_SCALARS)
    if r.random() < 0.15:
        scalar = f"jnp.asarray([{scalar}])"
    name = r.choice(OF_TWO)
    text = f"{name}({{0}}, {scalar})" if r.random() < 0.6 else f"{name}({scalar}, {{0}})"
    if name == "jnp.arctan2" and ("c" in kind(x[1].dtype) or "j)" in scalar):
        return None  # see `rules.binary`
    if name == "jnp.power" and "j)" in scalar:  # JAX's complex powers of 0 are NaN
        text = text.replace("{0}", "jnp.where({0} == 0, 1, {0})")
    text = text.replace("jnp.where({0}, ", "jnp.where({0} > 0, {0}, ")
    if text.startswith("jnp.where(") and text.count(",") < 2:
        return None
    return Draft(text, (x[0],), False)


def objects(r: random.Random, scope: Scope) -> Draft | None:
    """A function of an object with `__jax_array__`."""
    x = pick(r, scope)
    if not x or x[1].weak:
        return None
    text = r.choice(OF_OBJECTS).replace("{o}", OBJECT.replace("{{{{", "{{").replace("}}}}", "}}"))
    return Draft(text.replace("{x}", "{0}"), (x[0],), False)


def pairs(r: random.Random, scope: Scope) -> Draft | None:
    """A function of two operands of any sign and magnitude; a density, with NaN now and then."""
    x = pick(r, scope, "f")
    y = fitting(r, scope, x[1], True) if x else None
    if not x or not y or x[1].dtype not in ("float32", "float64"):
        return None
    if r.random() < 0.5:
        text = f"jax.scipy.stats.{r.choice(DENSITIES)}"
        return Draft(text, (x[0], y[0]) if "{1}" in text else (x[0],), False)
    text = r.choice(OF_PAIRS)
    for operand in ("{0}", "{1}"):
        text = text.replace(operand, f"({operand} * {r.choice(MAGNITUDES)})")
    return Draft(text, (x[0], y[0]) if "{1}" in text else (x[0],), False)


def reductions_of_views(r: random.Random, scope: Scope) -> Draft | None:
    """A reduction of a transposed or flipped value along any axis."""
    x = pick(r, scope, "fiu", 2)
    if not x or kind(x[1].dtype) == "b":
        return None
    view = r.choice(("{0}.T", "jnp.flip({0})", "{0}[::-1]", "{0}[..., ::-2]", "jnp.rot90({0})"))
    name = r.choice(("sum", "max", "min", "mean", "prod", "any", "argmax"))
    exact = name in ("max", "min", "any", "argmax")
    return Draft(f"jnp.{name}({view}, axis={axis(r, x[1])})", (x[0],), exact)


OPERAND_RULES: tuple[tuple[Rule, int], ...] = (
    (views, 8), (scalars, 6), (objects, 2), (pairs, 4), (reductions_of_views, 3),
)  # fmt: skip
