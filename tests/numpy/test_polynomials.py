"""Roots of polynomials without any, and of those whose first or last coefficients are zero."""

import numpy as np
import pytest
from tests.helpers.both import check

COEFFICIENTS = [[], [0.0], [3.0], [0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [1.0, -3.0, 2.0]]
LONGER = [[0.0, 1.0, -3.0, 2.0], [1.0, -3.0, 2.0, 0.0], [0.0, 0.0, 2.0, -2.0, 0.0]]


def _sorted(roots):
    """Roots in order, as whole numbers: their order and last bits are the eigenvalues'."""
    return roots.dtype.name, np.sort(np.round(roots, 3)) + 0.0


@pytest.mark.parametrize("p", [*COEFFICIENTS, *LONGER], ids=str)
@pytest.mark.parametrize("strip_zeros", [True, False])
def test_roots(p, strip_zeros):
    check(lambda jax, jnp: _sorted(jnp.roots(np.array(p, np.float32), strip_zeros=strip_zeros)))


@pytest.mark.parametrize("p", [c for c in COEFFICIENTS if c], ids=str)
def test_roots_of_traced_coefficients(p):
    def case(jax, jnp):
        return _sorted(jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(np.array(p, np.float32)))

    check(case)
