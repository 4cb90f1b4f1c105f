"""Structured matrices are SciPy's, have the roots or inverses that define them, and batch."""

import numpy as np
import pytest
import scipy.linalg

from jitney.scipy.linalg import structured as s

A, B = np.array([2.0, -3.0, 1.0, 5.0]), np.array([7.0, 1.0, -4.0])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("toeplitz", (A,)), ("toeplitz", (A, B)), ("toeplitz", (A * 1j,)), ("hankel", (A,)),
        ("hankel", (A, B)), ("circulant", (A,)), ("companion", (A,)), ("leslie", (A, B)),
        ("fiedler", (A,)), ("fiedler_companion", (A,)), ("fiedler_companion", (B,)),
        ("fiedler_companion", (B[:2],)), ("fiedler_companion", (np.arange(1.0, 8),)),
        ("block_diag", (A, np.eye(2), 3.0)), ("hadamard", (8,)), ("helmert", (4,)),
        ("helmert", (4, True)), ("hilbert", (5,)), ("invhilbert", (5,)), ("pascal", (5,)),
        ("pascal", (5, "lower")), ("pascal", (5, "upper")), ("invpascal", (5,)),
        ("invpascal", (5, "lower")), ("dft", (4,)), ("dft", (6, "sqrtn")), ("dft", (6, "n")),
        ("convolution_matrix", (A, 3)), ("convolution_matrix", (B, 5, "same")),
        ("convolution_matrix", (B, 5, "valid")),
    ],
)  # fmt: skip
def test_values(name, arguments):
    found, wanted = getattr(s, name)(*arguments), getattr(scipy.linalg, name)(*arguments)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_batch_axes_broadcast():
    found = s.toeplitz(np.stack([A, 2 * A])[:, None], B)
    assert found.shape == (2, 1, 4, 3)
    np.testing.assert_array_equal(found[1, 0], s.toeplitz(2 * A, B))


def test_no_elements():
    assert s.toeplitz(A[:0], B).shape == (0, 3) and s.hankel(A, B[:0]).shape == (4, 0)
    assert s.circulant(A[:0]).shape == s.pascal(0).shape == s.invhilbert(0).shape == (0, 0)
    assert s.block_diag().shape == (1, 0) and s.dft(0).shape == (0, 0)


def test_quarter_turns_of_the_transform_are_exact():
    np.testing.assert_array_equal(
        s.dft(4), [[1, 1, 1, 1], [1, -1j, -1, 1j], [1, -1, 1, -1], [1, 1j, -1, -1j]]
    )


def test_integers_beyond_64_bits_are_rounded_once():
    found = s.invhilbert(15)
    wanted = scipy.linalg.invhilbert(15, exact=True).astype(float)
    np.testing.assert_array_equal(found, wanted.astype(np.float32))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: s.block_diag(np.ones((1, 1, 1))), "block 0 has shape"),
        (lambda: s.companion(A[:1]), "at least two coefficients"),
        (lambda: s.leslie(A, A), "one element fewer"),
        (lambda: s.hadamard(6), "power of 2"),
        (lambda: s.helmert(0), "1 or more"),
        (lambda: s.dft(4, "m"), "`scale` must be"),
        (lambda: s.dft(4, dtype=float), "`dtype` must be complex"),
        (lambda: s.pascal(3, "left"), "`kind` must be one of"),
        (lambda: s.convolution_matrix(A, 0), "number of columns"),
        (lambda: s.convolution_matrix(A, 2, "wrap"), "`mode` must be"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
