"""Arguments as arrays, NumPy's numbers and objects that stand for arrays, where others are usual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.both import check

import jitney
import jitney.numpy as jtnp

# --- axes and dtypes as arrays --------------------------------------------------------------------

EXPRESSIONS = """
x.transpose(A([1, 0]))
x.transpose(J([1, 0]))
x.transpose(A(1), A(0))
x.transpose(np.int64(1), 0)
jnp.transpose(x, J([1, 0]))
jnp.moveaxis(x, J([0]), A([1]))
jnp.roll(x, A([1, 1]), J([0, 1]))
jnp.flip(x, J([0, 1]))
jnp.flip(x, A([0]))
jnp.squeeze(x[None], J([0]))
jnp.expand_dims(x, A([0, 1]))
jnp.sum(x, axis=J([0, 1]))
jnp.sum(x, axis=A(1))
jax.nn.logsumexp(x, axis=A([0, 1]))
jax.nn.logsumexp(x, axis=(0, 5))
jax.grad(lambda a, b: a * b, argnums=A([0, 1]))(1.0, 2.0)
jax.grad(lambda a, b: a * b, argnums=J([1]))(1.0, 2.0)
jax.grad(lambda a, b: a * b, argnums=A(1))(1.0, 2.0)
jnp.promote_types(x, J([1])) == "float32"
jnp.promote_types(x, "int8") == "float32"
jnp.promote_types(np.float32(1), int) == "float32"
jnp.promote_types(A([1.0]), "int8")
jnp.promote_types("abc", "int8")
jnp.issubdtype(x, jnp.floating)
jnp.issubdtype(J([1]), x)
jnp.issubdtype(np.int8(1), np.integer)
jnp.issubdtype(A([1.0]), jnp.floating)
jax.jit(lambda y: y * jnp.issubdtype(y, jnp.integer))(3)
jnp.zeros(3, np.float16(1))
jnp.zeros(3, J([1]))
jnp.zeros(3, A([1]))
"""


@pytest.mark.filterwarnings("ignore:Implicit conversion of an array to a dtype:DeprecationWarning")
@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_arrays_as_axes_and_dtypes(expression: str) -> None:
    def case(jax: Any, jnp: Any) -> Any:
        x = jnp.arange(6.0).reshape(2, 3)
        names = {"jax": jax, "jnp": jnp, "np": np, "x": x, "A": np.array, "J": jnp.array}
        return eval(expression, names)

    check(case)


@pytest.mark.parametrize("axis", [np.array([0, 1]), np.array(1), jtnp.array([1, 0]), [0, 1]])
def test_arrays_as_axes_of_norms(axis: Any) -> None:
    """JAX refuses these, for its axes are static arguments of a jitted function."""
    plain = tuple(np.asarray(axis).tolist()) if np.ndim(axis) else int(axis)
    for norm in (jtnp.linalg.norm, jtnp.linalg.vector_norm):
        np.testing.assert_array_equal(norm(x, axis=axis), norm(x, axis=plain))


def test_axes_that_are_traced_are_refused() -> None:
    with pytest.raises(TypeError):
        jitney.jit(lambda k: jtnp.flip(jtnp.ones((2, 3)), k))(np.array([0]))
    with pytest.raises(TypeError):
        jitney.jit(lambda k: jtnp.ones((2, 3)).transpose(k))(np.array([1, 0]))


# --- values that transformations hand through -----------------------------------------------------

VALUES: dict[str, Any] = {
    "float64": np.float64(2),
    "float32": np.float32(2),
    "int64": np.int64(3),
    "bool_": np.bool_(True),
    "array": np.array([1.0, 2.0]),
    "rank 0": np.array(2.0),
    "float": 2.0,
    "int": 3,
    "bool": True,
}

# Each gives kinds of what the function sees and what is returned.
HANDED: dict[str, Any] = {
    "vmap, not mapped": lambda jax, see, x, v: jax.vmap(
        lambda a, b: (see(b), a)[1], in_axes=(0, None)
    )(x, v),
    "vmap, keyword of a dictionary": lambda jax, see, x, v: jax.vmap(
        lambda d: (see(d["b"]), d["a"])[1], in_axes=({"a": 0, "b": None},)
    )({"a": x, "b": v}),
    "vmap, returned": lambda jax, see, x, v: jax.vmap(
        lambda a, b: b, in_axes=(0, None), out_axes=None
    )(x, v),
    "vmap, a constant": lambda jax, see, x, v: jax.vmap(lambda a: v, out_axes=None)(x),
    "vmap, a broadcast constant": lambda jax, see, x, v: jax.vmap(lambda a: v)(x),
    "grad, auxiliary": lambda jax, see, x, v: jax.grad(lambda a: (a * 2, v), has_aux=True)(1.0),
    "grad, another argument": lambda jax, see, x, v: jax.grad(
        lambda a, b: ((see(b), a)[1], b), has_aux=True
    )(1.0, v),
    "jvp": lambda jax, see, x, v: jax.jvp(lambda a: (a, v), (1.0,), (1.0,))[0][1],
    "jvp, auxiliary": lambda jax, see, x, v: jax.jvp(
        lambda a: (a, v), (1.0,), (1.0,), has_aux=True
    )[2],
    "vjp": lambda jax, see, x, v: jax.vjp(lambda a: (a, v), 1.0)[0][1],
    "vjp, auxiliary": lambda jax, see, x, v: jax.vjp(lambda a: (a, v), 1.0, has_aux=True)[2],
    "linearize": lambda jax, see, x, v: jax.linearize(lambda a: (a, v), 1.0)[0][1],
    "jacfwd, auxiliary": lambda jax, see, x, v: jax.jacfwd(lambda a: (a, v), has_aux=True)(1.0)[1],
    "jacrev, auxiliary": lambda jax, see, x, v: jax.jacrev(lambda a: (a, v), has_aux=True)(1.0)[1],
}


@pytest.mark.parametrize("way", HANDED)
@pytest.mark.parametrize("kind", VALUES)
def test_values_are_handed_through(way: str, kind: str) -> None:
    def case(jax: Any, jnp: Any) -> Any:
        seen: list[Any] = []
        found = HANDED[way](jax, seen.append, jnp.arange(3.0), VALUES[kind])
        return seen, found

    check(case)


@pytest.mark.parametrize("way", ["jvp", "linearize"])
def test_integer_arrays_are_handed_through(way: str) -> None:
    def case(jax: Any, jnp: Any) -> Any:
        seen: list[Any] = []
        x, i = np.ones(3, np.float32), np.arange(3)

        def f(x: Any, i: Any) -> Any:
            seen.append(i)
            return x * i

        if way == "jvp":
            found = jax.jvp(f, (x, i), (x, np.zeros(3, jax.dtypes.float0)))
        else:
            out, slope = jax.linearize(f, x, i)
            found = out, slope(x, np.zeros(3, jax.dtypes.float0))
        return seen, found

    check(case)


# --- objects that stand for arrays ----------------------------------------------------------------


class Parameter:
    """An object that stands for an array, and has no attribute of one."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __jax_array__(self) -> Any:
        return self.value


