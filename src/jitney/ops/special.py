"""Special functions: error functions, gamma and its relatives, Bessel functions."""

from __future__ import annotations

from jitney.ops import kit
from jitney.ops.kit import FLOAT, binary, nary, unary

erf_p, erf = unary("erf", FLOAT, "Error function.")
erfc_p, erfc = unary("erfc", FLOAT, "Complement of the error function: 1 - erf(x).")
erf_inv_p, erf_inv = unary("erf_inv", FLOAT, "Inverse of the error function, on [-1, 1].")
lgamma_p, lgamma = unary("lgamma", FLOAT, "Logarithm of |gamma(x)|.")
digamma_p, digamma = unary("digamma", FLOAT, "Derivative of lgamma.")
bessel_i0e_p, bessel_i0e = unary(
    "bessel_i0e", FLOAT, "Modified Bessel function of order 0, times exp(-|x|)."
)
bessel_i1e_p, bessel_i1e = unary(
    "bessel_i1e", FLOAT, "Modified Bessel function of order 1, times exp(-|x|)."
)
igamma_p, igamma = binary("igamma", FLOAT, "Regularized lower incomplete gamma function P(a, x).")
igammac_p, igammac = binary(
    "igammac", FLOAT, "Regularized upper incomplete gamma function Q(a, x)."
)
igamma_grad_a_p, igamma_grad_a = binary(
    "igamma_grad_a", FLOAT, "Derivative of `igamma` with respect to its first operand."
)
random_gamma_grad_p, random_gamma_grad = binary(
    "random_gamma_grad", FLOAT, "Derivative of a sample x of Gamma(a, 1) with respect to a."
)
polygamma_p, polygamma = binary("polygamma", FLOAT, "Derivative of order m of digamma at x.")
zeta_p, zeta = binary("zeta", FLOAT, "Hurwitz zeta function of order x at q.")
regularized_incomplete_beta_p, betainc = nary(
    "regularized_incomplete_beta",
    (FLOAT, FLOAT, FLOAT),
    "Regularized incomplete beta function I_x(a, b).",
    public="betainc",
)

kit.later(
    erf_p, erfc_p, erf_inv_p, lgamma_p, digamma_p, bessel_i0e_p, bessel_i1e_p, igamma_p, igammac_p,
    igamma_grad_a_p, random_gamma_grad_p, polygamma_p, zeta_p, regularized_incomplete_beta_p,
)  # fmt: skip
