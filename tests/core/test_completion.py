"""Messages begin with the user's call, and list its operands, whatever has raised the error."""

import dataclasses
import functools
import subprocess
import sys
import traceback

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.core.diagnostics import operand_rows, tracebacks
from jitney.core.messages import messages

x, w, v = jnp.ones((3, 4)), jnp.ones((5, 6)), jnp.ones(3)
sizes = (5, 5)


def shown(function, *args):
    """The lines of the message of what `function` raises, as Python shows it."""
    with pytest.raises(Exception) as caught:
        function(*args)
    tracebacks.shorten(caught.value)
    return str(caught.value).split("\n")


def test_public_functions_have_their_operands_at_once():
    with pytest.raises(ValueError) as caught:
        jnp.stack([x, w])
    assert str(caught.value).split("\n")[1:] == [
        "  arrays[0]  float32[3,4]  x",
        "  arrays[1]  float32[5,6]  w",
    ]
    assert str(caught.value).startswith("jnp.stack([x, w]): arrays must have the same shape")
    [entry] = traceback.extract_tb(caught.tb)
    assert entry.filename == __file__


def test_arguments_of_the_users_function():
    def layer(x, bias):
        return jnp.concatenate([x @ jnp.ones((4, 2)), bias])

    for function in (layer, jax.jit(layer)):
        first, *rows = shown(function, x, v)
        assert first.startswith("jnp.concatenate([x @ jnp.ones((4, 2)), bias]): ")
        assert rows[0] == "  arrays[0]  float32[3,2]  x @ jnp.ones((4, 2))"
        assert rows[1].startswith(
            "  arrays[1]  float32[3]    argument bias of layer (test_completion"
        )


def test_functions_that_others_call_are_named():
    assert shown(lambda: jnp.hstack([x, v]))[0].startswith("jnp.hstack([x, v]), in concatenate: ")


def test_values_that_do_not_stand_in_the_expression():
    assert shown(lambda: jnp.reshape(x, sizes))[1:] == [
        "  a      float32[3,4]  x",
        "  shape  (5, 5)        sizes",
    ]
    assert shown(lambda: jnp.reshape(x, (5, 5)))[1:] == ["  a  float32[3,4]  x"]


CASES = [  # calls, beginning, rows
    (lambda: lax.select(x > 0, x, w), "lax.select(x > 0, x, w), in select_n: ",
     ["  pred      bool[3,4]     x > 0", "  on_true   float32[3,4]  x",
      "  on_false  float32[5,6]  w"]),
    (lambda: x.reshape(5, -1), "x.reshape(5, -1): ", ["  array  float32[3,4]  x"]),
    (lambda: x[v], "x[v]: an index must be", ["  array  float32[3,4]  x", "  index  float32[3]    v"]),
    (lambda: x.at[0].set(w), "x.at[0].set(w): ",
     ["  array   float32[3,4]  x", "  values  float32[5,6]  w"]),
    (lambda: jnp.linalg.inv(x), "jnp.linalg.inv(x): `a` must be square", ["  a  float32[3,4]  x"]),
    (lambda: jnp.linalg.cholesky(x), "jnp.linalg.cholesky(x): `a` must be square",
     ["  a  float32[3,4]  x"]),
    (lambda: jnp.mean(x, axis="rows"), 'jnp.mean(x, axis="rows"): `axis` must be an integer',
     ["  a  float32[3,4]  x"]),
    (lambda: jnp.sort(x, axis="rows"), 'jnp.sort(x, axis="rows"): an axis must be an integer', []),
    (lambda: jnp.add(np.ones((2, 2)), object()), "jnp.add(np.ones((2, 2)), object()): ", []),
    (lambda: lax.scan(lambda c, y: c, 0.0, v), "lax.scan(lambda c, y: c, 0.0, v): ",
     ["  xs  float32[3]  v"]),
    (lambda: jax.vmap(jnp.sin)(1.0), "jax.vmap(jnp.sin)(1.0), in vmap of sin: ", []),
]  # fmt: skip


