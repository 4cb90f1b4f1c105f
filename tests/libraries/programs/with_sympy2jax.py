"""sympy2jax: symbolic expressions as modules, whose numbers are trained."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import sympy
import sympy2jax

x, y = sympy.symbols("x y")
expressions = {
    "wave": 1.5 * sympy.sin(x) + sympy.exp(-(y**2)) * 0.5,
    "ratio": (x**2 + 3) / (1 + sympy.Abs(y)),
    "several": sympy.Max(x, y, 0) + sympy.atan2(y, x) + sympy.cosh(x) ** sympy.Rational(1, 3),
}
module = sympy2jax.SymbolicModule(expressions)
points = {"x": jnp.linspace(-1, 2, 5), "y": jnp.linspace(0.5, 1.5, 5)}
values = module(**points)

model = sympy2jax.SymbolicModule(2.0 * x + 0.1 * sympy.sin(3.0 * x))
inputs = jnp.linspace(-1, 1, 32)
targets = 1.2 * inputs + 0.7 * jnp.sin(2.5 * inputs)
optimizer = optax.adam(0.05)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state):
    def loss(model):
        return jnp.mean((model(x=inputs) - targets) ** 2)

    value, gradient = eqx.filter_value_and_grad(loss)(model)
    updates, state = optimizer.update(gradient, state)
    return eqx.apply_updates(model, updates), state, value


losses = []
for _ in range(30):
    model, state, value = step(model, state)
    losses.append(value)

np.savez(
    sys.argv[1],
    losses=np.array(losses),
    fitted=model(x=inputs),
    gradient=jax.grad(lambda x: module(x=x, y=0.3)["ratio"])(0.7),
    batched=jax.vmap(lambda x: module(x=x, y=1.0)["wave"])(points["x"]),
    **values,
)
