"""What may not be done with mutable references, and what they look like in programs."""

import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
from jitney import lax


@pytest.fixture
def r():
    return jitney.new_ref(jnp.arange(4.0))


def twice(a, b):
    return a[0] + b[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda r: jitney.jit(twice)(r, r),
        lambda r: jitney.vmap(twice)(r, r),
        lambda r: lax.cond(True, twice, twice, r, r),
    ],
)
def test_passed_twice(r, call):
    with pytest.raises(ValueError, match=r"references must not alias.* a and b are the same"):
        call(r)


@pytest.mark.parametrize(
    "call",
    [
        lambda r: jitney.jit(lambda a: a[0] + r[0])(r),
        lambda r: lax.scan(lambda c, x: (c, r[0]), 0.0, r),
        lambda r: jitney.jit(lambda b: jitney.jit(lambda a: a[0] + b[0])(b))(r),
    ],
)
def test_passed_and_closed_over(r, call):
    with pytest.raises(
        ValueError, match=r"passed as the argument [abx], and the function also closes over it"
    ):
        call(r)


@pytest.mark.parametrize(
    "call",
    [
        lambda r: jitney.jit(lambda: jitney.new_ref(jnp.zeros(3)))(),
        lambda r: jitney.jit(lambda a: a)(r),
        lambda r: jitney.make_jaxpr(lambda: r)(),
        lambda r: lax.scan(lambda c, _: (c, None), r, None, length=2),
        lambda r: lax.cond(True, lambda: r, lambda: r),
    ],
)
def test_returned(r, call):
    with pytest.raises(
        ValueError, match=r"traced for .* returned a reference to a mutable array, of type"
    ):
        call(r)


def test_leaked():
    kept = []
    jitney.jit(lambda: kept.append(jitney.new_ref(jnp.zeros(2))))()
    with pytest.raises(jitney.errors.UnexpectedTracerError):
        kept[0][...]
    with pytest.raises(jitney.errors.UnexpectedTracerError):
        kept[0][0] = 1.0


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (7, ValueError, "must be from -4 to 3, .* but is 7"),
        (jitney.ds(3, 2), ValueError, "of size 4, but has start 3"),
        ((0, 0), ValueError, "must have at most 1 entries, but has 2"),
        (slice(None, None, -1), ValueError, "must have a step >= 1"),
        ((..., ...), ValueError, "one ellipsis"),
        ("a", TypeError, "'a', of type <class 'str'>"),
        (1.5, TypeError, "must contain integers"),
        (jnp.ones(4, bool), jitney.errors.NonConcreteBooleanIndexError, "boolean"),
    ],
)
def test_bad_index(r, index, error, message):
    with pytest.raises(error, match=message):
        r[index]


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, 3, "ref.swap: the value must have .* float32, but is int32"),
        (0, 1j, "ref.swap: the value must have .* float32, but is complex64"),
        (0, jnp.zeros(2), r"must have shape \(\), .* has shape \(2,\)"),
        (..., 1.0, r"must have shape \(4,\), .* has shape \(\)"),
    ],
)
def test_bad_value(r, index, value, message):
    with pytest.raises(ValueError, match=message):
        r[index] = value


def test_not_an_array(r):
    with pytest.raises(TypeError, match=r"sin takes arrays.*read a reference with ref\[...\]"):
        jnp.sin(r)
    with pytest.raises(TypeError, match="takes arrays"):
        jitney.jit(lambda a: lax.sin(a))(r)
    with pytest.raises(TypeError, match="not another Ref"):
        jitney.new_ref(r)
    with pytest.raises(ValueError, match="Can only call `ref_get` on a `Ref`"):
        jitney.ref.get(jnp.zeros(2))
    with pytest.raises(TypeError, match="freeze takes a Ref"):
        jitney.freeze(jnp.zeros(2))
    with pytest.raises(ValueError, match="not a view such as"):
        jitney.freeze(r.at[1:])


def test_differentiated_value_in_a_reference_from_outside(r):
    with pytest.raises(ValueError, match="a value with a tangent"):
        jitney.grad(lambda x: (r.__setitem__(0, x), x)[1])(1.0)
    with pytest.raises(TypeError, match="with respect to a reference"):
        jitney.grad(lambda a: a[0])(r)


def test_batched_value_in_a_reference_from_outside(r):
    with pytest.raises(ValueError, match="which is not mapped"):
        jitney.vmap(lambda x: r.__setitem__(0, x))(jnp.arange(3.0))
    with pytest.raises(NotImplementedError, match=r"vmap of cond .* writes to a Ref"):
        jitney.vmap(
            lambda p: lax.cond(p, lambda: r.__setitem__(0, 1.0), lambda: None)
        )(jnp.array([True, False]))  # fmt: skip


# --- text -----------------------------------------------------------------------------------------


def program(j):
    def f(x):
        a = j.new_ref(x)
        a[0] = 3.0
        a[j.numpy.array([0, 1])] += 1.0
        j.ref.addupdate(a, slice(0, 2), x[:2])
        y = j.ref.swap(a, 0, 1.0)
        i = j.numpy.int32(2) + 0
        a[i] = 1.0
        z = a[j.ds(i, 2)]

        def body(c, _):
            a[0] = c
            return c + a[1], None

        j.lax.scan(body, x[0], None, length=2)
        return a[::2], a[1:], j.freeze(a), y, z

    return f


def test_programs_print_as_jax_prints_them():
    def text(j):
        return str(j.make_jaxpr(program(j))(j.numpy.arange(4.0)))

    assert text(jitney) == of_jax(text)


def test_programs_of_types(r):
    ref = jitney.typeof(r)
    j = jitney.make_jaxpr(lambda a, x: (a.__setitem__(0, x), a[1])[1])(ref, 1.0)
    assert j.in_avals[0] == ref
    assert j.effects == {
        jitney.core.types.refs.ReadEffect(0),
        jitney.core.types.refs.WriteEffect(0),
    }


def test_effects(r):
    j = jitney.make_jaxpr(lambda x: (r.__setitem__(0, x), r[0])[1])(1.0)
    assert j.effects == {
        jitney.core.types.refs.ReadEffect(0),
        jitney.core.types.refs.WriteEffect(0),
    }
    assert not jitney.make_jaxpr(program(jitney))(jnp.arange(4.0)).effects
    inner = jitney.make_jaxpr(lambda x, q: jitney.jit(lambda a: a[0])(q) + x)(1.0, r)
    assert inner.effects == {jitney.core.types.refs.ReadEffect(1)}
    jitney.core.program.typecheck.check_jaxpr(inner)
