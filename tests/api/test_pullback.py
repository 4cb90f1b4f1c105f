"""What `vjp` returns: residuals that are arguments, others, and cotangents that are not wanted."""

import numpy as np
import pytest
from tests.helpers.both import of_both

import jitney as jax
import jitney.numpy as jnp
from jitney.api.autodiff.pullback import VJP, NotNeeded


def two_products(x, w):
    return 2.0 * ((3.0 * x) @ w)


def test_arguments_that_the_backward_pass_needs_stand_in_their_places():
    x, w = jnp.ones((3, 4)), jnp.arange(16.0).reshape(4, 4)
    y, pullback = jax.vjp(two_products, x, w)
    assert isinstance(pullback, VJP)
    assert isinstance(pullback.args_res[0], NotNeeded)
    assert pullback.args_res[1] is w
    assert [r.shape for r in pullback.opaque_residuals] == [(3, 4)]
    assert pullback.in_tree == jax.tree.structure((x, w))
    assert pullback.out_tree == jax.tree.structure(y)


def test_entries_have_the_structure_of_their_arguments():
    weights = {"a": jnp.ones(2), "b": jnp.array([3.0, 4.0])}
    _, pullback = jax.vjp(lambda p: p["a"] + jnp.sin(p["b"]), weights)
    (entry,) = pullback.args_res
    assert isinstance(entry["a"], NotNeeded) and isinstance(entry["b"], NotNeeded)
    _, pullback = jax.vjp(lambda p: p["a"] * p["b"], weights)
    (entry,) = pullback.args_res
    assert entry["a"] is weights["a"] and entry["b"] is weights["b"]
    assert pullback.opaque_residuals == []


def test_an_argument_may_be_taken_out_and_put_back():
    x, w = jnp.ones((3, 4)), jnp.arange(16.0).reshape(4, 4)
    y, pullback = jax.vjp(two_products, x, w)
    expected = pullback(jnp.ones_like(y))
    pullback.args_res[1] = None
    with pytest.raises(TypeError, match=r"two_products needs .* leaf 1 .* restore it"):
        pullback(jnp.ones_like(y))
    pullback.args_res[1] = w
    for got, want in zip(pullback(jnp.ones_like(y)), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_whole_structured_argument_may_be_taken_out():
    weights = {"a": jnp.ones(2), "b": jnp.array([3.0, 4.0])}
    y, pullback = jax.vjp(lambda p, x: p["a"] * p["b"] * x, weights, jnp.ones(2))
    expected = pullback(y)
    pullback.args_res[0] = None
    with pytest.raises(TypeError, match="removed from args_res"):
        pullback(y)
    pullback.args_res[0] = weights
    assert jax.tree.map(np.array_equal, pullback(y), expected) == ({"a": True, "b": True}, True)


def test_it_is_a_pytree_and_goes_through_jit():
    w = jnp.arange(3.0)
    pullback = jax.jit(lambda x: jax.vjp(lambda x, w: jnp.sin(x) * w, x, w)[1])(jnp.ones(3))
    assert isinstance(pullback, VJP)
    got = jax.jit(lambda f, ct: f(ct))(pullback, jnp.ones(3))
    np.testing.assert_allclose(got[0], np.cos(1.0) * np.arange(3.0), rtol=1e-6)
    doubled = jax.tree.map(lambda x: 2 * x, pullback)
    np.testing.assert_allclose(doubled(jnp.ones(3))[1], 2 * np.sin(np.ones(3)), rtol=1e-6)


def test_vmap_of_a_pullback():
    _, pullback = jax.vjp(lambda x: x * x, jnp.arange(3.0))
    (rows,) = jax.vmap(pullback)(jnp.eye(3))
    np.testing.assert_array_equal(rows, np.diag(2 * np.arange(3.0)))


def test_what_is_not_wanted_is_not_computed():
    x = jnp.arange(3.0)
    y, pullback = jax.vjp(lambda x, w: jnp.sin(x) * w, x, x + 1)
    chosen = pullback.with_refs(jax.ad.DontWant(), jax.ad.GradValue())
    none, got = chosen(jnp.ones(3))
    assert none == jax.ad.DidntWant()
    np.testing.assert_allclose(got, np.sin(np.arange(3.0)), rtol=1e-6)
    whole = jax.make_jaxpr(lambda ct: pullback(ct))(y)
    part = jax.make_jaxpr(lambda ct: chosen(ct)[1])(y)
    assert len(whole.eqns) == 3 and len(part.eqns) == 1
    assert chosen.with_refs(jax.ad.GradValue(), jax.ad.DontWant())(y)[1] == jax.ad.DidntWant()


def test_cotangents_that_are_not_wanted_are_not_added_up():
    def f(x, y):
        z = y * 2
        return jnp.sin(x + z) * (x - z)

    _, pullback = jax.vjp(f, 1.0, 2.0)
    chosen = pullback.with_refs(jax.ad.GradValue(), jax.ad.DontWant())
    part = jax.make_jaxpr(lambda ct: chosen(ct)[0])(1.0)
    assert [eqn.primitive.name for eqn in part.eqns].count("add_any") == 1
    np.testing.assert_allclose(chosen(1.0)[0], np.sin(5) - 3 * np.cos(5), rtol=1e-6)


def test_wants_are_given_by_a_prefix_of_the_arguments():
    point = {"a": jnp.ones(2), "b": 3}
    _, pullback = jax.vjp(lambda p, s: p["a"] * p["b"] * s, point, 2.0)
    found, s = pullback.with_refs(
        {"a": jax.ad.GradValue(), "b": jax.ad.DontWant()}, jax.ad.DontWant()
    )(jnp.ones(2))
    np.testing.assert_array_equal(found["a"], [6.0, 6.0])
    assert found["b"] == s == jax.ad.DidntWant()
    found, s = pullback.with_refs(jax.ad.DontWant(), jax.ad.GradValue())(jnp.ones(2))
    assert found == {"a": jax.ad.DidntWant(), "b": jax.ad.DidntWant()} and s == 6.0


def test_wants_that_make_no_sense():
    _, pullback = jax.vjp(lambda x, y: x * y, 1.0, 2.0)
    with pytest.raises(TypeError, match=r"GradValue.*got 1.0"):
        pullback.with_refs(1.0, jax.ad.DontWant())
    with pytest.raises(ValueError, match="lengths"):
        pullback.with_refs(jax.ad.DontWant())


def test_structures_with_none_among_the_arguments():
    def f(tree):
        return tree["x"] ** 2 * tree["y"]

    out, pullback = jax.vjp(f, {"x": jnp.float32(3.0), "none": None, "y": jnp.float32(2.0)})
    assert out == 18
    (ct,) = pullback(jnp.float32(1.0))
    assert ct == {"x": 12.0, "none": None, "y": 9.0}


def test_the_linear_program_is_seen():
    def linear(library):
        x = np.arange(3.0, dtype="f")
        _, pullback = library.vjp(lambda x, y: library.numpy.sin(x) * y, x, 2.0)
        operations = [str(eqn.primitive) for eqn in pullback.jaxpr.eqns]
        return operations, len(pullback.jaxpr.constvars)

    ours, theirs = of_both(linear)
    assert ours == theirs
