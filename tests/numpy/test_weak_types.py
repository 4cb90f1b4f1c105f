"""Types of results of weakly typed operands, against real jax."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

# x is a Python number, e = (x == x) a weakly typed boolean.
EXPRESSIONS = """
e
e * e
e & e
e ^ e
~e
e == e
jnp.minimum(e, e)
jnp.where(e, e, e)
jnp.stack([e, e])
jnp.left_shift(e, e)
jnp.floor_divide(e, e)
jnp.square(e)
jnp.sin(e)
jnp.sum(e)
jnp.max(e)
jnp.clip(e, e, e)
jnp.dot(e, e)
e * 2
e * x
jnp.insert(x, 0, 2)
jnp.gcd(x, x)
jax.nn.logsumexp(x)
jax.nn.logsumexp(jnp.asarray(x), b=2)
jax.nn.softplus(x)
jax.nn.softplus(e)
jax.nn.softplus(jnp.arange(3, dtype="int32"))
jnp.angle(x)
jnp.angle(jnp.asarray(x, "float16"))
jnp.angle(jnp.full(3, x), deg=True)
jnp.convolve(jnp.full(3, x), jnp.full(2, x))
jnp.correlate(jnp.full(3, x), jnp.full(2, x), "same")
jnp.cross(jnp.full(3, x), jnp.full(3, x))
jnp.degrees(jnp.full(3, x))
jnp.gradient(jnp.full(3, 2.0 * x))
jnp.inner(x, x)
jnp.isinf(x)
jnp.isneginf(x)
jnp.round(jnp.full(3, 2.0 * x), 1)
jnp.round(2.0 * x, 1)
jnp.round(jnp.full((), 2.0 * x, jnp.float16), 1)
jnp.select([jnp.full(3, x)], [jnp.full(3, x)])
jnp.ediff1d(jnp.full(3, x))
jnp.floor_divide(jnp.full(3, x), 2)
jnp.gcd(jnp.full(3, x), 4)
jnp.heaviside(jnp.full(3, x), 2)
jnp.hypot(jnp.full(3, x), 2)
jnp.hypot(x, 2)
jnp.lcm(jnp.full(3, x), x)
jnp.linalg.norm(jnp.full(3, x))
jnp.linalg.norm(jnp.full(3, x), ord=1)
jnp.logaddexp2(jnp.full(3, x), x)
jnp.log2(x)
jnp.log2(jnp.full(3, x))
jnp.power(jnp.full(3, x), 2)
jnp.power(jnp.full(3, x), True)
jnp.power(jnp.ones(3), jnp.asarray(2))
jnp.power(x, x)
jnp.sinc(jnp.full(3, x))
jnp.setdiff1d(x, 2, size=3)
jnp.setdiff1d(x, 2, True, size=3, fill_value=7.5)
jnp.setxor1d(x, 2, size=3)
jnp.setxor1d(x, 2, size=3, fill_value=7)
jnp.setxor1d(x, 2, True, size=3, fill_value=7)
jnp.setxor1d(x, 2, size=3, fill_value=7.5)
jnp.intersect1d(x, 2, size=3)
jnp.intersect1d(x, x, size=3, fill_value=7)
jnp.intersect1d(x, x, True, size=3, fill_value=7)
jnp.intersect1d(x, x, size=3, fill_value=7.5)
lax.dynamic_update_slice(jnp.full(3, x), jnp.full(1, x), (1,))
lax.full_like(e, 2)
lax.top_k(jnp.full(3, x), 2)[1]
lax.reduce_window(jnp.full(3, 2.0 * x), jnp.array(0.5), lax.max, (2,), (1,), "SAME")
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("x", [0, 0.5, True])
def test_types(expression, x):
    def run(library):
        def f(x):
            names = {"jnp": library.numpy, "jax": library, "lax": library.lax, "x": x}
            return eval(expression, {**names, "e": library.numpy.equal(x, x)})

        try:
            outs = [f(x), library.jit(f)(x)]
        except (TypeError, ValueError) as error:
            return type(error).__name__
        return [(np.asarray(y).dtype, np.shape(y), bool(y.aval.weak_type)) for y in outs]

    with jitney.enable_x64():
        assert run(jitney) == of_jax(run, x64=True)
    assert run(jitney) == of_jax(run)