@pytest.mark.parametrize(("call", "begin", "rows"), CASES)
def test_all_ways_out_of_the_package(call, begin, rows):
    first, *others = shown(call)
    assert first.startswith(begin)
    assert [row for row in rows if row not in others] == []


def test_many_operands_are_cut():
    arrays = [jnp.ones(k) for k in range(1, 10)]
    lines = shown(lambda: jnp.stack(arrays))
    assert len(lines) == operand_rows.MOST_ROWS + 2 and lines[-1] == "  ..."


def test_instead_stays_last():
    lines = shown(lambda: jax.random.normal(0, sizes))
    assert "  shape  (5, 5)  sizes" in lines
    assert lines[-1] == "Instead: for a seed, jax.random.key(0)"


def test_completing_again_changes_nothing():
    with pytest.raises(ValueError) as caught:
        jnp.stack([x, w])
    before = str(caught.value)
    for _ in range(2):
        tracebacks.shorten(caught.value)
        assert str(caught.value) == before


# --- calls that a function does not take ----------------------------------------------------------


def test_misspelt_arguments():
    assert shown(lambda: jnp.sum(x, axs=1))[1].startswith("Instead: axis=...; sum(a, axis=None, ")
    assert shown(lambda: jnp.exp(x, axs=1))[1] == "Instead: exp(x, /)"


def test_arguments_of_jitted_functions():
    @jax.jit
    def layer(x, bias):
        return x + bias

    lines = shown(lambda: layer(x))
    assert lines[0].startswith("layer(x): ") and "missing 1 required" in lines[0]
    assert lines[1] == "Instead: layer(x, bias)"


# --- what is not touched --------------------------------------------------------------------------


def test_errors_of_the_users_own():
    def refuses(x):
        raise ValueError("stack: too small")

    for function in (refuses, jax.jit(refuses), jax.vmap(refuses)):
        assert shown(function, x) == ["stack: too small"]
    with pytest.raises(ValueError) as caught:
        jnp.apply_along_axis(refuses, 0, x)
    assert str(caught.value) == "stack: too small"


def test_calls_that_the_user_does_not_take():
    def own(x):
        return x

    assert shown(lambda: own(x, x)) == [
        f"{own.__qualname__}() takes 1 positional argument but 2 were given"
    ]


def test_nothing_of_the_users_is_run():
    @dataclasses.dataclass
    class Hostile:
        w: jax.Array

        @property
        def shape(self):
            raise AssertionError

        def __repr__(self):
            raise AssertionError

        def __getattr__(self, name):
            raise AssertionError(name)

    hostile = Hostile(w)
    lines = shown(lambda: functools.partial(jnp.concatenate)([x, hostile.w, v]))
    assert "Hostile" not in "\n".join(lines)


# --- memory, devices, donation --------------------------------------------------------------------


def test_memory():
    with pytest.raises(MemoryError) as caught:
        jnp.zeros(10**15)
    tracebacks.shorten(caught.value)
    notes = caught.value.__notes__
    assert notes[0] == "jnp.zeros(10**15): 4,000,000,000,000,000 bytes were requested"
    assert notes[1].startswith("Instead: ")


def test_memory_of_a_compiled_program():
    @jax.jit
    def table(x):
        return jnp.outer(jnp.arange(1e7), jnp.arange(1e7)) + x

    lines = shown(lambda: table(1.0))
    assert lines[0].startswith("table(1.0): no memory for an array of 400,000,000,000,000 bytes")
    assert lines[1].startswith("Instead: ")


def test_devices():
    lines = shown(lambda: jax.devices()[77])
    assert lines[0].startswith("jax.devices()[77]: ")
    assert 'jax.config.update("jax_num_cpu_devices", 78)' in lines[1]
    assert shown(lambda: [1][77]) == ["list index out of range"]


