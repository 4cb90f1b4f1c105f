"""A product of batches is one contraction, whose result is permuted into the order of `matmul`."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.contractions import contraction

# Shapes of two stacks of matrices.
STACKS = [
    ((2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (1, 6, 3, 4)),
    ((6, 2, 3), (5, 1, 3, 4)),
    ((1, 2, 3), (1, 3, 4)),
    ((5, 1, 2, 3), (3, 4)),
]


def product(x, y, row, column, placed):
    """Carries out the plan by einsum, which has an output in the order of dot_general."""
    plan = contraction(x.shape, y.shape, row, column, placed)
    x, y = np.squeeze(x, plan.squeezed_a), np.squeeze(y, plan.squeezed_b)
    ((along_a, along_b), (batch_a, batch_b)) = plan.numbers
    names_a = list(range(x.ndim))
    names_b = list(range(10, 10 + y.ndim))
    for i, j in zip((*along_a, *batch_a), (*along_b, *batch_b), strict=True):
        names_b[j] = i
    batch = [names_a[i] for i in batch_a]
    alone = [k for k in (*names_a, *names_b) if k not in batch and k not in along_a]
    out = np.einsum(x, names_a, y, names_b, batch + alone)
    out = out if plan.perm is None else out.transpose(plan.perm)
    return np.expand_dims(out, plan.ones)


@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize(("left", "right"), STACKS)
def test_plans_multiply_stacks_of_matrices(left, right, placed):
    x, y = np.arange(1.0, 1 + np.prod(left)).reshape(left), np.cos(np.arange(np.prod(right)))
    y = y.reshape(right)
    np.testing.assert_allclose(product(x, y, True, True, placed), x @ y)


def test_vectors_have_no_axes_in_the_result():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    np.testing.assert_allclose(product(x, y, True, False, False), x @ y)
    np.testing.assert_allclose(product(y, x.T, False, True, False), y @ x.T)
    assert product(y, y, False, False, False) == 5
    # Batches of vectors.
    np.testing.assert_allclose(product(x, x, False, False, False), [5, 50])


def test_matrices_are_contracted_without_transposes():
    plan = contraction((2, 3), (3, 4), True, True, False)
    assert plan.numbers == (((1,), (0,)), ((), ()))
    assert plan.perm is None
    assert plan.ones == ()


def test_batches_must_broadcast():
    with pytest.raises(ValueError, match="broadcast"):
        contraction((2, 3, 4), (5, 4, 6), True, True, False)
