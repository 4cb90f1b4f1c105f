"""What tracing sees of a function: its operations, not its side effects, one branch only."""

import jax
import jax.numpy as jnp

seen = []


def log2(x):
    seen.append(x)
    return jnp.log(x) / jnp.log(2.0)


print(jax.make_jaxpr(log2)(3.0))
print(len(seen), isinstance(seen[0], jax.Array), seen[0].shape, seen[0].dtype)


def log2_with_print(x):
    print("printed x:", x)
    return jnp.log(x) / jnp.log(2.0)


print(jax.make_jaxpr(log2_with_print)(3.0))
compiled = jax.jit(log2_with_print)
print(compiled(8.0), compiled(4.0))


def log2_if_rank_2(x):
    if x.ndim == 2:
        return jnp.log(x) / jnp.log(2.0)
    return x


print(jax.make_jaxpr(log2_if_rank_2)(jnp.array([1, 2, 3])))
print(jax.make_jaxpr(lambda x: 2 + jnp.sin(x))(jnp.array(1.0)))


def apply_activation(x):
    return jnp.maximum(0.0, x)


def product(w, x):
    return jnp.dot(w, x)


print(jax.make_jaxpr(jax.jit(apply_activation))(jnp.ones((4, 3))))
print(jax.make_jaxpr(jax.jit(product))(jnp.ones((4, 2)), jnp.ones((2, 3))))

squares = []


def squared(number):
    square = number**2
    squares.append(square)
    return square


squared_jit = jax.jit(squared)
print(jax.make_jaxpr(squared_jit)(2))
print([int(squared_jit(n)) for n in (4, 8, 16)], squares)

y = 0


@jax.jit
def impure(x):
    print("Inside:", y)
    return x + y


for y in range(3):
    print("Result:", impure(y))