def test_donated_arrays_name_the_call():
    @functools.partial(jax.jit, donate_argnums=0)
    def step(params):
        return params + 1

    for calls in (1, 3):  # the first is made by Python, others by native code
        params = jnp.ones(1000)
        for _ in range(calls):
            given, params = params, step(params)
        line = shown(lambda given=given: given * 2)[0]
        assert "given, float32[1000], has been deleted: its buffer was donated to step at" in line
        assert "test_completion.py:" in line


@pytest.mark.parametrize(
    ("call", "first", "cure"),
    [
        (lambda: jnp.mean(x, dim=0), "jnp.mean(x, dim=0): ", "Instead: axis=...; mean(a, "),
        (lambda: jnp.sum(x, keepdim=True), "jnp.sum(x, keepdim=True): ", "Instead: keepdims=...;"),
        (lambda: jnp.linalg.norm(x, p=2), "jnp.linalg.norm(x, p=2): ", "Instead: ord=...; norm(x"),
        (lambda: jnp.sum(x, axs=0), "jnp.sum(x, axs=0): ", "Instead: axis=...; sum(a, "),
        (lambda: bool(x), "`bool(x)` (<lambda>", "Instead: x.any() or x.all()"),
        (lambda: bool(x > 1), "`bool(x > 1)` (<lambda>", "Instead: (x > 1).any() or (x > 1).all()"),
    ],
)
def test_cures_name_what_there_is(call, first, cure):
    lines = shown(call)
    assert lines[0].startswith(first)
    assert any(line.startswith(cure) for line in lines)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            lambda: jnp.linalg.pinv(2.0),
            "jnp.linalg.pinv(2.0): `a` must have shape (..., m, n), but it has shape ()",
        ),
        (
            lambda: jax.nn.one_hot(1, 3, axis=(0, 1)),
            "jax.nn.one_hot(1, 3, axis=(0, 1)): `axis` must be an integer, but it is (0, 1)",
        ),
        (
            lambda: x["a"],
            "x[\"a\"]: an index cannot be the string 'a', as arrays have no named fields",
        ),
    ],
)
def test_each_says_what_must_hold(call, line):
    assert shown(call)[0] == line


def test_expressions_beside_letters_of_several_bytes():
    größe, Δ = x, w
    text = "jnp.dot(größe, Δ)"
    assert shown(lambda: ("é" * 9, jnp.dot(größe, Δ)))[0].startswith(text)
    lines = shown(
        lambda: ["é", jnp.dot(größe,
                              Δ)]
    )  # fmt: skip
    assert lines[0].startswith(text)


# --- cures ----------------------------------------------------------------------------------------


def stored(x):
    table = np.zeros(3)
    table[0] = x


def stored_whole(x):
    table = np.zeros(3)
    table[:] += x


@pytest.mark.parametrize(
    ("function", "written", "value", "error", "cure"),
    [
        (stored, "table[0] = x", 1.0, ValueError, "table = jnp.asarray(table).at[0].set(x)"),
        (
            stored_whole,
            "table[:] += x",
            v,
            jax.errors.TracerArrayConversionError,
            "table = jnp.asarray(table).at[:].add(x)",
        ),
    ],
)
def test_traced_values_in_arrays_of_numpy(function, written, value, error, cure):
    with pytest.raises(error) as caught:
        jax.jit(function)(value)
    tracebacks.shorten_all(caught.value)
    lines = str(caught.value).split("\n")
    assert lines[0].startswith(f"`{written}` (")
    assert f"Instead: {cure}" in lines
    assert caught.value.__cause__ is None


