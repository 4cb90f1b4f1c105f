"""Functions that need values while they are traced, and the ways out."""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import jit


def report(function, *args):
    try:
        print(function(*args))
    except Exception as error:
        first, *rest = str(error).split("\n")
        tracing = [line for line in rest if "the value of the argument" in line]
        names = [line.rpartition("the argument ")[2] for line in tracing]
        sentence = first.partition(", got")[0].rpartition(": ")[2]  # after the user's expression
        print(type(error).__name__, "|", sentence, "|", names)


def doubled_unless_positive(x):
    if x > 0:
        return x
    return 2 * x


def count_up(x, n):
    i = 0
    while i < n:
        i += 1
    return x + i


report(jit(doubled_unless_positive), 10)
report(jit(count_up), 10, 20)
print(jit(doubled_unless_positive, static_argnums=0)(10))
print(jit(count_up, static_argnames=["n"])(10, 20))


@partial(jit, static_argnames=["n"])
def count_up_decorated(x, n):
    i = 0
    while i < n:
        i += 1
    return x + i


print(count_up_decorated(10, 20))


@jit
def next_of(i):
    return i + 1


def count_up_by_steps(x, n):
    i = 0
    while i < n:
        i = next_of(i)
    return x + i


print(repr(count_up_by_steps(10, 20)))


@jit
def power(x):
    if x < 0.0:
        return x**2.0
    return x**3.0


report(power, 1.0)
for options in ({"static_argnums": (0,)}, {"static_argnames": "x"}):
    by_value = jit(lambda x: x**2.0 if x < 0.0 else x**3.0, **options)
    print(by_value(2.0), by_value(-2.0))


def square_or_cube(x):
    if x % 2 == 0:
        return x**2
    return x * x * x


report(jit(square_or_cube), 2)


def product_of(x, n):
    count, result = 0, 1
    while count < n:
        result *= x
        count += 1
    return result


report(jit(product_of), 2, 5)

multiply = jit(lambda x, i: x * i, static_argnums=0)
result = 1
for _ in range(5):
    result = multiply(2, result)
print(result)


@jit
def flat_by_jnp(x):
    return x.reshape(jnp.array(x.shape).prod())


@jit
def flat_by_numpy(x):
    return x.reshape((np.prod(x.shape),))


report(flat_by_jnp, jnp.ones((2, 3)))
report(flat_by_numpy, jnp.ones((2, 3)))

try:
    jit(lambda a: a[a > 0])(jnp.arange(3))
except IndexError as error:
    print(type(error).__name__, "|", "bool[3]" in str(error))


def divide(x, y):
    return x / y if y >= 1.0 else 0.0


report(jit(divide), 3.0, 2.0)
print(jit(divide, static_argnums=1)(3.0, 2.0))


def my_log(x):
    return jnp.where(x > 0.0, jnp.log(x), 0.0)


def my_log_or_y(x, y):
    return jnp.where(x > 0.0, jnp.log(jnp.where(x > 0.0, x, 1.0)), y)


print(my_log(0.0), my_log_or_y(0.0, 7.0), jit(my_log_or_y)(1.0, 7.0))
