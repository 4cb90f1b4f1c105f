"""`jax.experimental.sparse.test_util`: the same random arrays as JAX's, and comparisons that fail."""

import numpy as np
import pytest
from tests.helpers.oracle import RealModule, answer

from jitney import numpy as jnp
from jitney.experimental import sparse
from jitney.experimental.sparse import test_util as util

theirs = RealModule("jax.experimental.sparse.test_util")


def rng():
    return np.random.RandomState(7)


def parts(x):
    """The arrays and the layout of a sparse array; a dense one as it is."""
    if isinstance(x, np.ndarray):
        return [x]
    return [*map(np.asarray, x.tree_flatten()[0]), np.array(x.shape)]


DRAWN = {
    "sparse": lambda m: m.rand_sparse(rng())((4, 5), "float32"),
    "sparse, a number": lambda m: m.rand_sparse(rng(), nse=3)((4, 5), "int32"),
    "sparse, a share": lambda m: m.rand_sparse(rng(), nse=0.35)((3, 3), "complex64"),
    "bools": lambda m: m.rand_sparse(rng())((3, 3), "bool"),
    "bcoo": lambda m: m.rand_bcoo(rng())((4, 5), "float32"),
    "bcoo, a share": lambda m: m.rand_bcoo(rng(), nse=0.35)((3, 3), "float32"),
    "bcoo, batched": lambda m: m.rand_bcoo(rng(), nse=3, n_batch=1)((2, 4, 5), "int32"),
    "bcoo, dense": lambda m: m.rand_bcoo(rng(), nse=3, n_dense=1)((4, 5), "float32"),
    "bcoo, all batched": lambda m: m.rand_bcoo(rng(), n_batch=2)((2, 4), "float32"),
    "bcoo, too many": lambda m: m.rand_bcoo(rng(), n_batch=2, n_dense=2)((2, 4), "float32"),
    "bcoo, own numbers": lambda m: m.rand_bcoo(rng(), lambda r: np.ones)((4, 5), "float32"),
    "bcsr": lambda m: m.rand_bcsr(rng())((4, 5), "float32"),
    "bcsr, batched": lambda m: m.rand_bcsr(rng(), nse=3, n_batch=1)((2, 4, 5), "float32"),
    "bcsr, dense": lambda m: m.rand_bcsr(rng(), n_dense=1)((4, 5, 2), "float32"),
    "bcsr, one axis": lambda m: m.rand_bcsr(rng())((4,), "float32"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_random_arrays(name):
    draw = DRAWN[name]
    want = answer(lambda: parts(draw(theirs)))
    if hasattr(want, "names"):
        with pytest.raises(ValueError, match="rand_bc"):
            draw(util)
        assert want.name == "ValueError"
        return
    got = parts(draw(util))
    assert len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


def test_layouts():
    def use(m):
        return [
            [tuple(x) for x in m.iter_sparse_layouts((2, 3, 4))],
            [tuple(x) for x in m.iter_sparse_layouts((2, 3), min_n_batch=1)],
            [tuple(x) for x in m.iter_bcsr_layouts((2, 3, 4, 5))],
            [tuple(x) for x in m.iter_bcsr_layouts((2,))],
            [*m.iter_subsets([1, 2, 3])],
            str(m.SparseLayout(1, 2, 3)),
            str(m.BatchedDotGeneralProperties((1,), (2,), 0, 0, None)),
            {kind.__name__: value for kind, value in m.MATMUL_TOL.items()},
        ]

    assert use(util) == answer(lambda: use(theirs))
    assert util.is_sparse(sparse.eye(2))
    assert not util.is_sparse([sparse.eye(2)])


class Case(util.SparseTestCase):
    def runTest(self):
        """Stands for a test."""


def test_comparisons():
    case = Case()
    x = util.rand_bcoo(case.rng())((4, 5), "float32")
    other = sparse.BCOO((x.data + 1, x.indices), shape=x.shape)
    case.assertSparseArraysEquivalent(x, x)
    for y in (other, sparse.BCSR.fromdense(jnp.ones((4, 5)), nse=20), x.todense()):
        with pytest.raises(AssertionError):
            case.assertSparseArraysEquivalent(x, y)
    case.assertSparseArraysEquivalent(x, other, atol=2.0)


def test_functions_against_those_of_dense_arrays():
    case = Case()
    x = util.rand_bcoo(case.rng())((4, 5), "float32")
    y = np.ones((5, 3), np.float32)
    case._CheckAgainstDense(lambda a: a * 2, lambda a: a * 2, lambda: [x])
    case._CheckAgainstDense(lambda a, b: a @ b, lambda a, b: a @ b, lambda: [x, y], tol=1e-5)
    case._CheckGradsSparse(lambda a, b: a @ b, lambda a, b: a @ b, lambda: [x, y], rtol=1e-5)
    case._CheckGradsSparse(lambda a, b: a @ b, lambda a, b: a @ b, lambda: [x, y], argnums=0)
    for check in (case._CheckAgainstDense, case._CheckGradsSparse):
        with pytest.raises(AssertionError):
            check(lambda a: a * 3, lambda a: a * 2, lambda: [x])