LOSSES = [  # what makes a text, the call of `jax.debug.print` in its place
    (lambda loss: "loss %.3f" % loss, 'jax.debug.print("loss {loss:.3f}", loss=loss)'),  # noqa: UP031
    (lambda loss: "{} %-8.2f|%5d%%" % (loss, loss * 2),  # noqa: UP031
     'jax.debug.print("{{}} {loss:<8.2f}|{value1:5}%", loss=loss, value1=loss * 2)'),
    (lambda loss: "%(a)+.1e" % {"a": loss}, 'jax.debug.print("{loss:+.1e}", loss=loss)'),  # noqa: UP031
    (lambda loss: "%d steps" % loss, 'jax.debug.print("{loss} steps", loss=loss)'),  # noqa: UP031
    (lambda loss: "loss {:.3f}".format(loss), 'jax.debug.print("loss {:.3f}", loss)'),  # noqa: UP032
    (lambda loss: "{0:.3f} {step}".format(loss, step=3),  # noqa: UP032
     'jax.debug.print("{0:.3f} {step}", loss, step=3)'),
    (lambda loss: f"a {f'{loss:.2f}'} {{", 'jax.debug.print("a {loss:.2f} {{", loss=loss)'),
    (lambda loss: f"{f'{loss:.2f}':>9}", 'jax.debug.print("{loss:.2f}", loss=loss)'),
    (lambda loss: format(loss, ".3f"), 'jax.debug.print("loss = {loss:.3f}", loss=loss)'),
]  # fmt: skip


@pytest.mark.parametrize(("write", "cure"), LOSSES)
def test_texts_keep_what_is_written(write, cure, capsys):
    lines = shown(jax.jit(write), 1.25)
    assert f"Instead: {cure}, which prints when the function runs" in "\n".join(lines)
    jax.jit(lambda loss: eval(cure, {"jax": jax, "loss": loss}))(1.25)
    assert "1.2" in capsys.readouterr().out


NUMBERS = [  # what is printed of a Python number, the call of `jax.debug.print` in its place
    (lambda loss: f"{float(loss):.3f}", 'jax.debug.print("{loss:.3f}", loss=loss)'),
    (lambda loss: "%.3f at %d" % (float(loss), 3),  # noqa: UP031
     'jax.debug.print("{loss:.3f} at {value1}", loss=loss, value1=3)'),
    (lambda loss: "{:.3f} {x}".format(loss.item(), x=float(loss)),  # noqa: UP032
     'jax.debug.print("{:.3f} {x}", loss, x=loss)'),
    (lambda loss: print("loss", float(loss), 2 * float(loss)),
     'jax.debug.print("loss {loss} {value1}", loss=loss, value1=2 * loss)'),
    (lambda loss: print("{loss}", f"{float(loss):.2f}"),
     'jax.debug.print("{{loss}} {loss:.2f}", loss=loss)'),
]  # fmt: skip


@pytest.mark.parametrize(("write", "cure"), NUMBERS)
def test_numbers_that_are_printed(write, cure, capsys):
    test_texts_keep_what_is_written(write, cure, capsys)


def test_numbers_that_are_not_printed_by_a_plain_call():
    lines = shown(jax.jit(lambda loss: print(float(loss), end="")), 1.0)
    assert 'Instead: jax.debug.print("x = {x}", x=x), which prints' in "\n".join(lines)


@pytest.mark.parametrize(
    ("function", "instead"),
    [
        (
            lambda x: int(jnp.argmax(x)),
            "`jnp.argmax(x)`, an array, which works in arithmetic, and",
        ),
        (lambda x: int(x[0]), "`x[0].astype(int)`, an array, which works in arithmetic, and"),
        (lambda x: float(x[0] + 1), "`x[0] + 1`, an array, which works in arithmetic. If"),
        (lambda x: float(jnp.argmax(x) + 1), "`(jnp.argmax(x) + 1).astype(float)`, an array"),
        (lambda x: x[0].item(), "`x[0]`, an array"),
    ],
)
def test_python_numbers_of_tracers(function, instead):
    text = "\n".join(shown(jax.jit(function), v))
    assert f"Instead: {instead}" in text
    assert "(static_argnums)" in text


