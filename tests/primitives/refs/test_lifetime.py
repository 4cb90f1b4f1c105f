"""References are created, frozen and freed; each keeps the type that it was created with."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.refs.lifetime import empty_ref, free_ref, freeze, new_ref

X = np.arange(3, dtype=np.float32)


def test_a_reference_does_not_alias_the_users_array():
    x = X.copy()
    ref = new_ref(x)
    x[0] = 9
    np.testing.assert_array_equal(freeze(ref), X)


def test_contents_are_strongly_typed():
    assert not new_ref(2.5)[...].weak_type
    assert new_ref(True).dtype == bool


def test_within_programs():
    def f(x):
        ref = new_ref(x)
        ref[0] = x[1] * x[2]
        out = freeze(ref)
        return out * 2

    np.testing.assert_array_equal(jitney.jit(f)(X), [4, 2, 4])
    np.testing.assert_array_equal(jitney.jvp(f, (X,), (np.ones_like(X),))[1], [6, 2, 2])
    np.testing.assert_array_equal(jitney.vmap(f)(np.stack([X, X + 1])), [[4, 2, 4], [12, 4, 6]])
    text = str(jitney.make_jaxpr(f)(X))
    assert "new_ref" in text
    assert "freeze" in text


def test_references_to_unspecified_contents():
    ref = empty_ref(jitney.ShapeDtypeStruct((2, 3), np.int16))
    assert (ref.shape, ref.dtype) == ((2, 3), np.int16)

    def f(x):
        ref = empty_ref(jitney.ShapeDtypeStruct((3,), np.float32))
        ref[...] = x
        return freeze(ref)

    np.testing.assert_array_equal(jitney.jit(f)(X), X)
    np.testing.assert_array_equal(jitney.vmap(f)(np.stack([X, X])), [X, X])


def test_what_is_refused():
    ref = new_ref(X)
    with pytest.raises(TypeError, match=r"jax.new_ref\(ref\[...\]\) makes a copy"):
        new_ref(ref)
    for end, name in ((freeze, "freeze"), (free_ref, "free_ref")):
        with pytest.raises(ValueError, match=f"{name} takes a Ref, not a view such as"):
            end(ref.at[0])
        with pytest.raises(TypeError, match=f"{name} takes a Ref, got"):
            end(jnp.asarray(X))
    assert free_ref(ref) is None
