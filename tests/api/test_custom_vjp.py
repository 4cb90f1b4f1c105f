"""The two rules of a `custom_vjp` replace its derivative, and their results are checked."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.autodiff.custom_vjp import custom_vjp


def with_rules(fwd, bwd, fun=lambda x, y: x * y, **options):
    f = custom_vjp(fun, **options)
    f.defvjp(fwd, bwd)
    return f


def saves(x, y):
    return x * y, (x, y)


def test_residuals_go_from_the_forward_to_the_backward_rule():
    f = with_rules(saves, lambda res, ct: (100 * ct * res[1], 10 * ct * res[0]))
    assert f(2.0, 3.0) == 6.0
    assert jax.grad(f, (0, 1))(2.0, 3.0) == (300.0, 20.0)
    np.testing.assert_array_equal(jax.vmap(jax.grad(f), (0, None))(np.arange(2.0), 3.0), [300, 300])


def test_none_and_prefixes_stand_for_zeros_and_subtrees():
    def bwd(res, ct):
        return None, [ct, None]

    f = with_rules(lambda x, t: (x * t[0], ()), bwd, lambda x, t: x * t[0])
    gx, (ga, gb) = jax.grad(f, (0, 1))(2.0, [3.0, {"k": np.ones(2, np.float32)}])
    assert (gx, ga) == (0.0, 1.0)
    np.testing.assert_array_equal(gb["k"], [0.0, 0.0])


def test_nondifferentiable_arguments_come_first_in_the_backward_rule():
    f = with_rules(
        lambda x, n: (x * n, x), lambda n, res, ct: (ct * n * 5,), lambda x, n: x * n,
        nondiff_argnums=(1,),
    )  # fmt: skip
    assert jax.grad(f)(2.0, 3) == 15.0
    with pytest.raises(jax.errors.UnexpectedTracerError, match="argument 1 is named by nondiff"):
        jax.grad(lambda n: f(2.0, n))(3.0)


def test_recomputed_residuals_and_accumulators():
    f = custom_vjp(lambda x: x**3)
    f.defremat(lambda x: (x**3, ()), lambda _, x: (x**3, 3 * x * x), lambda res, ct: (res * ct,))
    assert jax.grad(f)(2.0) == 12.0
    g = custom_vjp(lambda x, y: x * y)

    def bwd(res, ct, x, y):
        x.accum(ct * res[1])
        x.accum(ct)
        y.accum(ct * res[0])

    g.defvjp_with_accums(saves, bwd)
    assert jax.grad(g, (0, 1))(2.0, 3.0) == (4.0, 2.0)


@pytest.mark.parametrize(
    "fwd, bwd, error, message",
    [
        (lambda x, y: x * y, None, TypeError, r"must return a pair \(output, residuals\)"),
        (saves, lambda res, ct: (ct,), TypeError, "must return a tuple of 2 cotangents"),
        (saves, lambda res, ct: ct, TypeError, "must return a tuple of 2 cotangents"),
        (
            saves,
            lambda res, ct: (ct, (ct, ct)),
            TypeError,
            "in the tree structure of the arguments",
        ),
        (saves, lambda res, ct: (ct, jnp.ones(2)), ValueError, r"but output\[1\] is"),
    ],
)
def test_wrong_results_of_rules(fwd, bwd, error, message):
    with pytest.raises(error, match=message):
        jax.grad(with_rules(fwd, bwd or (lambda res, ct: ct)))(2.0, 3.0)


def test_functions_without_rules():
    with pytest.raises(AttributeError, match=r"no rules are defined; define them with defvjp"):
        custom_vjp(lambda x: x)(1.0)
