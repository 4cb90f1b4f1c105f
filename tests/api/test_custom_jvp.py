"""The rule of a `custom_jvp` replaces the derivative, and its results are checked."""

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.core.types.dtypes import float0


def with_rule(rule, fun=lambda x: x * x, **options):
    f = custom_jvp(fun, **options)
    f.defjvp(rule)
    return f


def test_the_rule_is_used_for_derivatives_alone():
    f = with_rule(lambda primals, tangents: (primals[0] * 0 + 7, 3 * tangents[0]))
    assert f(5.0) == 25.0
    assert jax.jvp(f, (5.0,), (2.0,)) == (7.0, 6.0)
    assert jax.grad(f)(5.0) == 3.0 and jax.jit(f)(5.0) == 25.0


def test_one_rule_for_each_argument():
    f = custom_jvp(lambda x, y, z: (x * y, z))
    f.defjvps(lambda t, out, x, y, z: (t * y, t * 0), None, lambda t, out, x, y, z: (t * 0, t * 10))
    out, tangents = jax.jvp(f, (2.0, 3.0, 4.0), (1.0, 1.0, 1.0))
    assert out == (6.0, 4.0) and tangents == (3.0, 10.0)
    f.defjvps(None, None, None)
    assert jax.jvp(f, (2.0, 3.0, 4.0), (1.0, 1.0, 1.0))[1] == (0.0, 0.0)


def test_methods_are_bound_to_their_object():
    class Scaled:
        factor = 2.0

        @custom_jvp
        def of(self, x):
            return x * self.factor

    assert isinstance(Scaled.of, custom_jvp)
    Scaled.of.defjvp(lambda self, primals, tangents: (primals[0], 5 * tangents[0]))
    assert Scaled().of(3.0) == 6.0


def test_nondifferentiable_arguments_come_first():
    def rule(n, name, primals, tangents):
        (x,), (t,) = primals, tangents
        assert name == "power"
        return x**n, t * n * x ** (n - 1)

    f = with_rule(rule, lambda x, n, name: x**n, nondiff_argnums=(1,), nondiff_argnames=("name",))
    assert f.nondiff_argnums == (1, 2)
    assert jax.grad(f)(2.0, 3, "power") == 12.0
    with pytest.raises(TypeError, match="each argument must be differentiable"):
        f.defjvps(None)


def test_rules_may_receive_symbolic_zeros():
    seen = []

    def rule(primals, tangents):
        seen.extend([type(t).__name__ for t in tangents])
        return primals[0] + primals[1], jnp.ones_like(primals[0])

    f = custom_jvp(lambda x, y: x + y)
    f.defjvp(rule, symbolic_zeros=True)
    jax.jvp(lambda x: f(x, 1.0), (1.0,), (1.0,))
    assert seen[1] == "SymbolicZero" != seen[0]


@pytest.mark.parametrize(
    "rule, message",
    [
        (lambda p, t: p[0], "must return a pair"),
        (lambda p, t: (p[0], (t[0], t[0])), "must have the same tree structure"),
        (lambda p, t: (p[0], jnp.ones(3)), r"must be f(loat)?32\[\].* returned f(loat)?32\[3\]"),
    ],
)
def test_wrong_results_of_rules(rule, message):
    with pytest.raises(TypeError, match=message):
        jax.jvp(with_rule(rule), (1.0,), (1.0,))


def test_functions_without_a_rule_and_integer_results():
    with pytest.raises(AttributeError, match="no rule is defined; define one with defjvp"):
        custom_jvp(lambda x: x)(1.0)
    f = with_rule(lambda p, t: (jnp.int32(1), jnp.int32(1)), lambda x: jnp.int32(1))
    assert jax.jvp(f, (1.0,), (1.0,))[1].dtype == float0
