"""Arguments of jitted functions that are static or donated, against real jax."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from tests.helpers.both import Cases, check, counted

import jitney
import jitney.numpy

same = Cases()


# --- static arguments ---------------------------------------------------------------------------


@same
def static_number(jax, jnp):
    f = jax.jit(lambda x, n: x * n if n > 1 else x, static_argnums=1)
    return f(jnp.ones(2), 3), f(jnp.ones(2), 1), f(2, 5)


@same
def static_negative_number(jax, jnp):
    return jax.jit(lambda x, n: x * n if n > 1 else x, static_argnums=-1)(jnp.ones(2), 3)


@same
def static_numbers_in_a_list(jax, jnp):
    return jax.jit(lambda a, x, b: x + len(a + b), static_argnums=[0, 2])("ab", 1.0, "c")


@same
def static_name(jax, jnp):
    f = jax.jit(lambda x, mode: x + len(mode), static_argnames="mode")
    return f(1, mode="abc"), f(1, "abcd")


@same
def static_names_in_a_list(jax, jnp):
    f = jax.jit(lambda x, a, b: x + len(a + b), static_argnames=["a", "b"])
    return f(1, a="x", b="yz"), f(1, "x", "y"), f(1, "x", b="y")


@same
def static_number_by_keyword(jax, jnp):
    return jax.jit(lambda x, mode: x + len(mode), static_argnums=1)(1, mode="abc")


@same
def static_default(jax, jnp):
    def f(x, n=2, *, flag=True):
        return x * n if flag else x

    g = jax.jit(f, static_argnames=("n", "flag"))
    return g(3), g(3, 4), g(3, n=5), g(3, flag=False)


@same
def static_name_only_keyword(jax, jnp):
    return jax.jit(lambda x, *, n: x * n, static_argnames=("n",))(2, n=4)


@same
def static_unhashable(jax, jnp):
    return jax.jit(lambda x, n: x, static_argnums=1)(1, [1, 2])


@same
def static_unhashable_array(jax, jnp):
    return jax.jit(lambda x, n: x, static_argnums=1)(1, np.ones(2))


@same
def static_unhashable_by_name(jax, jnp):
    return jax.jit(lambda x, n: x, static_argnames="n")(1, n={})


@same
def static_number_out_of_range(jax, jnp):
    return jax.jit(lambda x: x, static_argnums=3)(1)


@same
def static_name_unknown(jax, jnp):
    return jax.jit(lambda x: x, static_argnames="y")(1)


@same
def static_number_of_wrong_type(jax, jnp):
    return jax.jit(lambda x: x, static_argnums="x")(1)


@same
def static_name_of_wrong_type(jax, jnp):
    return jax.jit(lambda x: x, static_argnames=1)(1)


@same
def static_not_passed(jax, jnp):
    return jax.jit(lambda x, n=3: x * n, static_argnums=(1,))(2)


@same
def static_variadic(jax, jnp):
    f = jax.jit(lambda *args: args[0] + len(args[2]), static_argnums=2)
    return f(1, 2, "abc")


@same
def static_variadic_too_few(jax, jnp):
    return jax.jit(lambda *args: args[0], static_argnums=2)(1, 2)


@same
def static_and_donated(jax, jnp):
    return jax.jit(lambda x, n: x, static_argnums=1, donate_argnums=1)(1, 2)


@same
def static_in_keywords(jax, jnp):
    def f(x, **kw):
        return x + len(kw["name"]) + kw["other"]

    return jax.jit(f, static_argnames="name")(1.0, name="abc", other=2)


@same
def static_values_equal_but_of_other_type(jax, jnp):
    f, runs = counted(lambda x, n: x * n)
    g = jax.jit(f, static_argnums=1)
    return g(2, 1), g(2, 1.0), g(2, True), g(2, 1), len(runs)


@same
def static_object_mutated_without_hash(jax, jnp):
    class Scale:
        k = 2

        @functools.partial(jax.jit, static_argnums=0)
        def times(self, x):
            return self.k * x

    s = Scale()
    first = s.times(1)
    s.k = 3
    return first, s.times(1), s.times(1)


@same
def static_equal_objects_share(jax, jnp):
    class Key:
        def __init__(self, k):
            self.k = k

        def __hash__(self):
            return hash(self.k)

        def __eq__(self, other):
            return self.k == other.k

    f, runs = counted(lambda x, key: x * key.k)
    g = jax.jit(f, static_argnums=1)
    return g(1, Key(2)), g(1, Key(2)), g(1, Key(3)), len(runs)


# --- donated arguments --------------------------------------------------------------------------


@same
def donated_is_deleted(jax, jnp):
    x = jnp.arange(4.0)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x.is_deleted(), y


@same
def donated_each_call(jax, jnp):
    f = jax.jit(lambda x: x + 1, donate_argnums=(0,))
    gone = []
    x = jnp.arange(4.0)
    for _ in range(4):
        y = f(x)
        gone.append(x.is_deleted())
        x = y
    return gone, x


@same
def donated_by_name(jax, jnp):
    x, y = jnp.arange(4.0), jnp.ones(4)
    out = jax.jit(lambda x, y: x + y, donate_argnames="y")(x, y=y)
    return x.is_deleted(), y.is_deleted(), out


@same
def donated_name_from_number(jax, jnp):
    x, y = jnp.arange(4.0), jnp.ones(4)
    jax.jit(lambda x, y: x + y, donate_argnums=1)(x, y=y)
    return x.is_deleted(), y.is_deleted()


@same
def donated_tree(jax, jnp):
    tree = {"a": jnp.ones(3), "b": [jnp.zeros(2)]}
    jax.jit(lambda t: jax.tree_util.tree_map(lambda x: x + 1, t), donate_argnums=0)(tree)
    return [x.is_deleted() for x in jax.tree_util.tree_leaves(tree)]


@same
def donated_without_place(jax, jnp):
    x = jnp.arange(4.0)
    y = jax.jit(lambda x: x.sum(), donate_argnums=0)(x)
    return x.is_deleted(), y


@same
def donated_unused(jax, jnp):
    x = jnp.arange(4.0)
    y = jax.jit(lambda x: jnp.ones(4), donate_argnums=0)(x)
    return x.is_deleted(), y


@same
def donated_used_again(jax, jnp):
    x = jnp.arange(4.0)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x + 1


@same
def donated_numpy(jax, jnp):
    x = np.arange(4.0, dtype=np.float32)
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    return f(x), f(x), x


@same
def donated_under_trace(jax, jnp):
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    y = jax.jit(lambda x: f(x) * 2)(x)
    return y, x.is_deleted()


@same
def donated_number_unknown(jax, jnp):
    return jax.jit(lambda x: x, donate_argnums=4)(1)


@same
def donated_twice(jax, jnp):
    x = jnp.arange(4.0)
    return jax.jit(lambda x, y: (x + 1, y + 2), donate_argnums=(0, 1))(x, x)


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)


def test_static_object_is_looked_at_in_each_call():
    """Its hash and its value count, even where it is the same object."""

    class Scale:
        def __init__(self, k):
            self.k = k

        def __hash__(self):
            return hash(self.k)

        def __eq__(self, other):
            return isinstance(other, Scale) and self.k == other.k

        @functools.partial(jitney.jit, static_argnums=0)
        def __call__(self, x):
            return self.k * x

    s = Scale(2)
    assert [int(s(1)) for _ in range(3)] == [2, 2, 2]
    s.k = 3
    assert [int(s(1)) for _ in range(3)] == [3, 3, 3]


def test_zeros_of_both_signs_are_two_static_arguments():
    """They are equal, but functions may tell them apart."""
    jnp = jitney.numpy
    f = jitney.jit(lambda x, n: jnp.copysign(x, n), static_argnums=1)
    assert [float(f(1.0, zero)) for zero in (0.0, -0.0)] == [1.0, -1.0]
    out = jnp.array([9])

    @jitney.jit
    def filled(x):
        return [jnp.take(x, out, mode="fill", fill_value=zero) for zero in (0.0, -0.0)]

    assert [np.signbit(y).tolist() for y in filled(jnp.ones(3))] == [[False], [True]]


def test_donated_array_given_again():
    x = jitney.numpy.arange(4.0)
    f = jitney.jit(lambda x: x + 1, donate_argnums=0)
    f(x)
    for _ in range(2):
        with pytest.raises(
            RuntimeError,
            match=r"float32\[4\], has been deleted: .* donated to <lambda> at test_jit_static",
        ):
            f(x)


def test_donated_without_use_is_told():
    f = jitney.jit(lambda x: x.sum(), donate_argnums=0)
    with pytest.warns(
        UserWarning, match=r"no result can use the memory of these donated buffers: float32\[4\]"
    ):
        f(jitney.numpy.arange(4.0))


def test_donated_for_a_result_of_its_size():
    x, y = jitney.numpy.ones((8, 2)), jitney.numpy.ones((8, 2))
    jitney.jit(lambda x, y: (x.reshape(16).astype(int), y), donate_argnums=(0, 1))(x, y)
    assert x.is_deleted() and y.is_deleted()
