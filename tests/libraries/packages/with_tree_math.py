"""tree-math: arithmetic of trees as of vectors, and conjugate gradients on them."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import tree_math as tm
import tree_math.numpy as tnp

a = tm.Vector({"x": 1, "y": jnp.arange(2, 5)})
b = tm.Vector({"x": 2.0, "y": jnp.ones(3)})
total = a + 10 * b
where = tnp.where(a > b, a, b)


@jax.jit
@tm.wrap
def descend(x, g):
    return x - 0.1 * g / (1 + jnp.exp(-(x @ x)))


@tm.struct
class Point:
    x: jax.Array
    y: jax.Array


moved = Point(jnp.arange(3.0), 1.0) * 2 + 1
descended = descend({"w": jnp.arange(3.0)}, {"w": jnp.ones(3)})
solution, _ = jax.scipy.sparse.linalg.cg(lambda v: 3 * v + v.sum() * 0.5, b)

np.savez(
    sys.argv[1],
    dot=a @ b,
    total=total.tree["y"],
    where=where.tree["y"],
    descended=descended["w"],
    moved_x=moved.x,
    moved_y=moved.y,
    solution=solution.tree["y"],
)
