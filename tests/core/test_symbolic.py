"""Symbolic extents: arithmetic, order and printing as in real jax, and programs traced with them."""

import contextlib
import random

import numpy as np
import pytest
from tests.helpers.oracle import RealModule, answer, jax as real

import jitney as jax
from jitney import export, lax, numpy as jnp
from jitney.core.symbolic import expressions

real_export = RealModule("jax.export")

CONSTRAINTS = ([], ["a >= 2"], ["a >= 4", "b <= 8"], ["a >= 2*b", "c <= 3"], ["a == 2*b"])
SEEDS = 150


def expression(package, variables, seed):
    """A random expression; None where it divides by zero."""
    draw = random.Random(seed)
    pool = [*variables, 1, 2, 3]

    def any_of(depth):
        if not depth:
            return draw.choice(pool)
        operation = draw.choice("++-**/%Mm")
        x, y = any_of(depth - 1), any_of(depth - 1)
        return {
            "+": lambda: x + y,
            "-": lambda: x - y,
            "*": lambda: x * y,
            "/": lambda: x // y,
            "%": lambda: x % y,
            "M": lambda: package.core.max_dim(x, y),
            "m": lambda: package.core.min_dim(x, y),
        }[operation]()

    try:
        return any_of(draw.choice([1, 1, 2]))
    except ZeroDivisionError:
        return None


def expressions_of_jax(constraints):
    """Texts of JAX's expressions; None where an operation raises."""

    def texts():
        variables = real_export.symbolic_shape("a, b, c", constraints=constraints)
        found = []
        for seed in range(SEEDS):
            try:
                x = expression(real, variables, seed)
            except real.errors.InconclusiveDimensionOperation:
                x = None
            found.append(None if x is None else str(x))
        return found

    return answer(texts)