@pytest.mark.parametrize(
    ("call", "cure"),
    [
        (lambda: jnp.concatenate(v, v), "jnp.concatenate([v, v])"),
        (lambda: jnp.concatenate(v, v, axis=0), "jnp.concatenate([v, v], axis=0)"),
        (lambda: jnp.stack(v, v, v), "jnp.stack([v, v, v])"),
        (lambda: jnp.stack(v, v, 1), "jnp.stack([v, v], 1)"),
        (lambda: jnp.hstack(v, 2 * v), "jnp.hstack([v, 2 * v])"),
        (lambda: jnp.vstack(v, v), "jnp.vstack([v, v])"),
        (lambda: jnp.column_stack(v, v), "jnp.column_stack([v, v])"),
        (lambda: jnp.block(v, v), "jnp.block([v, v])"),
        (lambda: jnp.linalg.multi_dot(x, x), "jnp.linalg.multi_dot([x, x])"),
        (lambda: lax.concatenate(v, v), "lax.concatenate([v, v])"),
        (lambda: jax.jit(lambda a, b: jnp.hstack(a, b))(v, v), "jnp.hstack([a, b])"),
    ],
)
def test_arrays_that_belong_into_a_list(call, cure):
    lines = shown(call)
    assert "must be a list of arrays, but the arrays are passed as separate arguments" in lines[0]
    assert lines[1].startswith("  argument 0  float32[")
    assert lines[-1] == f"Instead: {cure}"


def test_several_arrays_that_are_no_list():
    number = jnp.array(0)
    assert "list of arrays, but" not in "\n".join(shown(lambda: jnp.stack(number, number)))
    assert "list of arrays, but" not in "\n".join(shown(lambda: jnp.matmul(x, w)))


def test_arrays_as_keys():
    table, number, items = {1: 2}, jnp.array(1), [1, 2]
    assert shown(lambda: table[number]) == [
        "table[number]: unhashable type: 'ArrayImpl'",
        "  index  int32[]  number",
        "Instead: table[number.item()]",
    ]
    assert shown(lambda: table[number + 1])[1:] == ["Instead: table[(number + 1).item()]"]
    _, row, cure = shown(jax.jit(lambda key: table[key]), number)
    assert row.startswith("  index  int32[]  argument key of <lambda>")
    assert cure.startswith("Instead: jnp.stack([*table.values()])[")
    assert shown(lambda: items[v])[1:] == ["  index  float32[3]  v"]
    assert shown(lambda: {v: 1}) == ["{v: 1}: unhashable type: 'ArrayImpl'"]


def test_scalars_that_are_unpacked():
    def unpacked(pair):
        a, b = pair
        return a + b

    first, row = shown(jax.jit(unpacked), 1.0)
    assert first.startswith("a, b = pair: iteration needs an axis")
    assert row.startswith("  value  float32[]  argument pair of unpacked")


def test_names_that_another_module_has():
    assert shown(lambda: jnp.softmax)[-1] == "Instead: jax.nn.softmax"
    assert shown(lambda: jnp.norm)[-1] == "Instead: jax.numpy.linalg.norm"
    assert len(shown(lambda: jnp.liniear)) == 1
    assert len(shown(lambda: jnp._liniear)) == 1


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("tree_map", "jax.tree.map"),
        ("numpy.trapz", "jax.scipy.integrate.trapezoid"),
        ("random.KeyArray", "jax.Array"),
    ],
)
def test_names_that_jax_has_removed(name, instead):
    with pytest.raises(AttributeError, match=rf"JAX has removed jax\.{name}; use {instead}"):
        eval(f"jax.{name}")


def test_texts_that_cannot_be_kept():
    fmt, width, both = 1.0, 9, (1.0, 2.0)
    general = 'jax.debug.print("x = {x}", x=x), which prints when the function runs.'
    for write in (
        lambda x: "%*f" % (width, x),  # noqa: UP031
        lambda x: "%f %f %f" % (x, *both),  # noqa: UP031
    ):
        assert general in "\n".join(shown(jax.jit(write), 1.0))
    text = "\n".join(shown(jax.jit(lambda fmt: f"{fmt:.2f}"), fmt))
    assert 'jax.debug.print("{value0:.2f}", value0=fmt)' in text
    options = {"step": 3}
    text = "\n".join(shown(jax.jit(lambda x: "{:.2f} {step}".format(x, **options)), fmt))
    assert 'jax.debug.print("{:.2f} {step}", x, **options)' in text


