"""References are read, written and added to at indices, and nothing is broadcast or converted."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.refs.access import addupdate, get, set as set_at, swap

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def ref():
    return jitney.new_ref(jnp.asarray(X))


def test_swaps_return_what_was_there(ref):
    np.testing.assert_array_equal(swap(ref, (0, slice(1, 3)), np.float32([7, 8])), [1, 2])
    np.testing.assert_array_equal(get(ref, 0), [0, 7, 8])
    set_at(ref, None, X + 1)
    np.testing.assert_array_equal(get(ref), X + 1)


def test_additions_through_views(ref):
    addupdate(ref.at[1].at[1:], ..., np.float32([10, 20]))
    addupdate(ref.transpose(), (np.array([0, 0]), 0), np.float32([1, 1]))
    np.testing.assert_array_equal(get(ref), X + [[2, 0, 0], [0, 10, 20]])


def test_python_scalars_adopt_the_dtype(ref):
    set_at(ref, (0, 0), 5.0)
    assert get(ref, (0, 0)) == 5
    integers = jitney.new_ref(jnp.arange(2))
    with pytest.raises(ValueError, match="must have the Ref's dtype, int32, but is float32"):
        set_at(integers, 0, 1.5)


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (lambda r: set_at(r, 0, X), r"must have shape \(3,\), like the indexed elements"),
        (lambda r: set_at(r, 0, np.float32(1)), "writes do not broadcast"),
        (lambda r: addupdate(r, 0, np.ones(3, np.int32)), "the Ref's dtype, float32, but is int32"),
        (lambda r: swap(r, (0, 0), r), "`swap`: Cannot store a Ref inside of a Ref"),
        (lambda r: get(X, 0), "Can only call `ref_get` on a `Ref`"),
        (lambda r: set_at(X, 0, 1), "Can only call `ref_set` on a `Ref`"),
    ],
)
def test_what_is_refused(ref, write, match):
    with pytest.raises(ValueError, match=match):
        write(ref)
    np.testing.assert_array_equal(get(ref), X)


def test_programs_show_reads_and_writes():
    def f(r):
        swap(r, (0, slice(1, 3)), get(r, (1, slice(0, 2))))
        addupdate(r, None, r[...])

    text = str(jitney.make_jaxpr(f)(jitney.new_ref(jnp.asarray(X))))
    assert "<- a[1,:2]" in text
    assert "a[0,1:] <- " in text
    assert "a[...] += " in text


def test_tangents_go_where_values_go():
    def f(x):
        r = jitney.new_ref(x)
        old = swap(r, 0, 2 * x[1])
        addupdate(r, 1, x[0] * x[1])
        return old.sum() + (get(r) * np.float32([[1], [10]])).sum()

    want = np.ones((2, 3)) * [[1], [2 + 10]] + 10 * X[::-1]
    np.testing.assert_array_equal(jitney.grad(f)(jnp.asarray(X)), want)


def test_bits_of_differentiated_references_are_not_written():
    def f(x):
        r = jitney.new_ref(x)
        set_at(r.bitcast(jnp.int32), ..., jnp.ones((2, 3), jnp.int32))
        return r[...].sum()

    with pytest.raises(NotImplementedError, match="through a bitcast of a reference"):
        jitney.grad(f)(jnp.asarray(X))


def test_mapped_values_need_a_mapped_reference(ref):
    with pytest.raises(ValueError, match=r"cannot be stored in .*, which is not mapped"):
        jitney.vmap(lambda x: set_at(ref, 0, x))(X)
