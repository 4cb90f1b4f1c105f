"""Replacements of code that arrays do not allow, in the user's own expressions."""

import ast
import math
import sys
import types

import numpy as np
import pytest
from tests.helpers.written_code import written

from jitney.core.messages import cures


@pytest.mark.parametrize(
    "text, at, asked, instead",
    [
        ("if x > lim: y()", "x > lim", "if x > lim", "jnp.where(x > lim, ..., ...)"),
        (
            "y = 1 if x > 0 else 2",
            "x > 0",
            "if x > 0",
            "jax.lax.cond to choose between computations",
        ),
        ("while x < 3: f()", "x < 3", "while x < 3", "jax.lax.while_loop(lambda state"),
        ("assert ok(x)", "ok(x)", "assert ok(x)", "checkify.check(ok(x), message)"),
        ("y = max(x, 0)", "max(x, 0)", "max(x, 0)", "jnp.maximum"),
        ("[v for v in xs if v > 0]", "v > 0", "v > 0", "jnp.where(v > 0, ..., 0)"),
        ("y = 0 < x < 3", "0 < x < 3", "0 < x < 3", "elementwise, (0 < x) & (x < 3)"),
        ("y = f(x)", "f(x)", "f(x)", "jnp.where(condition, x, y) to choose"),
    ],
)
def test_truth_values_of_traced_arrays(text, at, asked, instead):
    truth = cures.of_truth(written(text, at), traced=True)
    assert truth.asked == asked
    assert instead in truth.instead


@pytest.mark.parametrize(
    "text, at, instead",
    [
        ("not x", "x", "elementwise, ~x"),
        ("x > 0 and not y", "x > 0", "elementwise, (x > 0) & (~y)"),
        ("a or b + 1", "a", "elementwise, a | (b + 1)"),
        ("bool(x)", "bool(x)", "x.any() or x.all()"),
        ("if x + 1: y()", "x + 1", "(x + 1).any() or (x + 1).all()"),
    ],
)
def test_truth_values_of_several_elements(text, at, instead):
    assert cures.of_truth(written(text, at), traced=False).instead == instead
    assert cures.of_truth(None, traced=False) == ("", "x.any() or x.all()")


@pytest.mark.parametrize(
    "text, instead",
    [
        ("a[i, 2] = f(x)", "a = a.at[i, 2].set(f(x))"),
        ("a.b[i] *= 2", "a.b = a.b.at[i].multiply(2)"),
        ("a[i] //= y", "a = a.at[i].apply(lambda v: v // y)"),
        ("for a[i] in xs: f()", "a = a.at[i].set(value)"),
    ],
)
def test_assignments_become_updates(text, instead):
    target = next(n for n in ("a[i, 2]", "a.b[i]", "a[i]") if n in text)
    assert cures.of_assignment(written(text, target)) == instead
    assert cures.of_assignment(None) == "x = x.at[index].set(value)"
    stored = instead.replace(" = ", " = jnp.asarray(").replace(".at[", ").at[", 1)
    assert cures.of_store(written(text, target)) == stored
    assert cures.of_store(written("a[i]")) == ""


def test_numbers_stay_arrays():
    assert cures.of_number(written("int(x + y)"), "float", "int").startswith(
        "`(x + y).astype(int)`"
    )
    assert cures.of_number(written("x.item()"), "float", "").startswith("`x`, an array")
    assert "`x.astype(int)`" in cures.of_number(None, "float", "int")
    assert cures.converted(ast.parse("float(2)").body[0].value) is None  # a constant


@pytest.mark.parametrize(
    "text, kind, is_left, instead",
    [
        ("[1, 2] * x", list, True, "jnp.asarray([1, 2]) * x"),
        ("x < s", set, False, "x < jnp.asarray([*s])"),
        ("x + d", dict, False, "jax.tree.map(lambda leaf: x + leaf, d)"),
        ("f(x)", list, True, "convert the list with jnp.asarray"),
    ],
)
def test_containers_become_arrays(text, kind, is_left, instead):
    assert cures.of_container(written(text), kind, is_left) == instead


def test_separate_arguments_become_a_list():
    assert (
        cures.of_separate(written("jnp.stack(x, y, 1, axis=0)"), 2)
        == "jnp.stack([x, y], 1, axis=0)"
    )
    assert cures.of_separate(written("f(*xs)"), 1) == ""
    assert cures.of_separate(written("f(x)"), 2) == ""


@pytest.mark.parametrize(
    "text, instead",
    [
        ("x[i:i + n]", "jax.lax.dynamic_slice_in_dim(x, i, n)"),
        ("x[:n]", "jax.lax.dynamic_slice_in_dim(x, 0, length)"),
        ("x[i:j:2]", "jax.lax.dynamic_slice_in_dim(x, start, length)"),
    ],
)
def test_slices_get_a_static_length(text, instead):
    assert cures.of_slice(written(text)) == instead


def test_entries_are_looked_up_by_numbers():
    assert cures.of_key(written("d[i]"), has_value=True) == "d[i.item()]"
    assert cures.of_key(written("d[i + 1]"), has_value=True) == "d[(i + 1).item()]"
    assert "jnp.stack([*d.values()])[number]" in cures.of_key(written("d[i]"), has_value=False)


def test_counterparts_of_functions_of_other_packages():
    assert cures.of_foreign_call(written("m.cumsum(x)", m=np)) == "jnp.cumsum"
    assert cures.of_foreign_call(written("m.sqrt(x)", m=math)) == "jnp.sqrt"
    assert cures.of_foreign_call(written("m.linalg.det(x)", m=np)) == "jax.numpy.linalg.det"
    assert cures.of_foreign_call(written("m.memmap(x)", m=np)) == ""
    assert cures.of_foreign_call(written("m.exit(x)", m=sys)) == ""
    assert cures.of_foreign_call(written("m.sqrt(x)", m=types.SimpleNamespace())) == ""


def test_trees_of_a_mapping_are_named(monkeypatch):
    code = written("jax.tree.map(f, x, *ys)")
    monkeypatch.setattr(cures.user_code, "current", lambda: code)
    assert cures.mapped_trees(0) == ("x", "ys[0]")
    assert cures.mapped_trees(1) == ("x", "ys[1]")
    assert cures.mapped_trees(0, longest=3) is None