def test_axes_that_an_argument_does_not_have():
    lines = shown(lambda: jax.vmap(jnp.sin, in_axes=3)(v))
    assert lines[0].endswith("so its rank must be at least 4, but its shape is (3,).")
    assert lines[1] == "Instead: map it along an existing axis, in_axes=0"
    assert shown(lambda: jax.vmap(jnp.sin, in_axes=3)(x))[1].endswith("in_axes=0 to 1")
    lines = shown(lambda: jax.vmap(jnp.add, in_axes=(3, 0))(v, v))
    assert lines[1] == "Instead: to pass it unmapped, in_axes=(None, 0)"
    assert shown(lambda: jax.vmap(jnp.sin)(1.0))[1] == (
        "Instead: pass an array with an axis to map, or call the function itself, which takes a scalar"
    )


@pytest.mark.parametrize(
    ("value", "cure"),
    [
        ([2, 3], "pass a tuple, (2, 3)"),
        ([2, [3]], "pass a tuple, (2, (3,))"),
        ([x], "pass a tuple"),
        ({2}, "pass a frozenset"),
        ({"a": 1}, "pass a tuple of the items, and make the dict in the function"),
        (
            np.ones(2),
            "pass an array as a non-static argument; pass a shape as a tuple of ints",
        ),
        (
            bytearray(),
            "make bytearray hashable, for example by @dataclasses.dataclass(frozen=True)",
        ),
    ],
)
def test_static_arguments_without_a_hash(value, cure):
    with pytest.raises(ValueError, match="must be hashable") as caught:
        jax.jit(lambda x, s: x, static_argnames="s")(v, value)
    assert str(caught.value).endswith(f"\nInstead: {cure}")
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_carries_of_fori_loop():
    def narrowed(i, state):
        return state[0], state[1].astype(jnp.int32)

    def doubled(i, c):
        return c, c

    line = f"{narrowed.__name__} at {__file__}:{narrowed.__code__.co_firstlineno}"
    for n in (3, jnp.int32(3)):
        lines = shown(lambda n=n: lax.fori_loop(0, n, narrowed, (v, v)))
        assert lines[0].startswith(f"lax.fori_loop(0, n, narrowed, (v, v)): {line} must return")
        assert lines[2].startswith(
            "component state[1] is passed as float32[3] and returned as int32"
        )
        assert shown(lambda n=n: lax.fori_loop(0, n, doubled, v))[2].startswith("c is passed as a ")
    lines = shown(jax.jit(lambda n: lax.fori_loop(0, n, narrowed, (v, v))), 3)
    assert lines[0].startswith(f"lax.fori_loop(0, n, narrowed, (v, v)): {line} must return")
    assert lines[2].startswith(
        "component state[1] is passed as float32[3] and returned as int32[3]"
    )


@pytest.mark.parametrize(
    ("call", "rest"),
    [
        (lambda: jnp.ones(3, dtype="float31"), ["Instead: 'float32'"]),
        (lambda: v.astype("flaot32"), ["  array  float32[3]  v", "Instead: 'float32'"]),
        (lambda: jnp.ones(3, dtype="word"), []),
        (
            lambda: jax.random.normal(jax.random.key(0), 3, 4),
            [
                "  key  key<fry>[]  jax.random.key(0)",
                "Instead: pass a dtype, such as jnp.float32, and the sizes of a shape as one tuple",
            ],
        ),
    ],
)
def test_dtypes_that_are_none(call, rest):
    with pytest.raises(TypeError, match="is not a dtype") as caught:
        call()
    tracebacks.shorten(caught.value)
    assert str(caught.value).split("\n")[1:] == rest
    assert caught.value.__suppress_context__


def test_functions_are_called_what_the_user_called():
    first = "jax.value_and_grad(lambda x: (x, x))(1.0): the function must return a scalar"
    assert shown(lambda: jax.value_and_grad(lambda x: (x, x))(1.0))[0].startswith(first)
    assert shown(lambda: jax.grad(lambda x: x)(3))[0].startswith("jax.grad(lambda x: x)(3): arg")
    assert "checkpoint needs a function, but got 3" in shown(lambda: jax.checkpoint(3))[0]