def allowed(constraints):
    """Some values of the variables that constraints allow."""
    return [
        {"a": a, "b": b, "c": c}
        for a in (1, 2, 4, 5, 12, 16) for b in (1, 2, 6, 8) for c in (1, 3)
        if all(eval(text, {"a": a, "b": b, "c": c}) for text in constraints)
    ]  # fmt: skip


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
def test_expressions_are_those_of_jax(constraints):
    """They mean the same, and mostly print the same: sums in the same order."""
    ours = export.symbolic_shape("a, b, c", constraints=constraints)
    same = total = 0
    for seed, x in enumerate(expressions_of_jax(constraints)):
        y = expression(jax, ours, seed)
        if x is None or y is None:
            continue
        total += 1
        same += x == str(y)
        for values in allowed(constraints):
            try:
                wanted = eval(  # the text of theirs is what it means
                    x.replace("^", "**"),
                    {"floordiv": lambda p, q: p // q, "mod": lambda p, q: p % q, **values},
                )
            except ZeroDivisionError:
                continue
            assert wanted == expressions.evaluate(y, values), (x, str(y))
    assert same > 0.95 * total


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
def test_what_is_known_is_true(constraints):
    """Bounds hold for all values that the constraints allow."""
    variables = export.symbolic_shape("a, b, c", constraints=constraints)
    for seed in range(SEEDS):
        x = expression(jax, variables, seed)
        if x is None:
            continue
        low, high = expressions.bounds(x)
        for values in allowed(constraints):
            with contextlib.suppress(ZeroDivisionError):
                assert low <= expressions.evaluate(x, values) <= high, (str(x), values)


def test_order():
    a, b = export.symbolic_shape("a, b")
    assert a >= 1 and a + b >= a and 2 * a - 1 >= a and not a < 1
    assert a // 2 * 2 <= a and a % 3 <= 2 and a % b < b and 2 * -(-a // 2) >= a
    assert jax.core.max_dim(a, b) >= a and jax.core.max_dim(a, 1) is a
    assert a == a + 0 and a != b and hash(a) == hash(a + 0) and a - a == 0
    with pytest.raises(jax.errors.InconclusiveDimensionOperation, match="'a' >= '2'"):
        a >= 2  # noqa: B015
    with pytest.raises(ValueError, match="mixing of symbolic scopes"):
        a + export.symbolic_shape("b")[0]


def test_shapes_from_texts():
    assert str(export.symbolic_shape("2*a, a*b - 1, a^2, max(a, b), mod(a, 3)")) == (
        "(2*a, a*b - 1, a^2, max(a, b), mod(a, 3))"
    )
    assert str(export.symbolic_shape("a, _, ...", like=(None, 2, 3, 4))) == "(a, 2, 3, 4)"
    assert export.symbolic_shape("") == ()
    for text, message in (
        ("a b", "expected ','"),
        ("a/2", "'/'"),
        ("_", "like"),
        ("a^-1", "number"),
    ):
        with pytest.raises(ValueError, match=message):
            export.symbolic_shape(text)
    with pytest.raises(ValueError, match="compare two sizes"):
        export.symbolic_shape("a", constraints=["a"])
    with pytest.raises(ValueError, match=r"has 2 dimensions, but like=\(None,\) has 1"):
        export.symbolic_shape("a, 3", like=(None,))
    with pytest.raises(ValueError, match=r"has 3 for dimension 1, but like=\(None, 4\) has 4"):
        export.symbolic_shape("a, 3", like=(None, 4))
    x = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    specs = export.symbolic_args_specs(({"x": x}, x), ({"x": "a, ..."}, "b, 3"))
    assert str(specs[0]["x"].shape) == "(a, 3)" and str(specs[1].shape) == "(b, 3)"


def program(package, numpy, x, y):
    """What is done with shapes, in many ways."""
    n = x.shape[0]
    return (
        numpy.mean(x, axis=0),
        x.reshape(-1),
        x[:-1],
        x[1:3, ::2],
        x[:, -1],
        numpy.concatenate([x, y]),
        numpy.pad(x, ((0, 1), (1, 1))),
        numpy.arange(n) * n,
        numpy.split(numpy.concatenate([x, x]), 2)[1],
        x @ x.T,
        numpy.einsum("ij,kj,k->i", x, x, x[:, 0]),
        numpy.take(x, numpy.array([0, 1]), axis=0),
        package.nn.softmax(x),
        package.vmap(numpy.cumsum)(x),
        package.lax.scan(lambda c, row: (c + row.sum(), c), 0.0, x),
        numpy.eye(n),
        numpy.sort(x, axis=0),
        package.lax.conv_general_dilated(x[None, :, :, None], numpy.ones((3, 3, 1, 2)), (2, 2), "SAME",
                                         dimension_numbers=("NHWC", "HWIO", "NHWC")),
        package.lax.reduce_window(x, 0.0, package.lax.add, (2, 2), (1, 2), "VALID"),
        package.random.uniform(package.random.key(0), x.shape),
    )  # fmt: skip


def types_of(package, args):
    found = package.eval_shape(lambda *args: program(package, package.numpy, *args), *args)
    return [(x.shape, str(x.dtype)) for x in package.tree.leaves(found)]


def test_programs_are_traced_with_symbolic_shapes():
    """Types of results are jax's, for all values of the variables."""

    def structs(package, shapes):
        return [package.ShapeDtypeStruct(s, np.float32) for s in shapes]

    ours = export.symbolic_shape("b, c", constraints=["b >= 3", "c >= 3"])
    found = jax.eval_shape(lambda *args: program(jax, jnp, *args), *structs(jax, [ours, ours]))
    for b, c in ((3, 3), (4, 7), (9, 4)):
        shapes = [(b, c), (b, c)]
        wanted = answer(lambda: types_of(real, structs(real, shapes)))  # noqa: B023
        for (shape, dtype), y in zip(wanted, jax.tree.leaves(found), strict=True):
            assert dtype == str(y.dtype)
            assert shape == expressions.evaluate_shape(y.shape, {"b": b, "c": c})


def test_extents_as_numbers():
    """They are operands in programs, and have no value elsewhere."""
    (b,) = export.symbolic_shape("b")
    jaxpr = jax.make_jaxpr(lambda x: x * x.shape[0])(jax.ShapeDtypeStruct((b,), jnp.float32))
    assert "i32[] = dim_as_value[dim=b]" in str(jaxpr)
    with pytest.raises(NotImplementedError, match="'b' has no value"):
        jnp.ones(3) * b
    with pytest.raises(jax.errors.InconclusiveDimensionOperation, match="where a number is needed"):
        int(b)
    assert not export.is_symbolic_dim(3) and export.is_symbolic_dim(b)
    with pytest.raises(TypeError, match="do not broadcast"):
        jax.eval_shape(lax.add, *[jax.ShapeDtypeStruct((n,), jnp.float32) for n in (b, b + 1)])


def test_slices_backwards():
    (b,) = export.symbolic_shape("b")
    x = jax.ShapeDtypeStruct((b,), jnp.float32)
    sizes = [
        jax.eval_shape(f, x).shape[0]
        for f in (lambda x: x[::-1], lambda x: x[::-2], lambda x: x[:2:-1])
    ]
    assert sizes[0] == b
    for n in (3, 4, 9):
        of_numbers = [len(np.zeros(n)[s]) for s in (np.s_[::-1], np.s_[::-2], np.s_[:2:-1])]
        assert [int(size.evaluate({"b": n})) for size in sizes] == of_numbers
