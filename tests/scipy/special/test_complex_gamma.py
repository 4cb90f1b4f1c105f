"""The complex gamma function: branches of its logarithm, the functional equation, poles."""

import numpy as np
import scipy.special

import jitney
import jitney.numpy as jnp
from jitney.scipy.special.complex_gamma import gamma, log_gamma

Z = np.array([0.7 + 0.1j, -3.3 + 0.5j, -3.3 - 0.5j, 20 - 30j, -40.5 + 2j, 1e3 + 1e3j, -0.5 + 90j])


def test_principal_branch_of_the_logarithm():
    with jitney.enable_x64(True):
        found = log_gamma(jnp.array(Z))
    np.testing.assert_allclose(found, scipy.special.loggamma(Z), rtol=1e-13)


def test_functional_equation():
    z = jnp.array(Z[:4], np.complex64)
    np.testing.assert_allclose(gamma(z + 1), z * gamma(z), rtol=2e-4)
    np.testing.assert_allclose(gamma(jnp.array([5 + 0j])), [24], rtol=1e-5)


def test_conjugate_arguments_have_conjugate_values():
    z = jnp.array(Z)
    np.testing.assert_array_equal(log_gamma(jnp.conj(z)), jnp.conj(log_gamma(z)))


def test_poles_are_nan():
    found = log_gamma(jnp.array([0, -1, -7, -1.5], np.complex64))
    np.testing.assert_array_equal(np.isnan(found), [True, True, True, False])