def test_only_scalars_may_be_made_static():
    lim = 2.0

    def relu(x):
        return x if x.sum() > lim else -x

    static = "make the argument static"
    assert static not in "\n".join(shown(jax.jit(relu), v))
    assert static not in "\n".join(shown(jax.jit(jax.grad(lambda x: relu(x).sum())), v))
    assert static in "\n".join(shown(jax.jit(relu), 1.0))
    assert static in "\n".join(shown(jax.jit(lambda n: [*range(n)]), 3))


def test_options_that_there_are_not():
    first, cure = shown(lambda: jax.config.update("jax_enable_x46", True))
    assert first.endswith("jax.config has no option 'jax_enable_x46'")
    assert cure == "Instead: jax_enable_x64"


def test_containers_beside_arrays():
    items = {1, 2}
    assert shown(lambda: v + [1, 2, 3])[-1] == "Instead: v + jnp.asarray([1, 2, 3])"
    assert shown(lambda: [1, 2, 3] - v)[-1] == "Instead: jnp.asarray([1, 2, 3]) - v"
    assert shown(lambda: v == (1, 2, 3))[-1] == "Instead: v == jnp.asarray((1, 2, 3))"
    assert shown(lambda: v < [1, 2, 3])[-1] == "Instead: v < jnp.asarray([1, 2, 3])"
    pair = (1, 2)
    assert shown(lambda: pair >= v)[-1] == "Instead: jnp.asarray(pair) >= v"
    assert shown(lambda: v * items)[-1] == "Instead: v * jnp.asarray([*items])"
    tree = {"a": 1}
    assert shown(lambda: v + tree)[-1] == "Instead: jax.tree.map(lambda leaf: v + leaf, tree)"
    assert shown(lambda: (v + 1) * ([1, 2, 3]))[-1] == "Instead: (v + 1) * jnp.asarray([1, 2, 3])"
    total = v
    with pytest.raises(TypeError) as caught:
        total += [1, 2, 3]
    tracebacks.shorten(caught.value)
    assert str(caught.value).endswith("\nInstead: total + jnp.asarray([1, 2, 3])")
    assert shown(jax.jit(lambda v: v + [1, 2, 3]), v)[-1] == "Instead: v + jnp.asarray([1, 2, 3])"


def test_devices_by_the_name_of_a_platform():
    lines = shown(lambda: jax.device_put(v, "cpu"))
    assert lines[0].startswith('jax.device_put(v, "cpu"): ')
    assert lines[-1] == 'Instead: jax.devices("cpu")[0]'


def test_numbers_of_things():
    counted = messages.counted
    assert [counted(n, "element") for n in (0, 1, 2)] == ["0 elements", "1 element", "2 elements"]
    assert [counted(2, n) for n in ("axis", "entry", "index")] == [
        "2 axes",
        "2 entries",
        "2 indices",
    ]
    assert messages.there_are(1) == "there is 1" and messages.there_are(2) == "there are 2"
    assert messages.there_are(1, "device") == "there is 1 device"
    assert "axis 1 of the left operand has 1 element," in shown(lambda: jnp.ones((2, 1)) @ x)[0]


def test_names_that_are_imported_in_vain():
    """Python's own message says where it looked, not what the module says of the name."""

    def said(name, module):
        done = subprocess.run(
            [sys.executable, "-m", "jitney", "-c", f"from {module} import {name}"],
            capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        return done.stderr.partition("ImportError: ")[2].strip()

    assert said("tree_map", "jax") == (
        "cannot import name 'tree_map' from 'jax': JAX has removed jax.tree_map; use jax.tree.map"
    )
    first, second = said("gelu", "jax.numpy").splitlines()
    assert first.startswith("cannot import name 'gelu' from 'jax.numpy' (")
    assert second == "Instead: from jax.nn import gelu"
    assert len(said("nonsense", "jax.numpy").splitlines()) == 1