class Variable(Parameter):
    """One whose attributes are the array's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["value"], name)


@jitney.tree_util.register_pytree_node_class
class Node(Variable):
    """A pytree as well."""

    def tree_flatten(self) -> Any:
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> Node:
        return cls(*children)


def proxy(value: Any) -> Any:
    """An object that answers `__jax_array__` as any other attribute."""

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            return (lambda: value) if name == "__jax_array__" else getattr(value, name)

    return Proxy()


x = jtnp.arange(1.0, 7.0).reshape(2, 3)
key = jitney.random.key(0)

# A function of a 2x3 array, of which all may be given as an object that stands for it.
FUNCTIONS: dict[str, Any] = {
    "choice": lambda a: jitney.random.choice(key, a, (4,)),
    "indices of triangles": lambda a: x[jtnp.tril_indices_from(a)] + x[jtnp.triu_indices_from(a, 1)],
    "dot": lambda a: jtnp.dot(a, x.T),
    "matmul, on the right": lambda a: x.T @ a,
    "operator": lambda a: x * a - a,
    "reshape": lambda a: jtnp.reshape(a, (-1,)),
    "transpose": lambda a: jtnp.transpose(a),
    "einsum": lambda a: jtnp.einsum("ij->j", a),
    "einsum of two": lambda a: jtnp.einsum("ij,kj->ik", a, x),
    "tensordot": lambda a: jtnp.tensordot(a, x, 2),
    "sum": lambda a: jtnp.sum(a, axis=0),
    "where": lambda a: jtnp.where(x > 2, a, 0.0),
    "stack": lambda a: jtnp.stack([a, x]),
    "array of several": lambda a: jtnp.array([a, a]),
    "broadcast_to": lambda a: jtnp.broadcast_to(a, (4, 2, 3)),
    "take": lambda a: jtnp.take(a, 0, axis=1),
    "sort": lambda a: jtnp.sort(a),
    "clip": lambda a: jtnp.clip(a, 2.0, a),
    "pad": lambda a: jtnp.pad(a, 1),
    "norm": lambda a: jtnp.linalg.norm(a),
    "fft": lambda a: jtnp.abs(jtnp.fft.fft(a)),
    "var": lambda a: jtnp.var(a, axis=1),
    "median": lambda a: jtnp.median(a),
    "interp": lambda a: jtnp.interp(a, x[0], x[1]),
    "softmax": lambda a: jitney.nn.softmax(a),
    "gelu": lambda a: jitney.nn.gelu(a),
    "logsumexp": lambda a: jitney.scipy.special.logsumexp(a),
    "gammaln": lambda a: jitney.scipy.special.gammaln(a),
    "logpdf": lambda a: jitney.scipy.stats.norm.logpdf(a, 0.0, a),
    "convolve": lambda a: jitney.scipy.signal.convolve(a, x),
    "lax.mul": lambda a: jitney.lax.mul(a, x),
    "lax.transpose": lambda a: jitney.lax.transpose(a, (1, 0)),
    "lax.dynamic_slice": lambda a: jitney.lax.dynamic_slice(a, (0, 1), (2, 2)),
    "scan": lambda a: jitney.lax.scan(lambda c, row: (c + row, c), x[0], a)[0],
    "cond": lambda a: jitney.lax.cond(True, jtnp.sin, jtnp.cos, a),
    "at": lambda a: x.at[0].set(jtnp.reshape(a, -1)[:3]) * a,
    "normal": lambda a: jitney.random.multivariate_normal(key, jtnp.ravel(a), jtnp.eye(6)),
    "resize": lambda a: jitney.image.resize(jtnp.asarray(a), (4, 6), "linear"),
    "vmap": lambda a: jitney.vmap(jtnp.sin)(a),
    "jit": lambda a: jitney.jit(jtnp.sin)(a),
    "full": lambda a: jtnp.zeros_like(a) + jtnp.full((), jtnp.max(a)),
    "shape": lambda a: x * (jtnp.ndim(a) + jtnp.size(a) + jtnp.shape(a)[1]) + jtnp.sin(a),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", [Parameter, Variable, Node, proxy], ids=lambda k: k.__name__)
def test_objects_that_stand_for_arrays(name: str, kind: Any) -> None:
    function = FUNCTIONS[name]
    if kind is Node and name in ("vmap", "scan", "cond", "jit"):
        pytest.skip("a pytree's leaves are what these see")

    def hidden(a: Any) -> Any:
        return function(kind(a))

    def loss(f: Any) -> Any:
        def total(a: Any) -> Any:
            return jtnp.sum(jtnp.sin(f(a)))

        return jitney.grad(total)

    batch = jtnp.stack([x, x + 1])
    jit: Any = jitney.jit
    ways: list[Any] = [
        lambda f: f(x),
        lambda f: jit(f)(x),
        lambda f: jitney.vmap(f)(batch),
        lambda f: loss(f)(x),
        lambda f: jitney.jvp(f, (x,), (x,)),
    ]
    for transformed in ways:
        expected, got = transformed(function), transformed(hidden)
        jitney.tree.map(np.testing.assert_array_equal, got, expected)


def test_pytrees_that_stand_for_arrays() -> None:
    """As modules hold them: they are differentiated, batched and read."""
    tree = {"w": Node(x), "b": Node(jtnp.ones(2))}

    def loss(tree: Any) -> Any:
        return (jtnp.dot(tree["w"], x[0]) + tree["b"]).sum()

    gradient: Any = jitney.jit(jitney.grad(loss))(tree)
    assert type(gradient["w"]) is Node
    np.testing.assert_array_equal(gradient["w"].value, np.broadcast_to(x[0], (2, 3)))
    rows = jitney.vmap(lambda w: jtnp.sum(w) + jtnp.reshape(w, (3, 1))[0])(Node(x))
    np.testing.assert_array_equal(rows[:, 0], x.sum(1) + x[:, 0])
