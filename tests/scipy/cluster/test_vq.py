"""Vector quantization finds the nearest code of each observation; of equally near ones, the first."""

import numpy as np
import pytest
import scipy.cluster.vq

from jitney.scipy.cluster.vq import vq


def test_nearest_codes():
    rng = np.random.default_rng(0)
    observations, codes = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    found = vq(observations, codes)
    wanted = scipy.cluster.vq.vq(observations, codes)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5)


def test_scalars_and_ties():
    codes, distances = vq(np.array([0, 5, 2]), np.array([1, 3]))
    np.testing.assert_array_equal(codes, [0, 1, 0])
    np.testing.assert_array_equal(distances, [1, 2, 1])
    assert distances.dtype == "float32"


def test_ranks_that_do_not_fit():
    with pytest.raises(ValueError, match="must have the same rank"):
        vq(np.zeros((2, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="must be of rank 1 or 2, not 3"):
        vq(np.zeros((2, 3, 4)), np.zeros((2, 3, 4)))
