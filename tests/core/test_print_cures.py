"""Formatting of traced values becomes a call of `jax.debug.print` that prints the same."""

import pytest
from tests.helpers.written_code import written

from jitney.core.messages import print_cures


@pytest.mark.parametrize(
    "text, at, call",
    [
        ('f"x = {x:.3f}"', "x", 'jax.debug.print("x = {x:.3f}", x=x)'),
        (
            'f"{float(x)} {{}} {y + 1}"',
            "x",
            'jax.debug.print("{x} {{}} {value1}", x=x, value1=y + 1)',
        ),
        ('f"{fmt}"', "fmt", 'jax.debug.print("{value0}", value0=fmt)'),
        ('"%-8.3f|%d%%" % (x, n)', None, 'jax.debug.print("{x:<8.3f}|{n}%", x=x, n=n)'),
        ('"%(a)s {}" % {"a": x}', None, 'jax.debug.print("{x} {{}}", x=x)'),
        ('"%*d" % (w, x)', None, 'jax.debug.print("x = {x}", x=x)'),
        ('"{} {k}".format(x, k=y.item())', None, 'jax.debug.print("{} {k}", x, k=y)'),
        ('print("loss", x, f"{y}")', None, 'jax.debug.print("loss {x} {y}", x=x, y=y)'),
        ('print(x, end="")', None, 'jax.debug.print("x = {x}", x=x)'),
        ("g(x)", None, ""),
    ],
)
def test_printed_texts(text, at, call):
    assert print_cures.of_printed(written(text, at)) == call


def test_statements_around_a_text_do_not_count():
    assert print_cures.of_printed(written("print(x)\nx + 1", "x + 1")) == ""
    assert print_cures.of_printed(None) == ""


@pytest.mark.parametrize(
    "text, at, formatted, call",
    [
        ('f"a{x}"', "x", "f'a{x}'", 'jax.debug.print("a{x}", x=x)'),
        ('"{}".format(x, **k)', None, "", 'jax.debug.print("{}", x, **k)'),
        ('format(x, ".2f")', None, "", 'jax.debug.print("x = {x:.2f}", x=x)'),
        ("str(x)", None, "", 'jax.debug.print("x = {x}", x=x)'),
    ],
)
def test_formatting(text, at, formatted, call):
    assert print_cures.of_format(written(text, at)) == (formatted, call)


def test_the_percent_operator_with_other_operands():
    assert print_cures.of_percent(written("x % 3")) == ""
    assert print_cures.of_percent(written('"%+05d" % x')) == 'jax.debug.print("{x:+05}", x=x)'
    assert print_cures.of_percent(written('"%s" % (x, y)')) == 'jax.debug.print("x = {x}", x=x)'
    assert print_cures.of_percent(None) == ""
