"""pytreeclass: classes that are trees, changed by masks, shown and differentiated."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytreeclass as tc


@tc.autoinit
class Tree(tc.TreeClass):
    a: float = 1.0
    b: tuple[float, float] = (2.0, 3.0)
    c: jax.Array = tc.field(default=jnp.array([4.0, 5.0, 6.0]))

    def __call__(self, x):
        return self.a + self.b[0] + self.c + x


tree = Tree()
mask = jax.tree.map(lambda x: x > 5, tree)
tree = tree.at["a"].set(100.0).at["b"][0].set(10.0).at[mask].set(100.0)
texts = [str(tree), repr(tree), tc.tree_diagram(tree), tc.tree_summary(tree)]


@jax.jit
@jax.grad
def slope(tree, x):
    return sum(tree(x))


found = slope(tree, 1.0)
masked = tc.tree_mask(tree, lambda leaf: not isinstance(leaf, float))
doubled = tc.tree_unmask(jax.tree.map(lambda x: x * 2, masked))

np.savez(sys.argv[1], texts=texts, c=tree.c, slope_a=found.a, slope_b=found.b, doubled=doubled.b)