# (library, x) -> array, of scalars and of vectors
DERIVED = {
    "pad": lambda j, x: j.numpy.pad(j.numpy.ravel(x), 1),
    "lax.pad": lambda j, x: j.lax.pad(x, j.numpy.zeros((), x.dtype), [(1, 1, 0)] * x.ndim),
    "sort": lambda j, x: j.lax.sort(j.numpy.ravel(x)),
    "roll": lambda j, x: j.numpy.roll(x, 1),
    "gather": lambda j, x: j.numpy.ravel(x)[j.numpy.array([0])],
    "take": lambda j, x: j.numpy.take(j.numpy.ravel(x), 0),
    "slice": lambda j, x: j.numpy.concatenate([j.numpy.ravel(x)] * 2)[1:],
    "top_k": lambda j, x: j.lax.top_k(j.numpy.ravel(x), 1)[0],
    "argsort": lambda j, x: j.numpy.ravel(x)[j.numpy.argsort(j.numpy.ravel(x))],
    "diag": lambda j, x: j.numpy.diag(j.numpy.ravel(x)),
    "softplus": lambda j, x: j.nn.softplus(x),
    "log_sigmoid": lambda j, x: j.nn.log_sigmoid(x),
    "logaddexp": lambda j, x: j.numpy.logaddexp(x, 0.0),
    "scan": lambda j, x: j.lax.scan(lambda c, _: (c * 2, None), x, None, length=2)[0],
    "scan over it": lambda j, x: j.lax.scan(lambda c, y: (c, y * 2), 0.0, j.numpy.ravel(x))[1],
    "element of one": lambda j, x: j.numpy.ravel(x)[0],
    "fori_loop": lambda j, x: j.lax.fori_loop(0, 3, lambda _, c: c * 2, x),
}


@pytest.mark.parametrize("name", DERIVED)
def test_weak_types_of_derivatives(name):
    derived = DERIVED[name]

    def found(j):
        weak = {}
        for kind, x in {
            "weak": j.numpy.asarray(1.5),
            "weak vector": j.lax.full((4,), 1.5),
            "strong vector": j.numpy.ones(4),
        }.items():
            f = lambda x: derived(j, x)  # noqa: E731
            total = lambda x: f(x).sum()  # noqa: E731, B023
            weak[kind] = (
                f(x).weak_type,
                j.grad(total)(x).weak_type,
                j.jit(j.grad(total))(x).weak_type,
                j.jvp(f, (x,), (x,))[1].weak_type,
            )
        return weak

    assert found(jitney) == of_jax(found)


class Stand:
    """Stands for a value."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["array", "asarray"])
@pytest.mark.parametrize("options", [{}, {"copy": True}, {"dtype": "float32"}])
@pytest.mark.parametrize("value", [2.0, 2, 2j, np.float32(2), np.int8(2)])
def test_objects_become_strongly_typed_arrays(value, options, name, compiled):
    if isinstance(value, complex) and "dtype" in options:
        options = {"dtype": "complex64"}

    def types(library):
        make, found = getattr(library.numpy, name), []

        def f(x):
            direct, stands = make(x, **options), make(Stand(library.numpy.asarray(x)), **options)
            nested = make(Stand(Stand(library.numpy.asarray(x))), **options)
            types = [library.typeof(y) for y in (direct, stands, nested)]
            found.extend((str(t.dtype), t.weak_type) for t in types)
            return stands

        (library.jit(f) if compiled else f)(value)
        return found

    found = types(jitney)
    assert found == of_jax(types)
    assert not found[1][1] and not found[2][1]
