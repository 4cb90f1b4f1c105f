"""Types of results of weakly typed operands, against real jax."""

import jax
import numpy as np
import pytest

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
jax.nn.softplus(x)
jax.nn.softplus(e)
jax.nn.softplus(jnp.arange(3, dtype="int32"))
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("x", [0, 0.5, True])
def test_types(expression, x):
    def run(library):
        def f(x):
            names = {"jnp": library.numpy, "jax": library, "x": x}
            return eval(expression, {**names, "e": library.numpy.equal(x, x)})

        try:
            outs = [f(x), library.jit(f)(x)]
        except (TypeError, ValueError) as error:
            return type(error)
        return [(np.asarray(y).dtype, np.shape(y), y.aval.weak_type) for y in outs]

    with jax.enable_x64(True), jitney.enable_x64():
        assert run(jitney) == run(jax)
    assert run(jitney) == run(jax)
